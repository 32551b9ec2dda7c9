"""Figures and one HTML page, from released numbers alone."""

from dplda.report.page import write_report

__all__ = ["write_report"]
