"""`dplda search`: the topics of all saved runs that list a word."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from dplda.base.errors import InputError
from dplda.cli.console import print_json, say, table
from dplda.cli.options import MODELS, find_ledger, json_option, ledger_option
from dplda.model import TopicModel
from dplda.model.topic_model import TEXT_FILE, load
from dplda.text.reading_options import JOINER

_SEARCHED_WORDS = 30  # of each topic: more than `dplda topics` shows, and few enough to say what the topic is about
_SHOWN_WORDS = 6


@dataclass(frozen=True)
class _Found:
    """A topic that lists one of the words: `ranks` are the places, from 1, of the words of the topic that match."""

    name: str
    """What RUN is to other commands: the run's id, or the model's folder."""
    model: TopicModel
    topic: int
    wanted: int
    """How many of the words that were asked for the topic lists."""
    ranks: dict[str, int]
    first_words: list[str]

    @property
    def verdict(self) -> str | None:
        return self.model.verdicts[self.topic] if self.model.verdicts else None


@click.command()
@click.argument("words", metavar="WORD...", nargs=-1, required=True)
@click.option(
    "--top",
    default=_SEARCHED_WORDS,
    type=click.IntRange(min=1),
    help="Number of words of each topic that are searched, the most relevant first.",
)
@click.option("--all", "noise", is_flag=True, help="Also search topics that cannot be told from noise.")
@click.option(
    "--models",
    "folder",
    type=click.Path(path_type=Path),
    default=MODELS,
    help="Also search the models in this folder that are of no run in the ledger.",
)
@json_option
@ledger_option
def search(
    words: tuple[str, ...], top: int, noise: bool, folder: Path, as_json: bool, ledger_path: Path | None
) -> None:
    """Find the topics of all saved runs that list one of the WORDs. Costs no budget.

    A WORD that ends in * stands for all words that begin like it: 'refund*' also finds refunds. Upper and lower case
    are the same. Topics that list more of the WORDs come first, then those that list them earlier.
    """
    wanted = [_plain(word) for word in words]
    if not all(word.rstrip("*") for word in wanted):
        raise click.UsageError("a WORD is empty. Give a word, or the beginning of one: 'refund*'")
    n_models, found, vocabularies = 0, list[_Found](), list[Sequence[str]]()
    for name, model in _saved_models(folder, ledger_path):
        n_models += 1
        found += _search(name, model, wanted, top)
        vocabularies.append(model.vocabulary)
    n_all = len(found)
    found = [each for each in found if noise or each.topic in each.model.listed_topics]
    n_noise = n_all - len(found)
    found.sort(key=lambda each: (-each.wanted, min(each.ranks.values())))
    if as_json:
        print_json({"words": list(words), "models": n_models, "topics": [_json(each) for each in found]})
        return
    asked = " or ".join(map(repr, words))
    if not n_models:
        say(f"There are no saved models, in the ledger or in the folder {folder}. Start with: dplda fit CORPUS")
        return
    if not found:
        say(f"No topic of {_count(n_models, 'saved model')} has {asked} among its first {top} words.")
        say(_not_listed(n_noise) or _why_not(wanted, {_plain(word) for words in vocabularies for word in words}))
        return
    exposed = sorted({each.name for each in found if not each.model.privacy.sound})
    if exposed:
        say(f"NOT PRIVATE: {', '.join(exposed)}. Do not publish their topics.", style="bold red")
    table(("run", "topic", "verdict", "place among its words", "words"), map(_row, found), wide="words")
    say(
        f"{_count(len(found), 'topic')} of {_count(n_models, 'saved model')} with {asked} among the first {top} words. "
        f"Look at a run: dplda topics {shlex.quote(found[0].name)}"
    )
    if n_noise:
        say(_not_listed(n_noise))


def _not_listed(n_noise: int) -> str:
    """Say that `n_noise` topics have one of the words and are not listed; empty if none are."""
    has = "has" if n_noise == 1 else "have"
    return f"Not listed: {_count(n_noise, 'topic')} called noise {has} one of these words (--all)." if n_noise else ""


def _why_not(wanted: Sequence[str], known: Collection[str]) -> str:
    """Say what it means that no topic lists a word that was asked for, if models have the words `known`."""
    if any(_matches(word, each) for word in known for each in wanted):
        return "It is among the words of a run, but not among the first words of a topic: --top N searches more words."
    if phrase := next((each for each in wanted if " " in each and not any(" " in word for word in known)), ""):
        return f"These runs know single words only: dplda search {phrase}. A fit with --ngrams finds phrases, too."
    begun = sorted({each for each in wanted for word in known if word.startswith(each)})
    like = f" Words that begin like it are known: dplda search {shlex.quote(begun[0] + '*')}" if begun else ""
    return f"No run has it among its words: the texts may use it too seldom, or too often to set topics apart.{like}"


def _plain(word: str) -> str:
    """Return `word` as words are compared: in lower case, the parts of a phrase separated by single spaces."""
    return " ".join(word.replace(JOINER, " ").casefold().split())


def _search(name: str, model: TopicModel, wanted: list[str], top: int) -> Iterable[_Found]:
    """Yield the topics of `model` that have one of the `wanted` words among their first `top` words."""
    ranked = model.relevant_words(top)
    for topic in range(len(model.topics)):
        own = [word for word, _ in ranked[topic]]
        places = {
            each: [place for place, word in enumerate(own, start=1) if _matches(_plain(word), each)] for each in wanted
        }
        ranks = {own[place - 1]: place for place in sorted({place for listed in places.values() for place in listed})}
        if ranks:
            yield _Found(name, model, topic, sum(map(bool, places.values())), ranks, own[:_SHOWN_WORDS])


def _matches(word: str, wanted: str) -> bool:
    return word.startswith(wanted[:-1]) if wanted.endswith("*") else word == wanted


def _saved_models(folder: Path, ledger_path: Path | None) -> Iterator[tuple[str, TopicModel]]:
    """Yield the models of the runs in the ledger, the latest first, and the other models in `folder`, with their names.

    Says on standard error how many models cannot be read.
    """
    from dplda.runs.series import load_run

    ledger, seen, lost = find_ledger(ledger_path), set[str](), 0
    for run in reversed([] if ledger is None else ledger.runs()):
        if not run.model:
            continue
        seen.add(os.path.realpath(run.model))
        try:
            yield run.id, load_run(run)
        except InputError:
            lost += 1
    places = list[Path]()
    with suppress(OSError):  # a folder that does not exist, or that is closed to the user, has no models to search
        places = sorted(path for path in folder.iterdir() if os.path.isfile(path / TEXT_FILE))
    for place in places:
        if os.path.realpath(place) in seen:
            continue
        try:
            yield str(place), load(place)
        except InputError:
            lost += 1
    if lost:
        say(
            f"{_count(lost, 'saved model')} could not be searched: moved, deleted or damaged. List runs: dplda runs",
            error=True,
            style="yellow",
        )


def _row(found: _Found) -> tuple[str, ...]:
    places = ", ".join(f"{word} {place}" for word, place in found.ranks.items())
    title = f"{found.topic} {found.model.topic_names.get(found.topic, '')}".strip()
    verdict = f"{found.verdict or '–'}{found.model.how_sure(found.topic)}"
    return found.name, title, verdict, places, " ".join(found.first_words)


def _json(found: _Found) -> dict[str, Any]:
    model, topic = found.model, found.topic
    return {
        "run": model.facts.run,
        "name": found.name,
        "dataset": model.facts.dataset,
        "private": model.privacy.sound,
        "topic": topic,
        "topic_name": model.topic_names.get(topic),
        "verdict": found.verdict,
        "real": model.probabilities[topic] if model.probabilities else None,
        "ranks": found.ranks,
        "words": found.first_words,
    }


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
