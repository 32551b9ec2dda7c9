"""A simulated wrong clock: shifts the time that Python code reads."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date as true_date
from datetime import datetime as true_datetime
from time import time as _true_time
from time import time_ns as _true_time_ns
from typing import Any


class _SameInstances(type):
    """Metaclass by which real dates count as instances of the classes that replace `datetime` and `date`."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, true_datetime if issubclass(cls, true_datetime) else true_date)


@contextmanager
def shifted_clock(seconds: float) -> Iterator[None]:
    """Shift `time.time`, `time.time_ns`, and the now and today of `datetime`, in every module that has these names.

    Clocks that other programs and libraries in C read, such as SQLite's, are not shifted.
    """
    shift = datetime.timedelta(seconds=seconds)

    class ShiftedDatetime(true_datetime, metaclass=_SameInstances):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return true_datetime.now(tz) + shift

        @classmethod
        def utcnow(cls) -> Any:
            return cls.now(datetime.UTC).replace(tzinfo=None)

        @classmethod
        def today(cls) -> Any:
            return cls.now()

    class ShiftedDate(true_date, metaclass=_SameInstances):
        @classmethod
        def today(cls) -> Any:
            return ShiftedDatetime.now().date()

    shifted = {
        "datetime": (true_datetime, ShiftedDatetime),
        "date": (true_date, ShiftedDate),
        "time": (_true_time, lambda: _true_time() + seconds),
        "time_ns": (_true_time_ns, lambda: _true_time_ns() + round(seconds * 1e9)),
    }
    changed = [
        (module, name)
        for module in list(sys.modules.values())
        for name, (true, _) in shifted.items()
        if getattr(module, name, None) is true
    ]
    for module, name in changed:
        setattr(module, name, shifted[name][1])
    try:
        yield
    finally:
        for module, name in changed:
            setattr(module, name, shifted[name][0])
