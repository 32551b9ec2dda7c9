"""The exceptions shown to users, with their exit statuses.

Messages name the parameter, its value, the allowed range and the next step. They never contain a word, a count or a
name from a private document.
"""

from __future__ import annotations

import os
import traceback
import warnings

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class DpldaError(Exception):
    """Base of all errors meant for the user, with a one-line message and an exit status.

    `reason` is what the ledger records of a run that the error ends. It is fixed for each class, whatever the documents
    contain.
    """

    exit_code = 2
    reason = "the run could not continue"


class InputError(DpldaError, ValueError):
    """Wrong usage, bad input, or a model that cannot be written. Only in the last case was something spent."""

    reason = "bad input"


class LedgerError(DpldaError):
    """The ledger cannot be opened, read or trusted. Nothing was spent, unless the run was already reserved."""

    reason = "the ledger could not be used"


class BudgetRefused(DpldaError):
    """The dataset's granted budget does not allow the run. Nothing was spent."""

    exit_code = 3
    reason = "the budget does not allow it"


class UnsupportedByData(DpldaError):
    """The released numbers cannot support the request. What was charged stays spent.

    Computed from released (already charged) numbers only, so that the exit status is differentially private.
    """

    exit_code = 4
    reason = "the data could not support the request"


class DeviceError(DpldaError):
    """A GPU or cluster could not finish a pass over the documents. What was charged before stays spent.

    The error may depend on the documents and is only for the person who runs the fit.
    """

    exit_code = 6
    reason = "the GPU failed"


class ClusterError(DeviceError):
    """A cluster could not finish a pass over the documents. What was charged before stays spent."""

    reason = "the cluster failed"


class DpldaWarning(UserWarning):
    """Base of all warnings meant for the user. Like errors, they quote nothing of a private document."""


class NoisyTopicsWarning(DpldaWarning):
    """Some topics of a fit cannot be distinguished from its noise. Computed from released numbers only."""


class SharedDocumentsWarning(DpldaWarning):
    """The documents of a run are also those of other datasets. Exact, and for the person who runs it alone."""


class RaisedGrantWarning(DpldaWarning):
    """A grant was set that improves nothing, because outputs were seen before. Only for who holds the ledger."""


class DefaultGrantWarning(DpldaWarning):
    """A run, the first one on a dataset without a grant, fixes the default total for good."""


class SmallDeltaWarning(DpldaWarning):
    """The delta of a grant is smaller than that of runs, so that few of them can choose words or groups privately."""


class GateError(RuntimeError):
    """A programming error: the curator refused an unplanned, repeated or misordered release."""


def warn(text: str, category: type[DpldaWarning] = DpldaWarning) -> None:
    """Warn of the line that called this package, however deep inside of it this is."""
    stack = traceback.extract_stack()  # the outermost call first
    first = next(place for place, call in enumerate(stack) if call.filename.startswith(_PACKAGE))
    warnings.warn(text, category, stacklevel=len(stack) - first + 1)
