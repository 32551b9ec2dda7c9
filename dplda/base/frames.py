"""Results as pandas data frames, which show and carry whether they are private."""

from __future__ import annotations

from typing import Any

from dplda.base.errors import InputError


def frame_of(table: Any, warning_label: str, otherwise: str) -> Any:
    """Return the Arrow `table` as a pandas data frame; `attrs["private"]` tells whether there is no `warning_label`.

    The label becomes the name of the columns, which pandas and notebooks print above the frame, so that the columns
    keep their names. Raises `InputError` without pandas, with what to do `otherwise`.
    """
    try:
        frame = table.to_pandas()
    except ImportError:
        raise InputError(f"to_frame needs pandas: pip install pandas. {otherwise}") from None
    frame.columns.name = warning_label or None
    frame.attrs["private"] = not warning_label
    return frame
