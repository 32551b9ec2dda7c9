"""A self-contained HTML report with figures, from released numbers only."""

from dplda.report.page import write_report

__all__ = ["write_report"]
