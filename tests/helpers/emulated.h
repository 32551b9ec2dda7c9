// CUDA's C++, as far as the kernels use it, on one thread of a CPU: the threads of a block are fibers that take turns
// wherever they wait for each other, and blocks run one after the other.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <setjmp.h>
#include <ucontext.h>
#include <vector>

using std::fmin;
using std::isfinite;
using std::isnan;
using std::min;
using std::nan;
using std::rint;
using std::sqrt;
using std::trunc;

#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(...)

struct Three {
    unsigned x = 1, y = 1, z = 1;
};
struct alignas(16) float4 {
    float x, y, z, w;
};

namespace emulated {
constexpr size_t STACK = 1 << 16;
Three thread, block, threads, blocks;
float4 *room;

struct Fiber {
    ucontext_t context;
    jmp_buf at; // once begun: a jump asks nothing of the system, where a change of context does
    bool begun = false, done = false;
    float lane = 0.0f;
    std::vector<char> stack = std::vector<char>(STACK);
};
std::vector<Fiber> *fibers;
ucontext_t start;
jmp_buf scheduler;
unsigned waiting, generation, running;
const std::function<void()> *work;
bool backwards = false;

inline void give_way() {
    unsigned me = thread.x;
    if (!_setjmp((*fibers)[me].at))
        _longjmp(scheduler, 1);
    thread.x = me;
}

inline void enter() {
    (*work)();
    (*fibers)[thread.x].done = true;
    _longjmp(scheduler, 1);
}

// Let fiber t run until it gives way or is done.
inline void turn(unsigned t) {
    Fiber &fiber = (*fibers)[t];
    thread.x = t;
    if (_setjmp(scheduler))
        return;
    if (fiber.begun)
        _longjmp(fiber.at, 1);
    fiber.begun = true;
    swapcontext(&start, &fiber.context);
}

inline void run_block(unsigned n) {
    static std::vector<Fiber> pool;
    if (pool.size() < n)
        pool = std::vector<Fiber>(n);
    fibers = &pool;
    waiting = 0, running = n;
    for (unsigned t = 0; t < n; t++) {
        Fiber &fiber = pool[t];
        fiber.begun = fiber.done = false;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = STACK;
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, enter, 0);
    }
    while (running) {
        for (unsigned i = 0; i < n; i++) {
            unsigned t = backwards ? n - 1 - i : i;
            if (!pool[t].done) {
                turn(t);
                running -= pool[t].done;
            }
        }
    }
}

// A kernel that leaves threads behind at a barrier, which hardware would hang on, ends the process.
inline void launch(unsigned n_blocks, unsigned n_threads, size_t shared, const std::function<void()> &kernel) {
    std::vector<float4> dynamic((shared + sizeof(float4) - 1) / sizeof(float4));
    room = dynamic.data();
    work = &kernel;
    blocks.x = n_blocks, threads.x = n_threads;
    for (block.x = 0; block.x < n_blocks; block.x++)
        run_block(n_threads);
}
} // namespace emulated

#define threadIdx emulated::thread
#define blockIdx emulated::block
#define blockDim emulated::threads
#define gridDim emulated::blocks

inline void __syncthreads() {
    using namespace emulated;
    if (running != threads.x)
        abort();
    unsigned mine = generation;
    if (++waiting == threads.x) {
        waiting = 0;
        generation++;
        return;
    }
    while (generation == mine) {
        if (running != threads.x)
            abort();
        give_way();
    }
}

// All lanes of a warp come here before any of them goes on: in one turn of the scheduler each gets as far as this.
inline float __shfl_down_sync(unsigned, float value, int distance) {
    using namespace emulated;
    unsigned me = thread.x;
    (*fibers)[me].lane = value;
    give_way();
    float other = me % 32 + distance < 32 ? (*fibers)[me + distance].lane : value;
    give_way();
    return other;
}

inline unsigned long long atomicAdd(unsigned long long *at, unsigned long long value) {
    unsigned long long before = *at;
    *at += value;
    return before;
}
