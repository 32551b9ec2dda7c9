"""Characters that can forge output: controls, surrogates, and marks that reorder text."""

from __future__ import annotations

CONTROLS = (*range(32), *range(127, 160))
_SURROGATES = range(0xD800, 0xE000)
_DIRECTION_MARKS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
FORGING = (*CONTROLS, *_SURROGATES, *_DIRECTION_MARKS)
