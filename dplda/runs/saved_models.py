"""Finding the saved model of a run by its name in the ledger."""

from __future__ import annotations

import os
from pathlib import Path

from dplda.base.errors import InputError
from dplda.budget.database import default_path
from dplda.budget.ledger import Ledger
from dplda.budget.ledger_records import RunRecord, Status
from dplda.model import model_files
from dplda.model.topic_model import TopicModel


def load(name: str | Path, *, ledger: Ledger | None = None) -> TopicModel:
    """Load a saved model: of the run that `Ledger.run` finds by `name`, or from the model folder `name`.

    `ledger` is the default one if None. A name with a path separator, or of a model folder, is taken as a path. Every
    field is checked and no code in the files is run. Raises `InputError` if there is no such model.
    """
    return model_files.load(folder_of(name, ledger=ledger))


def load_run(run: RunRecord) -> TopicModel:
    """Load the saved model of `run`. Raises `InputError` if there is none."""
    return model_files.load(_folder(run))


def folder_of(name: str | Path, *, ledger: Ledger | None = None) -> Path:
    """The folder of the model that `load` loads by `name`; raises `InputError` if there is no such run."""
    if isinstance(name, Path) or os.path.isfile(Path(name) / model_files.TEXT_FILE) or os.sep in name:
        return Path(name)
    if ledger is None and not os.path.exists(default_path()):
        raise InputError(f"{name!r} is not a model folder, and there is no ledger that could know a run of this name.")
    return _folder((ledger or Ledger()).run(name))


def _folder(run: RunRecord) -> Path:
    if not run.model:
        if run.result is not None:
            kind, of = run.parameters.get("kind"), run.parameters.get("of")
            raise InputError(f"Run {run.id} is the {kind} of run {of} and has no model. List runs with `dplda runs`.")
        why = "it was fitted without `out` or `models`" if run.status == Status.DONE else run.described
        raise InputError(f"Run {run.id} has no saved model ({why}). List runs with `dplda runs`.")
    if not os.path.isfile(Path(run.model) / model_files.TEXT_FILE):
        raise InputError(f"The model of run {run.id} is no longer in {run.model}. If you moved it, give its new path.")
    return Path(run.model)
