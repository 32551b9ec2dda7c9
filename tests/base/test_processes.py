"""Worker processes see no Ctrl-C, from their first moment on."""

from __future__ import annotations

import signal

import pytest
from joblib.externals.loky import ProcessPoolExecutor

from dplda.base.processes import interrupts_blocked

pytestmark = pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="this platform has no signal masks")


def test_a_process_is_born_without_interrupts_and_its_parent_has_them_again():
    with ProcessPoolExecutor(1) as pool:
        with interrupts_blocked():
            assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
            born = pool.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ())
        assert signal.SIGINT in born.result()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
