"""`dplda prior`: public text for `dplda fit --prior`, written by a language model."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import click

from dplda.base.errors import InputError
from dplda.cli.console import clean, following, print_json, say, write_file
from dplda.cli.options import json_option, quiet_option, server_options
from dplda.model.topic_model import refuse_existing

_TEXTS = 2_000  # enough for the most prior topics (docs/design-log.md)


@click.group()
def prior() -> None:
    """Have public text written for `dplda fit --prior`."""


@prior.command()
@click.option(
    "--about",
    metavar="FILE",
    required=True,
    type=click.Path(path_type=Path),
    help="Your description of the texts, in your own words: a text file of at most 4,000 characters.",
)
@server_options(required=True, seconds=300.0)
@click.option("--texts", default=_TEXTS, type=click.IntRange(50, 20_000), help="Number of texts to write.")
@click.option(
    "--out", "-o", metavar="FILE", required=True, type=click.Path(path_type=Path), help="The new file, FILE.jsonl."
)
@json_option
@quiet_option
def draft(
    about: Path,
    endpoint: str,
    language_model: str,
    timeout: float,
    texts: int,
    out: Path,
    as_json: bool,
    quiet: bool,
) -> None:
    """Have a language model invent public text for `dplda fit --prior`.

    The server is sent your description and nothing of your texts, which are not read. Describe what anybody may know:
    what you learned from single texts must not be in it. Nothing is charged.
    """
    from dplda.base.chat_server import ChatServer
    from dplda.runs.drafts import draft_texts, read_description

    server = ChatServer(endpoint, language_model, timeout)
    description = read_description(about)
    if out.suffix != ".jsonl":
        raise InputError(f"--out {out} must end in .jsonl, by which --prior knows the format.")
    refuse_existing(out)
    if not (out.parent.is_dir() and os.access(out.parent, os.W_OK)):  # found out before the model works for hours
        raise InputError(f"cannot write into {out.parent}. Name a file in a folder that exists.")
    with following(quiet=as_json or quiet) as progress:
        drafts = draft_texts(server, description, texts, progress)
    writer = clean(language_model)
    records = ({"text": each.text, "subject_asked": each.subject, "written_by": writer} for each in drafts)
    write_file(out, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))
    subjects = len({each.subject for each in drafts})
    if as_json:
        print_json({"file": str(out), "texts": len(drafts), "subjects": subjects, "written_by": writer})
        return
    say(f"Wrote {len(drafts):,} invented texts on {subjects} subjects to {out}.")
    if len(drafts) < texts:
        say(f"{writer} had nothing new to say after that; describe more to get {texts:,}.", style="yellow")
    say(
        "Read some of them: their words and topics will appear in your results as they are. They show what "
        f"{writer} expects of such texts, not what is in yours; the run tests whether they explain yours."
    )
    say(f"Next: dplda fit TEXTS --prior {shlex.quote(str(out))} --public-prior")
