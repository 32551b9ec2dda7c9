"""The exceptions shown to users, with their exit statuses.

Messages name the parameter, its value, the allowed range and the next step. They never contain a word,
a count or a name from a private document.
"""

from __future__ import annotations


class DpldaError(Exception):
    """Base class of the errors shown to users: a one-line message and an exit status."""

    exit_code = 2


class InputError(DpldaError, ValueError):
    """Wrong usage or bad input. Nothing was spent."""


class LedgerError(DpldaError):
    """The ledger cannot be opened, read or trusted. Nothing was spent."""


class BudgetRefused(DpldaError):
    """The dataset's granted budget does not allow the run. Nothing was spent."""

    exit_code = 3


class UnsupportedByData(DpldaError):
    """The released numbers cannot support the request. The ledger records what was spent.

    Computed from released (already charged) numbers only, so that the exit status is differentially private.
    """

    exit_code = 4


class DeviceError(DpldaError):
    """A GPU or cluster could not finish a pass over the documents. What was charged before stays spent.

    It may depend on the documents: do not publish it.
    """

    exit_code = 6


class ClusterError(DeviceError):
    """A cluster could not finish a pass over the documents. What was charged before stays spent."""


class GateError(RuntimeError):
    """A program error at the curator's gate: an unplanned, repeated or misordered release. Fails closed."""
