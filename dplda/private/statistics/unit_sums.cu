// What units contribute to each statistic of docs/privacy.md, section 2, clipped, rounded and summed on a GPU.
//
// The formulas are those of the modules beside this file, the clip and the rounding those of lattice.py; gpu_sums.py
// says what the arrays are and defines the constants in capitals but the kinds.
//
// One block of threads computes a unit. It adds in an order that the unit's own words and the number of threads fix, so
// that nobody else's presence can move a unit's integers (docs/privacy.md, rule 12); cuBLAS and cuSPARSE would choose the
// order by the shape of a batch. Sums over units are of integers: blocks may add them in any order.

typedef long long int64;

enum Kind { FIRST, SECOND, SECOND_TIMES, CORE, THIRD, THIRD_PROJECTED, THIRD_ALONG, EXPECTED };

constexpr int CHUNK = 64; // entries whose factors are shared at a time
constexpr int AHEAD = 8;  // numbers that a thread reads before it uses the first

struct Units {
    const int64 *indptr;
    const int *words, *counts;
    const int64 *unit_ptr, *lengths;
    const int *slots;
    const int64 *union_ptr;
    const int *union_words;
};

struct Statistic {
    const float *scale, *matrix;
    int n_words, k, directions, stride;
    float alpha;
    const int *tiles, *pairs; // where tiles of 4 coordinates a side begin, 10 bits a side, in fours
    int n_tiles, n_pairs;
    int staged; // entries whose rows are shared at a time
    const signed char *weights; // of places in a tensor or core: multiplicities, 0 where a coordinate has another place
};

struct Document {
    const int *words, *counts, *slots;
    int n;
    double length;
    float share; // of its unit
    bool only;   // nothing to add to
};

__device__ void put(float *rows, int64 at, float value, const Document &d) {
    if (d.only)
        rows[at] = value;
    else
        rows[at] += d.share * value;
}

__device__ int64 triangle(int64 n) { return n * (n + 1) / 2; }

// The sum of `value` over the block's threads, a power of two, in a fixed order.
__device__ double block_sum(double value) {
    __shared__ double parts[256];
    int t = threadIdx.x;
    parts[t] = value;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half)
            parts[t] += parts[t + half];
        __syncthreads();
    }
    double total = parts[0];
    __syncthreads();
    return total;
}

__device__ void first_moment(const Statistic &f, const Document &d, float *rows) {
    float share = (float)(1.0 / d.length);
    for (int e = threadIdx.x; e < d.n; e += blockDim.x)
        put(rows, d.slots[e], f.scale[d.words[e]] * ((float)d.counts[e] * share), d);
}

// Pairs a <= b of entries, ordered by (b, a).
__device__ void pair_of(int64 i, int64 &a, int64 &b) {
    b = (int64)((sqrt(8.0 * (double)i + 1.0) - 1.0) / 2.0);
    while (triangle(b) > i)
        b--;
    while (triangle(b + 1) <= i)
        b++;
    a = i - triangle(b);
}

__device__ void second_moment(const Statistic &f, const Document &d, float *rows) {
    for (int64 i = threadIdx.x; i < triangle(d.n); i += blockDim.x) {
        int64 a, b;
        pair_of(i, a, b);
        double c = d.counts[b];
        float s = f.scale[d.words[b]], value;
        if (a == b)
            value = s * s * (float)(c / d.length * ((c - 1.0) / (d.length - 1.0)));
        else
            value = s * (float)(c / (d.length - 1.0)) * (f.scale[d.words[a]] * (float)(d.counts[a] / d.length));
        int64 low = d.slots[a], high = d.slots[b]; // slots rise with entries
        put(rows, triangle(high) + low, value, d);
    }
}

// y[a] = sum of s c / l times the word's row, a < width; each thread its own columns, and a barrier at the end.
__device__ void project(const Statistic &f, const Document &d, bool scaled, int width, float *y) {
    __shared__ float factors[CHUNK];
    __shared__ int words[CHUNK];
    for (int a = threadIdx.x; a < width; a += blockDim.x)
        y[a] = 0.0f;
    for (int begin = 0; begin < d.n; begin += CHUNK) {
        int n = min(CHUNK, d.n - begin);
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            words[i] = d.words[begin + i];
            factors[i] = (float)(d.counts[begin + i] / d.length) * (scaled ? f.scale[words[i]] : 1.0f);
        }
        __syncthreads();
        for (int a = threadIdx.x; a < width; a += blockDim.x) {
            float sum = y[a];
            for (int i = 0; i < n; i++)
                sum += factors[i] * f.matrix[(int64)words[i] * f.stride + a];
            y[a] = sum;
        }
        __syncthreads();
    }
}

__device__ void second_moment_times(const Statistic &f, const Document &d, float *rows, float *y) {
    __shared__ float outer[CHUNK], diagonal[CHUNK];
    project(f, d, true, f.k, y);
    for (int begin = 0; begin < d.n; begin += CHUNK) {
        int n = min(CHUNK, d.n - begin);
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            float s = f.scale[d.words[begin + i]];
            outer[i] = (float)(d.counts[begin + i] / (d.length - 1.0)) * s;
            diagonal[i] = outer[i] * (float)(s / d.length);
        }
        __syncthreads();
        for (int a = threadIdx.x; a < f.k; a += blockDim.x)
            for (int i = 0; i < n; i++) {
                float x = f.matrix[(int64)d.words[begin + i] * f.stride + a];
                put(rows, (int64)d.slots[begin + i] * f.k + a, outer[i] * y[a] - diagonal[i] * x, d);
            }
        __syncthreads();
    }
}

// The document's entries in parts of f.staged; visit(n, rows, factors) for the n entries of each part, whose rows, and
// factors behind them, the block shares in `rows`. Where all fit into one part they are brought there only if `fresh`:
// they may still be there, with the same factors. A barrier at the end.
template <typename Factor, typename Visit>
__device__ void by_parts(const Statistic &f, const Document &d, float *rows, bool fresh, Factor factor, Visit visit) {
    float *factors = rows + f.staged * f.stride;
    for (int begin = 0; begin < d.n; begin += f.staged) {
        int n = min(f.staged, d.n - begin);
        if (fresh || d.n > f.staged) {
            for (int e = threadIdx.x / 32; e < n; e += blockDim.x / 32)
                for (int a = threadIdx.x % 32; a < f.stride; a += 32)
                    rows[e * f.stride + a] = f.matrix[(int64)d.words[begin + e] * f.stride + a];
            for (int e = threadIdx.x; e < n; e += blockDim.x)
                factors[e] = factor(begin + e);
            __syncthreads();
        }
        visit(n, rows, factors);
        __syncthreads();
    }
}

__device__ void load(const float *from, float *to) {
    float4 four = *(const float4 *)from;
    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}

// Sums of factor x_a x_b over entries, in tiles of 4 x 4 coordinates; `done` receives those of each tile.
template <typename Factor, typename Done>
__device__ void pair_tiles(const Statistic &f, const Document &d, float *staged, Factor factor, Done done) {
    for (int first = 0; first < f.n_pairs; first += blockDim.x) {
        int tile = first + threadIdx.x, packed = tile < f.n_pairs ? f.pairs[tile] : 0;
        int A = 4 * (packed & 1023), B = 4 * (packed >> 10 & 1023);
        float sums[16] = {};
        by_parts(f, d, staged, first == 0, factor, [&](int n, const float *rows, const float *factors) {
            for (int e = 0; e < n; e++) {
                float a[4], b[4];
                load(rows + e * f.stride + A, a);
                load(rows + e * f.stride + B, b);
#pragma unroll
                for (int i = 0; i < 4; i++)
#pragma unroll
                    for (int j = 0; j < 4; j++)
                        sums[4 * i + j] += factors[e] * a[i] * b[j];
            }
        });
        if (tile < f.n_pairs)
            done(tile, A, B, sums);
    }
}

__device__ void core(const Statistic &f, const Document &d, float *rows, float *y, float *staged) {
    project(f, d, true, f.stride, y);
    auto factor = [&](int e) {
        float s = f.scale[d.words[e]];
        return -s * (float)(d.counts[e] / d.length) * (float)(s / d.length);
    };
    float norm = (float)(d.length / (d.length - 1.0));
    auto done = [&](int tile, int A, int B, const float *sums) {
#pragma unroll
        for (int i = 0; i < 16; i++)
            put(rows, (int64)i * f.n_pairs + tile, norm * (y[A + i / 4] * y[B + i % 4] + sums[i]), d);
    };
    pair_tiles(f, d, staged, factor, done);
}

// norm (y^3 - P(R, y) + 2 Q), in tiles of 4 x 4 x 4 coordinates; R (stride, stride) is room.
__device__ void third_moment(const Statistic &f, const Document &d, float *rows, float *y, float *staged, float *R) {
    project(f, d, false, f.stride, y);
    float length = (float)d.length, twice = 2.0f / length;
    auto factor = [&](int e) { return (float)(d.counts[e] / d.length) / length; };
    auto keep = [&](int, int A, int B, const float *sums) {
#pragma unroll
        for (int i = 0; i < 16; i++) {
            int a = A + i / 4, b = B + i % 4;
            R[a * f.stride + b] = R[b * f.stride + a] = sums[i];
        }
    };
    pair_tiles(f, d, staged, factor, keep);
    __syncthreads();
    float norm = (float)(d.length / (d.length - 1.0) * (d.length / (d.length - 2.0)));
    for (int first = 0; first < f.n_tiles; first += blockDim.x) {
        int tile = first + threadIdx.x, packed = tile < f.n_tiles ? f.tiles[tile] : 0;
        int A = 4 * (packed & 1023), B = 4 * (packed >> 10 & 1023), C = 4 * (packed >> 20);
        float sums[64] = {};
        by_parts(f, d, staged, false, factor, [&](int n, const float *rows, const float *factors) {
            for (int e = 0; e < n; e++) {
                float a[4], b[4], c[4];
                load(rows + e * f.stride + A, a);
                load(rows + e * f.stride + B, b);
                load(rows + e * f.stride + C, c);
#pragma unroll
                for (int i = 0; i < 4; i++)
#pragma unroll
                    for (int j = 0; j < 4; j++) {
                        float ab = factors[e] * a[i] * b[j];
#pragma unroll
                        for (int l = 0; l < 4; l++)
                            sums[16 * i + 4 * j + l] += ab * c[l];
                    }
            }
        });
        if (tile >= f.n_tiles)
            continue;
#pragma unroll
        for (int ij = 0; ij < 16; ij++) { // four values before the first is stored
            int a = A + ij / 4, b = B + ij % 4;
            float ab = R[a * f.stride + b], values[4];
#pragma unroll
            for (int l = 0; l < 4; l++) {
                int c = C + l;
                float ac = R[a * f.stride + c], bc = R[b * f.stride + c];
                values[l] = y[a] * y[b] * y[c] - (ab * y[c] + ac * y[b] + bc * y[a]) + twice * sums[4 * ij + l];
            }
#pragma unroll
            for (int l = 0; l < 4; l++)
                put(rows, (int64)(4 * ij + l) * f.n_tiles + tile, norm * values[l], d);
        }
    }
}

// Behind the k (padded to 4) columns of W are its products with the directions.
__device__ void third_moment_along(const Statistic &f, const Document &d, float *rows, float *y) {
    int run = (f.k + 3) / 4 * 4;
    float part = (float)(1.0 / d.length);
    float norm = (float)(d.length / (d.length - 1.0) * (d.length / (d.length - 2.0)));
    project(f, d, false, f.stride, y);
    for (int j = 0; j < f.directions; j++) {
        float along = y[run + j];
        for (int a = threadIdx.x; a < f.k; a += blockDim.x) {
            float diagonal = 0.0f, linear = 0.0f;
            for (int e = 0; e < d.n; e++) {
                const float *row = f.matrix + (int64)d.words[e] * f.stride;
                float share = (float)d.counts[e] * part, own = row[run + j];
                diagonal += share * part * own * own;
                linear += 2.0f * share * (own * part) * (own * part - along) * row[a];
            }
            put(rows, (int64)j * f.k + a, norm * (along * along - diagonal) * y[a] + norm * linear, d);
        }
    }
}

__device__ double exp_digamma(double x) {
    double p = x * (x + 3.0);
    double r = (2.0 * x + 3.0) * (2.0 * p + 2.0) / (p * (p + 2.0)) / 256.0;
    double e = 1.0 + r * (1.0 + r * (1.0 / 2 + r * (1.0 / 6 + r * (1.0 / 24 + r * (1.0 / 120 + r * (1.0 / 720 + r / 5040))))));
    for (int i = 0; i < 8; i++)
        e *= e;
    double v = x + 3.5, w = v * v;
    return x > 0.0 ? (w * (w + 1.0 / 24) - 37.0 / 5760) / (w * v * e) : nan("");
}

// The probabilities of `n` entries from `begin` on under the topic weights `theta`, as counts over them; a warp an entry.
__device__ void ratios(const Statistic &f, const Document &d, int begin, int n, const float *theta, float *ratio) {
    int lane = threadIdx.x % 32, warps = blockDim.x / 32;
    for (int i = threadIdx.x / 32; i < n; i += warps) {
        const float *row = f.matrix + (int64)d.words[begin + i] * f.stride;
        float sum = 0.0f;
        for (int z = lane; z < f.k; z += 32)
            sum += theta[z] * row[z];
        for (int distance = 16; distance > 0; distance /= 2)
            sum += __shfl_down_sync(0xffffffffu, sum, distance);
        if (lane == 0)
            ratio[i] = (float)d.counts[begin + i] / (LEAST + sum);
    }
    __syncthreads();
}

// One step of coordinate ascent from `theta` to `gamma`; each thread its own topics.
__device__ void ascend(const Statistic &f, const Document &d, const float *theta, float *gamma, float *ratio) {
    for (int z = threadIdx.x; z < f.k; z += blockDim.x)
        gamma[z] = 0.0f;
    for (int begin = 0; begin < d.n; begin += CHUNK) {
        int n = min(CHUNK, d.n - begin);
        ratios(f, d, begin, n, theta, ratio);
        for (int z = threadIdx.x; z < f.k; z += blockDim.x) {
            float sum = gamma[z];
            for (int i = 0; i < n; i++)
                sum += ratio[i] * f.matrix[(int64)d.words[begin + i] * f.stride + z];
            gamma[z] = sum;
        }
        __syncthreads();
    }
    for (int z = threadIdx.x; z < f.k; z += blockDim.x)
        gamma[z] = f.alpha + theta[z] * gamma[z];
}

__device__ void exp_digammas(int k, const float *gamma, float *theta, float *before) {
    for (int z = threadIdx.x; z < k; z += blockDim.x) {
        before[z] = gamma[z];
        float weight = (float)exp_digamma(gamma[z]);
        theta[z] = weight < LEAST ? 0.0f : weight; // nan stays nan
    }
    __syncthreads();
}

__device__ void expected_counts(const Statistic &f, const Document &d, float *rows, float *theta) {
    __shared__ float ratio[CHUNK];
    float *gamma = theta + f.stride, *before = gamma + f.stride;
    for (int z = threadIdx.x; z < f.k; z += blockDim.x)
        theta[z] = 1.0f;
    __syncthreads();
    for (int step = 1; step <= E_STEPS; step++) {
        ascend(f, d, theta, gamma, ratio);
        if (step % 2 && step > 1) {
            double moved = 0.0;
            for (int z = threadIdx.x; z < f.k; z += blockDim.x)
                moved += fabsf(gamma[z] - before[z]);
            if (step == E_STEPS || block_sum(moved) < TOLERANCE * d.length)
                break;
            for (int z = threadIdx.x; z < f.k; z += blockDim.x) {
                float times = gamma[z] / before[z], longer = gamma[z] * times * times;
                float least = f.alpha + 0.25f * (gamma[z] - f.alpha);
                gamma[z] = longer < least ? least : longer;
            }
        }
        exp_digammas(f.k, gamma, theta, before);
    }
    exp_digammas(f.k, gamma, theta, before);
    for (int begin = 0; begin < d.n; begin += CHUNK) {
        int n = min(CHUNK, d.n - begin);
        ratios(f, d, begin, n, theta, ratio);
        for (int i = threadIdx.x; i < n * f.k; i += blockDim.x) {
            int e = i / f.k, z = i - e * f.k, w = d.words[begin + e];
            float value = f.scale[w] * ratio[e] * theta[z] * f.matrix[(int64)w * f.stride + z];
            put(rows, (int64)d.slots[begin + e] * f.k + z, value, d);
        }
        __syncthreads();
    }
}

// The norm of a document's third moment over words, by its entries, which are of different words.
__device__ double whole_norm(const Statistic &f, const Document &d) {
    double ones = 0, twos = 0, pairs = 0, triples = 0, mixed = 0, same = 0;
    for (int e = 0; e < d.n; e++) {
        double c = d.counts[e], s = f.scale[d.words[e]], square = s * s, l = d.length;
        double a = square * (c / l) * (c / l);
        double u = a * square * ((c - 1.0) / l) * ((c - 1.0) / l);
        same += u * square * ((c - 2.0) / l) * ((c - 2.0) / l);
        mixed += u * ones + a * twos;
        triples += a * pairs;
        pairs += a * ones;
        ones += a;
        twos += u;
    }
    double norm = d.length / (d.length - 1.0) * (d.length / (d.length - 2.0));
    return norm * sqrt(6.0 * triples + 3.0 * mixed + same);
}

template <int KIND>
__device__ int64 size_of(const Statistic &f, int64 used) {
    if (KIND == FIRST)
        return used;
    if (KIND == SECOND)
        return triangle(used);
    if (KIND == CORE)
        return 16 * (int64)f.n_pairs;
    if (KIND == THIRD || KIND == THIRD_PROJECTED)
        return 64 * (int64)f.n_tiles;
    if (KIND == THIRD_ALONG)
        return (int64)f.directions * f.k;
    return used * f.k;
}

// The multiplicity of the coordinate at place i of a unit's rows.
template <int KIND>
__device__ int weight_of(const Statistic &f, int64 i) {
    if (KIND == SECOND) {
        int64 a, b;
        pair_of(i, a, b);
        return a == b ? 1 : 2;
    }
    if (KIND == CORE || KIND == THIRD || KIND == THIRD_PROJECTED)
        return f.weights[i];
    return 1;
}

// Where the sum keeps place i of the rows of a unit of the words `names`.
template <int KIND>
__device__ int64 place_of(const Statistic &f, const int *names, int64 i) {
    if (KIND == FIRST)
        return names[i];
    if (KIND == SECOND) { // packed by circular offset, see `moments.py`
        int64 a, b;
        pair_of(i, a, b);
        int64 v = names[a], w = names[b], offset = w - v; // v <= w
        if (2 * offset > f.n_words)
            v = w, offset = f.n_words - offset;
        return v * (f.n_words / 2 + 1) + offset;
    }
    if (KIND == SECOND_TIMES || KIND == EXPECTED)
        return (int64)names[(unsigned)i / (unsigned)f.k] * f.k + (unsigned)i % (unsigned)f.k; // gpu_sums.py keeps i below 2^32
    return i;
}

// visit(i, rows[i]) for each place i of the thread's. Several are read before the first is visited: the compiler may not
// read before what it cannot tell from a store to the same place.
template <typename Visit>
__device__ void each_place(const float *rows, int64 size, Visit visit) {
    for (int64 first = threadIdx.x; first < size; first += AHEAD * blockDim.x) {
        float values[AHEAD];
#pragma unroll
        for (int j = 0; j < AHEAD; j++)
            values[j] = first + j * blockDim.x < size ? rows[first + j * blockDim.x] : 0.0f;
#pragma unroll
        for (int j = 0; j < AHEAD; j++)
            if (first + j * blockDim.x < size)
                visit(first + j * blockDim.x, values[j]);
    }
}

template <int KIND>
__device__ double squared_norm(const Statistic &f, const float *rows, int64 size) {
    double sum = 0.0;
    each_place(rows, size, [&](int64 i, double x) { sum += weight_of<KIND>(f, i) * (x * x); });
    return block_sum(sum);
}

// Make whole numbers of the rows times `factor`; their squared norm, which is exact below 2^53.
template <int KIND>
__device__ double make_whole(const Statistic &f, float *rows, int64 size, float factor, bool towards_zero) {
    double sum = 0.0;
    each_place(rows, size, [&](int64 i, float x) {
        double z = rows[i] = towards_zero ? truncf(x * factor) : rintf(x * factor);
        sum += weight_of<KIND>(f, i) * (z * z);
    });
    return block_sum(sum);
}

// Clip and round as `dplda.private.statistics.clipping.quantise`; the mass coordinate, or -1 if nothing may be added.
template <int KIND>
__device__ double quantise(const Statistic &f, float *rows, int64 size, double square, double clip) {
    double extra = MASS_SHARE * clip, norm = sqrt(square + extra * extra);
    if (!isfinite(norm))
        return -1.0;
    double factor = fmin(BOUND / clip, (BOUND - MARGIN) / norm), mass = rint(extra * factor);
    square = make_whole<KIND>(f, rows, size, (float)factor, false) + mass * mass;
    if (!(square <= BOUND * BOUND)) {
        double shrink = BOUND / sqrt(square) * (1 - 1e-6);
        mass = trunc(mass * shrink);
        square = make_whole<KIND>(f, rows, size, (float)shrink, true) + mass * mass;
    }
    return square <= BOUND * BOUND ? mass : -1.0;
}

template <int KIND>
__device__ void contribution(const Statistic &f, const Document &d, float *rows, float *R) {
    extern __shared__ float4 dynamic[];
    float *y = (float *)dynamic;
    if (KIND == FIRST)
        first_moment(f, d, rows);
    if (KIND == SECOND)
        second_moment(f, d, rows);
    if (KIND == SECOND_TIMES)
        second_moment_times(f, d, rows, y);
    if (KIND == CORE)
        core(f, d, rows, y, y + f.stride);
    if (KIND == THIRD || KIND == THIRD_PROJECTED)
        third_moment(f, d, rows, y, y + f.stride, R);
    if (KIND == THIRD_ALONG)
        third_moment_along(f, d, rows, y);
    if (KIND == EXPECTED)
        expected_counts(f, d, rows, y);
    __syncthreads();
}

// Add the clipped lattice contributions of the units `chosen` to `total`, and their masses to `mass`; or, if `measure`,
// let norms[i] be the unclipped norm of the i-th, -1 where no document is eligible.
template <int KIND>
__device__ void accumulate(const Units &c, const Statistic &f, const int64 *chosen, int64 n_chosen, double clip,
                           int measure, float *room, int64 room_size, unsigned long long *total,
                           unsigned long long *mass, double *norms) {
    __shared__ double whole;
    float *rows = room + blockIdx.x * room_size, *R = rows + size_of<KIND>(f, 0); // a tensor's, behind its rows
    for (int64 i = blockIdx.x; i < n_chosen; i += gridDim.x) {
        int64 u = chosen[i], begin = c.unit_ptr[u], end = c.unit_ptr[u + 1];
        int eligible = 0;
        for (int64 n = begin; n < end; n++)
            eligible += c.lengths[n] >= MINIMUM_LENGTH;
        if (!eligible) {
            if (measure && threadIdx.x == 0)
                norms[i] = -1.0;
            continue;
        }
        int64 size = size_of<KIND>(f, c.union_ptr[u + 1] - c.union_ptr[u]);
        bool only = end - begin == 1;
        for (int64 at = threadIdx.x; at < size && !only; at += blockDim.x)
            rows[at] = 0.0f;
        __syncthreads(); // nor does any thread still read the rows of the unit before
        double bound = 0.0;
        for (int64 n = begin; n < end; n++) {
            if (c.lengths[n] < MINIMUM_LENGTH)
                continue;
            int64 at = c.indptr[n];
            Document d = {c.words + at, c.counts + at, c.slots + at, (int)(c.indptr[n + 1] - at), (double)c.lengths[n],
                          (float)(1.0 / eligible), only};
            contribution<KIND>(f, d, rows, R);
            if (KIND == THIRD_PROJECTED) {
                if (threadIdx.x == 0)
                    whole = whole_norm(f, d);
                __syncthreads();
                bound += whole / eligible;
            }
        }
        double square = squared_norm<KIND>(f, rows, size);
        square = square < bound * bound ? bound * bound : isnan(bound) ? bound : square; // nan stays nan
        if (measure) {
            if (threadIdx.x == 0)
                norms[i] = sqrt(square);
            continue;
        }
        double own = quantise<KIND>(f, rows, size, square, clip);
        if (own < 0.0)
            continue;
        const int *names = c.union_words + c.union_ptr[u];
        each_place(rows, size, [&](int64 at, float z) {
            if (z != 0.0f)
                atomicAdd(&total[place_of<KIND>(f, names, at)], (unsigned long long)(int64)z);
        });
        if (threadIdx.x == 0)
            atomicAdd(mass, (unsigned long long)(int64)own);
    }
}

// Two blocks of 256 threads fit a multiprocessor's registers where that is asked for.
#define TWO_BLOCKS __launch_bounds__(256, 2)
#define KERNEL(NAME, KIND, BOUNDS)                                                                                     \
    extern "C" __global__ void BOUNDS NAME(                                                                            \
        const int64 *indptr, const int *words, const int *counts, const int64 *unit_ptr, const int64 *lengths,         \
        const int *slots, const int64 *union_ptr, const int *union_words, const float *scale, const float *matrix,     \
        int n_words, int k, int directions, int stride, float alpha, const int *tiles, int n_tiles, const int *pairs,  \
        int n_pairs, int staged, const signed char *weights, const int64 *chosen, int64 n_chosen, double clip,         \
        int measure, float *room, int64 room_size, unsigned long long *total, unsigned long long *mass,                \
        double *norms) {                                                                                               \
        Units c = {indptr, words, counts, unit_ptr, lengths, slots, union_ptr, union_words};                           \
        Statistic f = {scale, matrix, n_words, k, directions, stride, alpha, tiles, pairs, n_tiles, n_pairs, staged,   \
                       weights};                                                                                       \
        accumulate<KIND>(c, f, chosen, n_chosen, clip, measure, room, room_size, total, mass, norms);                  \
    }

KERNEL(add_first_moment, FIRST, )
KERNEL(add_second_moment, SECOND, )
KERNEL(add_second_moment_times, SECOND_TIMES, )
KERNEL(add_core, CORE, )
KERNEL(add_third_moment, THIRD, TWO_BLOCKS)
KERNEL(add_projected_third_moment, THIRD_PROJECTED, TWO_BLOCKS)
KERNEL(add_third_moment_along, THIRD_ALONG, )
KERNEL(add_expected_counts, EXPECTED, )
