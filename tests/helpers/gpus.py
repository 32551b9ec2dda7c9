"""Where tests of contributions sum them: the CPU's kernels, the GPU's on the CPU, and a GPU where there is one."""

from __future__ import annotations

import pytest
from emulated import COMPILER, EmulatedGpu

from dplda.base.arrays import find_gpu
from dplda.base.errors import InputError


def hardware():
    """The GPU, or None and why there is none."""
    try:
        return find_gpu(), ""
    except InputError as error:
        return None, str(error)


CUDA, WHY_NOT = hardware()
emulated = pytest.mark.skipif(COMPILER is None, reason="needs g++, which makes the GPU's kernels run on the CPU")

GPUS = [pytest.param(EmulatedGpu(), id="emulated", marks=emulated)]
if CUDA is not None:
    GPUS.append(pytest.param(CUDA, id="cuda"))
EVERYWHERE = [pytest.param(None, id="cpu"), *GPUS]
