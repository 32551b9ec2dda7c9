"""Tables of released topics by groups and periods: how many units there are in each, and what they are about."""

from dplda.tables.released_table import ReleasedTable, Tables
from dplda.tables.tabulation import tabulate

__all__ = ["ReleasedTable", "Tables", "tabulate"]
