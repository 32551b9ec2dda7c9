"""The command ``python -m dplda.audit.conformance MODULE:FACTORY`` prints a line for each rule.

Its exit status is 1 if a rule is broken, and 2 if it was called wrongly.
"""

from __future__ import annotations

import sys
from pkgutil import resolve_name

import click

from dplda.audit.conformance.suite import Outcome, check


@click.command()
@click.argument("factory")
@click.option("--rule", "rules", multiple=True, help="Check this rule only; may be repeated.")
def main(factory: str, rules: tuple[str, ...]) -> None:
    """Check the budget ledger that FACTORY, such as my_adapter:open_ledger, opens.

    FACTORY is called with two folders: one for the ledger, and one for what it keeps elsewhere.
    """
    try:
        opened = resolve_name(factory)
    except (ImportError, AttributeError, ValueError) as error:
        raise click.UsageError(f"FACTORY must name a function as MODULE:FUNCTION: {error}.") from None
    try:
        results = check(opened, rules or None)
    except ValueError as error:
        raise click.UsageError(f"{error}.") from None
    for result in results:
        click.echo(str(result))
    sys.exit(any(result.outcome == Outcome.BROKEN for result in results))


if __name__ == "__main__":
    main()
