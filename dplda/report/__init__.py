"""A self-contained HTML report with figures, from released numbers only."""

from dplda.report.page import write_report
from dplda.report.promise import AllRuns, all_runs
from dplda.report.wording import Wording

__all__ = ["AllRuns", "Wording", "all_runs", "write_report"]
