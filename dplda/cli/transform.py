"""`dplda transform`: topic proportions of documents. Not private, and it says so."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from dplda.cli.bars import following
from dplda.cli.console import print_json, private_notes, say
from dplda.cli.options import (
    json_option,
    ledger_option,
    open_model,
    read,
    reading_options,
    refuse_existing,
)
from dplda.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

WARNING = "NOT PRIVATE: these proportions are computed from each document exactly, without noise."
_OWNER_ONLY = 0o600


@click.command()
@click.argument("run")
@click.argument("corpus")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Write to this new .csv or .npz file [CSV on standard output].",
)
@reading_options
@json_option
@ledger_option
def transform(run: str, corpus: str, out: Path | None, as_json: bool, ledger_path: Path | None, **options: Any) -> None:
    """Find the topic proportions of each document of CORPUS under the topics of RUN. NOT PRIVATE.

    RUN is a run of the ledger (its id or how that begins) or a model folder. The language and tokenizer of the run
    are assumed unless options say otherwise. Words that the model does not know are left out and counted.
    """
    from dplda.model import counts_for

    if out is not None:
        if out.suffix not in (".csv", ".npz"):
            raise click.UsageError("--out must end in .csv or .npz.")
        refuse_existing(out)
    model = open_model(run, ledger_path)
    names = ("language", "lemmas", "tokenizer")
    known = {name: model.parameters[name] for name in names if name in model.parameters}
    source = read(corpus, options, defaults=known)
    with following(quiet=as_json) as progress:
        store = source.open(progress)
        counts, ids, unknown, total = counts_for(model, store)
        proportions = model.transform(counts)
    private_notes(source.notes)
    if out is not None:
        _write(out, ids, proportions)
    if as_json:
        record = {"run": model.parameters.get("run"), "private": False, "warning": WARNING}
        rows = zip(ids, proportions.tolist(), strict=True)
        listed = [{"id": name, "proportions": row} for name, row in rows] if out is None else None
        result = {"out": str(out)} if out is not None else {"documents": listed}
        print_json({**record, "unknown_tokens": unknown, "tokens": total, **result})
        return
    say(WARNING, error=True, style="bold red")
    share = unknown / total if total else 0.0
    say(f"{unknown} of {total} words ({share:.1%}) are unknown to the model and were left out.", error=True)
    if out is None:
        click.echo(_csv(ids, proportions), nl=False)
    else:
        say(f"Wrote {len(ids)} documents to {out}.", error=True)


def _csv(ids: list[str], proportions: NDArray[np.float64]) -> str:
    """One row for each document; every column's name says that it is not private."""
    from dplda.model.export import csv_text

    header = ["document", *(f"topic {k} (not private)" for k in range(proportions.shape[1]))]
    rows = ([name, *map("{:.6g}".format, row)] for name, row in zip(ids, proportions, strict=True))
    return csv_text(header, rows)


def _write(path: Path, ids: list[str], proportions: NDArray[np.float64]) -> None:
    """A file that only its owner may read."""
    from dplda.model.files import write_atomically

    content = io.BytesIO()
    if path.suffix == ".csv":
        content.write(_csv(ids, proportions).encode())
    else:
        np.savez(content, ids=np.array(ids, dtype=np.str_), proportions=proportions, not_private=np.array(True))
    try:
        write_atomically(path, content.getvalue(), mode=_OWNER_ONLY)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}.") from None
