"""The room of the private counts. Code outside uses what it exports, and nothing else.

* `Gate`, `OutputGate` and `QueryGate`, through which algorithms request releases, and what they get: `Release`,
  `WordFrequencies`, `PtrResult` with its `StabilityTest`;
* `statistics`, the descriptions of the sums that can be requested, and the algebra of released moments;
* `attributes`, the public columns, periods and rows by which a table groups documents;
* `noise`, its exact and simulated sources, and the public thresholds and scales.

Import contracts in pyproject.toml protect all else. `store` holds the counts of documents, `passes` sums them with the
modules of `statistics` that compute on counts, `curator` and `exact_gate` turn exact sums into releases, the hardest of
them in `propose_test_release`. A few modules that put a run together are allowed to name some of these:
tests/test_gate.py lists them with the names that they take.
"""

from typing import TYPE_CHECKING

from dplda.base.lazy import lazy

if TYPE_CHECKING:
    from dplda.private.gate import Gate, OutputGate, PtrResult, QueryGate, Release, StabilityTest, WordFrequencies

__all__ = ["Gate", "OutputGate", "PtrResult", "QueryGate", "Release", "StabilityTest", "WordFrequencies"]

__getattr__, __dir__ = lazy(__name__, dict.fromkeys(__all__, "gate"))
