"""Every reproduction of the tensor papers runs, prints its tables and draws its picture; its parts are right."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from full_helpers import full_after

from benchmarks import tensor
from dplda.learning.eigenpairs import implicit
from dplda.private.statistics.lda_moments import unpack
from reproduce import tensor_noise, tensor_online, tensor_private

TINY = {
    tensor_noise: tensor_noise.Sizes((6, 8), (6,), 4, 2),
    tensor_online: tensor_online.Sizes((8,), (0.5, 4, 16), 2),
    tensor_private: tensor_private.Sizes((8, 16), (8, 16), (0.02, 50.0), 2),
}


@pytest.mark.parametrize("script", full_after(1, TINY), ids=lambda script: script.__name__)
def test_a_reproduction_prints_tables_and_draws(script, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(script.SIZES, "quick", TINY[script])
    figure = tmp_path / "new" / "figure.svg"
    script.main(quick=True, seed=0, figure=figure)
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(rows) >= 3
    assert ElementTree.fromstring(figure.read_bytes()).tag.endswith("svg")


def test_the_benchmark_prints_every_method(capsys):
    pytest.importorskip("tensorly")
    tensor.measure(dimension=12, rank=2, noise=0.002, repeats=1)
    printed = capsys.readouterr().out
    assert printed.count("\n|") == 2 + 4
    assert "robust, same rule" in printed


def test_structured_noise_is_symmetric_and_of_operator_norm_one():
    random = np.random.default_rng(0)
    for noise in tensor_noise.NOISES.values():
        E = implicit(noise(7, random), 1)  # raises unless symmetric
        assert tensor_noise.operator_norm(E, random, steps=200) == pytest.approx(1, rel=0.03)


def test_the_operator_norm_is_the_largest_value_over_the_sphere():
    random = np.random.default_rng(1)
    raw = random.standard_normal((3, 3, 3))
    T = sum(raw.transpose(order) for order in itertools.permutations(range(3)))
    U = random.standard_normal((3, 50_000))
    U /= np.linalg.norm(U, axis=0)
    reached = np.einsum("abc,al,bl,cl->l", T, U, U, U, optimize=True).max()
    assert tensor_noise.operator_norm(implicit(T, 1), random) == pytest.approx(reached, rel=1e-2)


def test_small_noise_never_fails_and_large_noise_always_does():
    random = np.random.default_rng(0)
    for noise in tensor_noise.NOISES.values():
        E = noise(20, random)
        assert not tensor_noise.fails(E, 1e-3, random)
        assert tensor_noise.fails(E, 20.0, random)


@pytest.mark.parametrize(
    ("rates", "at"), [([0, 0.5, 1], 10), ([0, 0.25, 0.75], 10**1.5), ([0, 0, 0], np.nan), ([1, 1, 1], np.nan)]
)
def test_a_transition_is_where_half_is_first_reached(rates, at):
    found = tensor_noise.transition(np.array([1.0, 10.0, 100.0]), np.array(rates))
    assert found == pytest.approx(at, nan_ok=True)


def test_samples_of_the_stream_have_the_third_moment_that_is_claimed():
    V = np.eye(8)[:, :3]
    blocks = itertools.islice(tensor_online.stream(V, np.random.default_rng(0)), 25)
    X = np.concatenate(list(blocks)).astype(np.float64)
    moment = np.einsum("na,nb,nc->abc", X, X, X, optimize=True) / len(X)
    wanted = np.zeros((8, 8, 8))
    wanted[range(3), range(3), range(3)] = tensor_online.VALUES
    np.testing.assert_allclose(moment, wanted, atol=0.1)


def test_noise_on_the_whole_tensor_has_independent_isometric_coordinates():
    """T(u, u, u) of isotropic symmetric noise is standard normal for every unit u."""
    random = np.random.default_rng(0)
    U = random.standard_normal((8, 3))
    U /= np.linalg.norm(U, axis=0)
    values = [(U * tensor_private.isotropic(8, random).along(U)).sum(axis=0) for _ in range(200)]
    np.testing.assert_allclose(np.std(values, axis=0), 1.0, rtol=0.2)
    assert unpack(np.arange(4.0), 2)[0, 0, 1] == 1.0  # coordinates are in the order i <= j <= k


def test_hadamard_components_have_coherence_one():
    T, v = tensor_private.planted(16, np.random.default_rng(0))
    np.testing.assert_allclose(np.abs(v), 0.25)
    np.testing.assert_allclose(T.along(v[:, None])[:, 0], tensor_private.VALUES[0] * v, atol=1e-9)
