"""Everything that is to be known of one NVIDIA GPU, in minutes: whether results are the CPU's, seconds, memory.

Steps run one after the other, each in a process of its own, as long as time is left. A step that cannot run says why,
and the others go on. What they found is one file of JSON, and one table.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from benchmarks.corpora import CHUNK, write_store
from benchmarks.measuring import Stopped, alone
from benchmarks.scale import Fit, fit_store
from benchmarks.tables import Table
from dplda.base.arrays import find_gpu
from dplda.base.software import installed_software

ROOT = Path(__file__).parents[2]
TESTS = ("tests/private", "tests/runs/test_fitting.py", "tests/learning")
WORDS, VOCABULARY = 20_000, 5_000
BYTES = 500  # of a store, for each document
UNITS = "million documents"


class Skipped(Exception):
    """A step does not run; the message says why."""


@dataclass
class Check:
    """The time that is left, and what was found so far, by the name of the step."""

    seconds: float
    found: dict[str, Any] = field(default_factory=dict)
    start: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.seconds - (time.monotonic() - self.start)

    def step(self, name: str, work: Callable[[], Any], expected: float = 0.0) -> None:
        """Run `work`, which takes about `expected` seconds, and keep what it returns, or why it returns nothing."""
        before = self.left
        try:
            if before < expected:
                raise Skipped(f"it would take about {expected:.0f} s, and {max(before, 0):.0f} s are left")
            result = work()
            took = before - self.left
            self.found[name] = {"result": result, "seconds": round(took, 1)}
            print(f"{name}: {took:.0f} s", file=sys.stderr, flush=True)
        except (Skipped, Stopped, subprocess.SubprocessError, OSError) as error:
            self.found[name] = {"skipped": str(error)}
            print(f"{name}: skipped, {error}", file=sys.stderr, flush=True)

    def result(self, name: str) -> Any:
        """Return what a step found. Raises `Skipped` if it found nothing."""
        if "result" not in self.found.get(name, {}):
            raise Skipped(f"the step {name!r} did not run")
        return self.found[name]["result"]


def measure(out: Path, seconds: float, millions: list[float], topics: list[int], install: bool) -> None:
    """Run all steps within about so many `seconds`; write ``OUT.json``, and print a table of fits."""
    check = Check(seconds)
    check.step("machine", machine)
    check.step("gpu", nvidia)
    check.step("install CuPy", partial(install_cupy, check, install))
    check.step("use the GPU", partial(uses_gpu, check))
    check.step("tests", partial(run_tests, check), 30)
    with tempfile.TemporaryDirectory() as folder:
        for n in millions:
            store = Path(folder) / f"{n:g}"
            check.step(f"write {n:g} {UNITS}", partial(write, store, round(n * 1e6), check), 8 * n)
            for k in topics:
                for device in ("cuda", "cpu"):
                    name = f"{n:g} {UNITS}, {k} topics, {device}"
                    check.step(name, partial(fit, check, store, n, k, device), expected(check, n, k, device))
            shutil.rmtree(store, ignore_errors=True)
    out.with_suffix(".json").write_text(json.dumps(check.found, indent=1) + "\n", encoding="utf-8")
    show(check, millions, topics)
    print(f"\nWrote {out.with_suffix('.json')}.")


def machine() -> dict[str, Any]:
    """What computes, and with which code."""
    return {"cores": os.cpu_count(), "memory": psutil.virtual_memory().total, "software": installed_software("exact")}


def nvidia() -> dict[str, str]:
    """The GPU as its driver names it, and the CUDA version of the driver."""
    if shutil.which("nvidia-smi") is None:
        raise Skipped("there is no nvidia-smi: no NVIDIA GPU, or no driver")
    told = subprocess.run(["nvidia-smi"], capture_output=True, text=True, check=True, timeout=60).stdout
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    listed = subprocess.run(query, capture_output=True, text=True, check=True, timeout=60).stdout
    version = re.search(r"CUDA Version:\s*(\d+)", told)
    return {"gpu": listed.strip(), "cuda": version[1] if version else "12"}


def install_cupy(check: Check, install: bool) -> str:
    """Install CuPy for the driver's CUDA, if it is not there."""
    package = f"cupy-cuda{check.result('gpu')['cuda']}x[ctk]>=14"
    if subprocess.run([sys.executable, "-c", "import cupy"], capture_output=True).returncode == 0:
        return "was there"
    if not install:
        raise Skipped("CuPy is not installed, and --no-install is given")
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", package], capture_output=True, text=True)
    if done.returncode:
        raise Skipped(f"pip install {package!r} failed: {done.stderr.strip()[-300:]}")
    return package


def uses_gpu(check: Check) -> int:
    """Free bytes on the GPU, found in a process of its own, because this one may have started without CuPy."""
    check.result("install CuPy")
    return alone(_free, limit=120)


def _free() -> int:
    return find_gpu().free()


def run_tests(check: Check) -> dict[str, Any]:
    """The tests that compute on a GPU: sums are the CPU's, bit for bit where they are whole numbers."""
    check.result("use the GPU")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tests.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "-k", "cuda", f"--junitxml={file}", *TESTS]
        subprocess.run(command, cwd=ROOT, capture_output=True, timeout=max(check.left / 2, 30))
        if not file.exists():
            raise Skipped("pytest wrote no results: is dplda[test] installed?")
        suite = xml.etree.ElementTree.parse(file).getroot()[0]
    failed = [case.get("name") for case in suite if case.find("failure") is not None or case.find("error") is not None]
    return {"run": int(suite.get("tests", 0)), "failed": failed}


def write(store: Path, n_documents: int, check: Check) -> int:
    """Write a planted store, whose chunks repeat a few that are drawn; return its bytes."""
    free = shutil.disk_usage(store.parent).free
    if free < 1.2 * BYTES * n_documents:
        raise Skipped(f"the disk has {free / 1e9:.0f} GB left")
    alone(write_store, store, n_documents, WORDS, 100, None, None, 2 * CHUNK, limit=max(check.left, 1))
    return sum(file.stat().st_size for file in store.iterdir())


def fit(check: Check, store: Path, n: float, topics: int, device: str) -> dict[str, Any]:
    """A private fit with its seconds, by stage too, and the most memory of the process; of a GPU also its own."""
    check.result(f"write {n:g} {UNITS}")
    if device == "cuda":
        check.result("use the GPU")
    asked = Fit(topics, VOCABULARY, VOCABULARY)
    spent, of_gpu = alone(_fit, store, asked, device, limit=max(check.left, 1))
    return {
        "millions": n,
        "seconds": round(spent.wall, 2),
        "core_seconds": round(spent.cores, 2),
        "noise": round(spent.noise, 2),
        "stages": {name: round(value, 2) for name, value in spent.stages.items()},
        "memory": spent.peak,
        "gpu_memory": of_gpu,
    }


def _fit(store: Path, asked: Fit, device: str) -> tuple[Any, int]:
    spent = fit_store(store, asked, "", device)
    return spent, find_gpu().xp.get_default_memory_pool().total_bytes() if device == "cuda" else 0


def expected(check: Check, n: float, topics: int, device: str) -> float:
    """Seconds of a fit of `n` million documents, from the last smaller one; 30 if there was none."""
    of_this_kind = [each for name, each in check.found.items() if name.endswith(f", {topics} topics, {device}")]
    done = [each for each in of_this_kind if "result" in each]
    return float(done[-1]["seconds"] * n / done[-1]["result"]["millions"]) if done else 30.0


def show(check: Check, millions: list[float], topics: list[int]) -> None:
    """Print the fits side by side, and what was skipped."""
    table = Table(UNITS, "topics", "GPU, s", "CPU, s", "times", "GPU memory, GB", "memory, GB (GPU / CPU)")
    for n in millions:
        for k in topics:
            gpu, cpu = (check.found[f"{n:g} {UNITS}, {k} topics, {each}"].get("result") for each in ("cuda", "cpu"))
            table.row(
                f"{n:g}", k, *(f"{each['seconds']:.1f}" if each else "-" for each in (gpu, cpu)),
                f"{cpu['seconds'] / gpu['seconds']:.1f}" if gpu and cpu else "-",
                f"{gpu['gpu_memory'] / 1e9:.1f}" if gpu else "-",
                " / ".join(f"{each['memory'] / 1e9:.1f}" if each else "-" for each in (gpu, cpu)),
            )  # fmt: skip
    tests = check.found["tests"].get("result")
    if tests:
        print(
            f"\n{tests['run']} tests on the GPU, {len(tests['failed'])} failed: {', '.join(tests['failed']) or 'none'}."
        )
    skipped = {name: each["skipped"] for name, each in check.found.items() if "skipped" in each}
    for name, why in skipped.items():
        print(f"Skipped: {name} ({why}).")
