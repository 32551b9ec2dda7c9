"""Compiled code is never older than the source that it stands for."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from dplda.base.compiled import _SOURCES, _sources_digest, cache_folder, compiled
from dplda.base.software import PACKAGE
from dplda.private.statistics.third_moment import THIRD_MOMENT
from dplda.private.statistics.unit_sums import _loop_over_units
from dplda.private.statistics.word_votes import _votes


def double(x):
    return 2 * x


double.__module__ = "dplda.double"


def sources() -> set[Path]:
    return {path for pattern in _SOURCES for path in PACKAGE.glob(pattern)}


@pytest.mark.parametrize("function", [_loop_over_units(THIRD_MOMENT), _votes])
def test_caches_are_kept_under_the_digest_of_all_that_is_compiled_in(function):
    assert _sources_digest() in Path(function.stats.cache_path).parts


def test_whatever_compiled_modules_import_is_in_the_digest():
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        users = [node for node in imports if node.module == "dplda.base.compiled"]
        if "compiled" not in {alias.name for node in users for alias in node.names}:
            continue
        assert path in sources(), path
        for node in imports:
            home = PACKAGE.parent / f"{(node.module or '').replace('.', '/')}.py"
            types_only = {alias.name for alias in node.names} == {"UnitCounts"}
            uncompiled = types_only or node.module == "dplda.base.software"  # whose digest names a source
            assert home in sources() or uncompiled or not (node.module or "").startswith("dplda"), home


def test_nothing_keeps_compiled_code_another_way():
    for path in PACKAGE.rglob("*.py"):
        if path.name != "compiled.py":
            assert "cache=True" not in path.read_text("utf-8"), path


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "numba"))
    cache_folder.cache_clear()
    yield tmp_path
    cache_folder.cache_clear()


def test_the_users_own_cache_folder_is_respected_and_left_set(own_folder):
    function = compiled(keep=True)(double)
    assert function(np.float64(2.0)) == 4.0
    assert Path(function.stats.cache_path).is_relative_to(own_folder / "numba" / _sources_digest())
    assert str(own_folder / "numba") == numba.config.CACHE_DIR


def test_nothing_is_kept_of_functions_whose_sources_do_not_name_the_folder(own_folder, monkeypatch):
    monkeypatch.setattr(double, "__module__", "dpldas.double")
    assert compiled(keep=True)(double).stats.cache_path is None


def test_functions_that_are_not_kept_leave_no_files(own_folder):
    function = compiled()(double)
    assert function(3) == 6
    assert not [*(own_folder / "numba").rglob("*.nbi")]


CALLED_BOTH_WAYS = """
from dplda.base.compiled import compiled

@compiled()
def inner(x):
    return 2 * x

@compiled(keep=True)
def outer(x):
    return inner(x) + 1

assert (outer(3), inner(3), inner(3), inner.py_func(3)) == (7, 6, 6, 6)
"""


def test_python_may_call_a_function_that_compiled_code_calls_too():
    done = subprocess.run([sys.executable, "-c", CALLED_BOTH_WAYS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_where_nothing_can_be_written_functions_are_compiled_anew(own_folder):
    (own_folder / "numba").write_text("a file where the folder should be")
    function = compiled(keep=True)(double)
    assert function(3) == 6
    assert function.stats.cache_path is None


TOPICS = """
import hashlib, dplda
from dplda.corpus import synthetic
corpus = dplda.Corpus.from_counts(synthetic(3000, 30, 3, mean_length=30, seed=0)[0], [f"w{i}" for i in range(30)])
model = dplda.fit(corpus, n_topics=3, epsilon=4, ledger=False, simulate_seed=3)
print(hashlib.sha256(model.topics.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_sums_are_the_same_where_kernels_are_compiled_and_where_they_come_from_the_cache(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    compiling, cached = (
        subprocess.run([sys.executable, "-c", TOPICS], env=environment, capture_output=True, check=True).stdout
        for _ in range(2)
    )
    assert compiling == cached
