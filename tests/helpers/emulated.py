"""The kernels of a GPU on the CPU: their source, compiled by a C++ compiler, on NumPy's arrays.

This shows what the kernels compute, not how fast, and not that a driver takes them: that needs hardware. Threads of a
block take turns only where they wait for each other, forwards or backwards: a missing barrier shows as a sum that is
wrong in one of the two orders.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

COMPILER = shutil.which("g++")
HEADER = Path(__file__).with_name("emulated.h")
SIGNATURE = re.compile(r'extern "C" __global__ void BOUNDS NAME\((.*?)\) \{', re.DOTALL)
NAMES = re.compile(r"^KERNEL\((\w+), \w+, \w*\)$", re.MULTILINE)
ONE_AT_A_TIME = Lock()
C = {np.int32: ctypes.c_int, np.int64: ctypes.c_longlong, np.float32: ctypes.c_float, np.float64: ctypes.c_double}


class OnDevice(np.ndarray):
    """An array that does not mix with those of the host, as CuPy's do not."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        refuse(inputs)
        return on_device(getattr(ufunc, method)(*map(plain, inputs), **{k: plain(v) for k, v in options.items()}))

    def __getitem__(self, index: Any) -> Any:
        refuse((index,))
        return on_device(plain(self)[plain(index)])

    def get(self) -> np.ndarray:
        return np.array(self)


def refuse(values: Any) -> None:
    for value in values:
        if type(value) is np.ndarray and value.ndim:
            raise TypeError("an array of the host among those of the device")


def plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(map(plain, value))
    return value.view(np.ndarray) if isinstance(value, OnDevice) else value


def on_device(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(on_device, value))
    return value.view(OnDevice) if isinstance(value, np.ndarray) else value


class Library:
    """NumPy, of whose functions all but `asarray` take arrays of the device only, and return such."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if isinstance(found, type) or not callable(found):
            return found

        def call(*arguments: Any, **options: Any) -> Any:
            if name != "asarray":
                refuse([*arguments, *options.values()])
                refuse([item for value in arguments if isinstance(value, (tuple, list)) for item in value])
            return on_device(found(*map(plain, arguments), **{key: plain(value) for key, value in options.items()}))

        return call


class EmulatedGpu:
    """A `dplda.base.arrays.Gpu` whose kernels run on the CPU."""

    xp = Library()
    multiprocessors = 1

    def __init__(self, memory: int = 2**30, backwards: bool = False) -> None:
        self.memory, self.backwards = memory, backwards
        self.turns: list[int] = []
        self.launched: list[tuple[str, int, int]] = []

    def kernel(self, source: str, name: str) -> Callable[..., None]:
        function = load(source)[f"launch_{name}"]

        def launch(blocks: tuple[int], threads: tuple[int], arguments: tuple[Any, ...], shared_mem: int) -> None:
            self.launched.append((name, blocks[0], threads[0]))
            assert threads[0] % 32 == 0
            assert threads[0] <= 1024
            assert shared_mem <= 48 * 1024
            with ONE_AT_A_TIME:
                function(self.backwards, blocks[0], threads[0], ctypes.c_size_t(shared_mem), *map(passed, arguments))

        return launch

    def turn(self, index: int) -> Any:
        self.turns.append(index)
        return nullcontext()

    def finish(self) -> None:
        pass

    def free(self) -> int:
        return self.memory


def passed(argument: Any) -> Any:
    """As a C function takes it; whatever is neither an array nor of a type of known size is refused, as by CuPy."""
    if isinstance(argument, np.ndarray):
        assert isinstance(argument, OnDevice)
        assert argument.flags.c_contiguous
        return ctypes.c_void_p(argument.ctypes.data)
    return C[type(argument)](argument)


@cache
def load(source: str) -> ctypes.CDLL:
    """The kernels of `source` in a library: launch_NAME(backwards, blocks, threads, shared bytes, arguments...)."""
    text = '#include "emulated.h"\n' + translated(source)
    with tempfile.TemporaryDirectory() as room:
        file = Path(room) / "kernels.cpp"
        file.write_text(text)
        library = Path(room) / "kernels.so"
        assert COMPILER, "tests that compile are skipped without a compiler"
        subprocess.run(
            [
                COMPILER,
                "-std=c++17",
                "-O2",
                "-shared",
                "-fPIC",
                "-w",
                "-U_FORTIFY_SOURCE",
                f"-I{HEADER.parent}",
                "-o",
                library,
                file,
            ],
            check=True,
        )
        return ctypes.CDLL(str(library))


def translated(source: str) -> str:
    """C++ of `source`, with a function that launches each kernel."""
    source = source.replace("extern __shared__ float4 dynamic[];", "float4 *dynamic = emulated::room;")
    signature = SIGNATURE.search(source)
    assert signature, "a kernel has a signature"
    parameters = " ".join(signature[1].replace("\\", " ").split())
    given = ", ".join(parameter.split()[-1].lstrip("*") for parameter in parameters.split(","))
    launches = (
        f'extern "C" void launch_{name}(int backwards, int blocks, int threads, size_t shared, {parameters}) {{\n'
        f"    emulated::backwards = backwards;\n"
        f"    emulated::launch(blocks, threads, shared, [=] {{ {name}({given}); }});\n}}\n"
        for name in NAMES.findall(source)
    )
    return source + "".join(launches)
