"""Topics named, grouped and compared: `dplda label`, `tree`, `merge` and `contrast`. None of them costs budget."""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dplda.cli.console import print_json, say, table
from dplda.cli.options import json_option, ledger_option, model_folder, open_model, server_options
from dplda.cli.topics_command import show_topics, table_shares, topics_json
from dplda.model import TopicModel, topic_model

if TYPE_CHECKING:
    from dplda.base.chat_server import ChatServer
    from dplda.model.labels import Label
    from dplda.model.topic_groups import ComparedTopics, TopicPair

_GROUP_WORDS, _TITLE_WORDS = 6, 4  # shown for a group of topics, and for a topic beside another

_groups_option = click.option(
    "--groups", type=click.IntRange(min=1), help="Number of groups [about the square root of the topics]."
)


@click.command()
@click.argument("run")
@click.option(
    "--labels",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A YAML or JSON file that maps topic numbers to names.",
)
@server_options(required=False, seconds=60.0)
@click.option("--replace", is_flag=True, help="Also replace names that a person gave, in a file or with seed words.")
@click.option(
    "--undo", is_flag=True, help="Return to the names before the present ones; repeat it to go through all versions."
)
@_groups_option
@json_option
@ledger_option
def label(
    run: str,
    file: Path | None,
    endpoint: str | None,
    language_model: str | None,
    timeout: float,
    replace: bool,
    undo: bool,
    groups: int | None,
    as_json: bool,
    ledger_path: Path | None,
) -> None:
    """Name the topics of RUN and the groups of `dplda tree`: from a file, by a server, or by distinctive words.

    A server receives released words and nothing else. The names are saved with the model and appear wherever its
    topics are shown. Names from a file replace earlier names of the same topics. Other names replace only names that
    no person gave, unless --replace is given. Earlier names are kept: --undo returns to them.
    """
    if (endpoint is None) != (language_model is None) or (file is not None and endpoint is not None):
        raise click.UsageError("give --labels FILE, or --endpoint URL with --model NAME, or neither.")
    if undo and (file is not None or endpoint is not None or replace):
        raise click.UsageError(
            "--undo returns to earlier names, and makes none: leave out the options that make names."
        )
    from dplda.base.chat_server import ChatServer
    from dplda.model import labels
    from dplda.model.topic_groups import topic_tree

    folder = model_folder(run, ledger_path)
    model = open_model(str(folder), ledger_path)
    kept: list[tuple[int, ...]] = []
    day = None
    if undo:
        day = labels.earlier_day(folder)
        named = labels.earlier_names(folder)
    else:
        named_groups = [tuple(sorted(group)) for group in topic_tree(model).groups(groups) if len(group) > 1]
        if file is not None:
            found = labels.from_file(file, len(model.topics))
        else:
            kept = [] if replace else labels.given_by_person(model)
            found = labels.from_words(model, named_groups)
            if endpoint is not None and language_model is not None:
                found |= _ask_server(model, named_groups, ChatServer(endpoint, language_model, timeout), without=kept)
            found = {topics: label for topics, label in found.items() if topics not in kept}
        named = labels.add_labels(model, found, by_person=file is not None)
        labels.save_names(named, folder)
    shares = table_shares(named, ledger_path)
    if as_json:
        record = [{"topics": list(group), **asdict(each)} for group, each in labels.group_labels(named).items()]
        listed = topics_json(named, shares=shares)
        print_json({"run": model.facts.run, "topics": listed, "groups": record, "kept": kept})
        return
    show_topics(named, shares=shares)
    if kept:
        say(f"Kept names that a person gave: {_numbers(kept)}. To replace them, too: --replace")
    if undo:
        say(_restored(named, day))
    else:
        say(f"The names before these: dplda label {shlex.quote(run)} --undo")


def _restored(model: TopicModel, day: date | None) -> str:
    """Say to which names of the topics of `model`, set on `day`, --undo has returned."""
    from dplda.model.labels import given_by_person

    since = "" if day is None else f" of {day.day} {day:%B} {day.year}"
    n_named = len(model.topic_names)
    by_person = sum(len(topics) == 1 for topics in given_by_person(model))
    if not n_named:
        return "These are the topics before they had names."
    if by_person in (0, n_named):
        return f"These are the names{since}, {'given by a person' if by_person else 'made of words or by a server'}."
    others = n_named - by_person
    return f"These are the names{since}: {by_person} given by a person, {others} made of words or by a server."


def _numbers(topics: Sequence[tuple[int, ...]]) -> str:
    return ", ".join("+".join(map(str, group)) for group in topics)


def _ask_server(
    model: TopicModel, groups: Sequence[tuple[int, ...]], server: ChatServer, without: Collection[tuple[int, ...]]
) -> dict[tuple[int, ...], Label]:
    """Return the server's label of each listed topic and of `groups`, except those `without` one.

    A topic has none if the answer holds no name.
    """
    from dplda.model import labels
    from dplda.model.topic_groups import words_of_group

    found, unnamed = dict[tuple[int, ...], "Label"](), []
    for topics in [*((topic,) for topic in model.listed_topics), *groups]:
        if topics in without:
            continue
        answer = labels.from_server(server, words_of_group(model, topics, labels.SENT_WORDS))
        if answer is None:
            unnamed.append(topics)
        else:
            found[topics] = answer
    if unnamed:
        say(f"No name in the answer for topic {_numbers(unnamed)}: named by distinctive words.", error=True)
    return found


@click.command()
@click.argument("run")
@_groups_option
@json_option
@ledger_option
def tree(run: str, groups: int | None, as_json: bool, ledger_path: Path | None) -> None:
    """Group similar topics of RUN, by the Hellinger distance between their word distributions.

    Shares are those of `dplda tabulate`, if it made a table of the topics.
    """
    from dplda.model.topic_groups import topic_tree

    model = open_model(run, ledger_path)
    by_table = table_shares(model, ledger_path)
    shares = model.prevalence.tolist() if by_table is None else [share["value"] for share in by_table]
    found = topic_tree(model)
    if as_json:
        record = cache(partial(_group, model, shares))  # most groups are in several cuts
        cuts = {str(n): [record(group) for group in found.groups(n)] for n in range(1, len(found.topics) + 1)}
        print_json({"run": model.facts.run, "private": model.privacy.sound, "cuts": cuts})
        return
    rows, titles = [], model.titles(_GROUP_WORDS)
    for number, group in enumerate(found.groups(groups), 1):
        facts = _group(model, shares, group)
        title = f"{facts['name']}: {' '.join(facts['words'])}" if "name" in facts else " ".join(facts["words"])
        rows.append((f"group {number}", f"{facts['share']:.1%}", title))
        rows += [(f"  {topic}", f"{shares[topic]:.1%}", titles[topic]) for topic in group]
    table(("topic", "share", "words"), rows, wide="words")


def _group(model: TopicModel, shares: Sequence[float], group: tuple[int, ...]) -> dict[str, Any]:
    """Return a group of topics: its topics, share (the sum of their `shares`), words and label."""
    from dplda.model import topic_groups
    from dplda.model.labels import group_labels

    label = group_labels(model).get(tuple(sorted(group)))
    return {
        "topics": list(group),
        "share": math.fsum(shares[topic] for topic in group),
        "words": topic_groups.words_of_group(model, group, _GROUP_WORDS),
        **({} if label is None else {"name": label.name, "sentence": label.sentence}),
    }


def _topic_list(value: str) -> list[int]:
    """Parse ``3,7``. Raises `BadParameter` for anything else."""
    try:
        return [int(number) for number in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"{value!r} is not of the form 3,7.") from None


@click.command()
@click.argument("run")
@click.argument("topics", type=_topic_list, nargs=-1, required=True)
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path), help="The new model folder.")
@json_option
@ledger_option
def merge(run: str, topics: tuple[list[int], ...], out: Path, as_json: bool, ledger_path: Path | None) -> None:
    """Merge topics of RUN, and save the result as a new model with the guarantee of RUN.

    TOPICS are the numbers of topics to merge into one: 3,7 merges topics 3 and 7; 3,7 1,4 merges two pairs.
    """
    from dplda.model import labels, topic_groups

    model = open_model(run, ledger_path)
    together = topic_groups.merge_topics(model, topics)
    topic_model.save(together, out)
    shares = table_shares(together, ledger_path)
    if as_json:
        print_json({"model": str(out), "topics": topics_json(together, shares=shares)})
        return
    show_topics(together, noise=True, shares=shares)
    by_person = {topic for group in labels.given_by_person(model) for topic in group if len(group) == 1}
    for group in topics:
        if not by_person.issuperset(group) and model.topic_names.keys() & set(group):
            say(
                f"The topic made of {_numbers([tuple(group)])} has no name, as a person did not name each of them. "
                f"To name it: dplda label {shlex.quote(str(out))} --labels FILE"
            )
    if model.probabilities:
        say("Verdicts have no percentages any more: a run computes them for its own topics, not for mixtures of them.")
    say(f"The model is in {out}; look again with: dplda topics {out}")


@click.command()
@click.argument("first", metavar="RUN_A")
@click.argument("second", metavar="RUN_B")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Also write the comparison as an HTML page.")
@json_option
@ledger_option
def contrast(first: str, second: str, output: Path | None, as_json: bool, ledger_path: Path | None) -> None:
    """Compare two collections by the topics of a run on each: which topics both have, and which only one has.

    Topics are alike if they collect the same documents among generated ones, over the words that both runs have. The
    shares of a run have 95 % intervals if `dplda tabulate` made a table of its topics.
    """
    from dplda.model import topic_groups
    from dplda.report.wording import DIVIDED

    if output is not None:
        topic_model.refuse_existing(output)
    models = open_model(first, ledger_path), open_model(second, ledger_path)
    compared = topic_groups.contrast(*models)
    shares: list[Sequence[Mapping[str, float | None]]] = []  # with intervals if the ledger has a table of the topics
    for model in models:
        alone = [{"value": float(share), "low": None, "high": None} for share in model.prevalence]
        shares.append(table_shares(model, ledger_path) or alone)
    if output is not None:
        from dplda.cli.report_command import write_page

        write_page((first, second), models, output, ledger_path)
    if as_json:
        print_json(_contrast_record(models, compared, shares))
        return
    runs = [
        f"{model.facts.run or given}{' (merged)' * (model.facts.merged is not None)}"
        for model, given in zip(models, (first, second), strict=True)
    ]
    names = [[f"{topic} {title}" for topic, title in enumerate(_titles(model))] for model in models]

    def sides(pair: TopicPair) -> list[tuple[str, str]]:
        return [(names[side][topic], _share(shares[side][topic])) for side, topic in enumerate(pair.topics)]

    if compared.too_few_words:
        say(compared.too_few_words, style="yellow")
    elif not compared.same:
        say("No topic is alike in both runs.")
    else:
        same = [(*own, *other, f"{pair.correlation:.2f}") for pair in compared.same for own, other in [sides(pair)]]
        titles = (f"topic of {runs[0]}", f"the one like it in {runs[1]}")
        table((titles[0], "share", titles[1], "share", "correlation"), same, wide=titles)
    for title, found in (("only in", compared.only), ("unclear, in", compared.unclear)):
        for side, run in enumerate(runs):
            ordered = sorted(found[side], key=lambda pair: -(shares[side][pair.topics[side]]["value"] or 0.0))
            rows = [(*sides(pair)[side], sides(pair)[1 - side][0], f"{pair.correlation:.2f}") for pair in ordered]
            if rows:
                say("")
                titles = (f"{title} {run}", f"nearest in {runs[1 - side]}")
                table((titles[0], "share", titles[1], "correlation"), rows, wide=titles)
    say("")
    say(
        f"Compared over the {len(compared.words):,} words that both runs have, of {len(models[0].vocabulary):,} and "
        f"{len(models[1].vocabulary):,}. Correlation is that of two topics' shares in documents that both models "
        "generate, and not in yours, which are often shorter, so that theirs is lower; topics are alike from 0.5 on, "
        "each like one other at most, so that all alike pairs together are as alike as possible: the nearest may be "
        "like another. A topic is only in one run if the other has as many topics or more, none of a prior, and "
        "nothing near it, which noise hardly explains. An unclear one may be missing from the other run because of "
        "noise, be called noise there, or be blended with another one (from 0.3 on). Topics called noise are not "
        "compared. "
        f"{compared.never_only}".rstrip()
    )
    if any(share["low"] is None for part in shares for share in part):
        lacking = [run for run, part in zip((first, second), shares, strict=True) if part[0]["low"] is None]
        how = (
            f"with intervals, tabulate the topics of {' and of '.join(lacking)}, with the options that it was read with"
        )
        if models[0].facts.dataset != models[1].facts.dataset:
            how = "that can be compared, tabulate the topics of one run in both collections"
        say(
            "Shares without an interval may differ between runs by noise alone, often by several points. For shares "
            f"{how}: dplda tabulate {shlex.quote(lacking[0])} CORPUS ..."
        )
    for model, run, part in zip(models, runs, shares, strict=True):
        if model.facts.prior_used:
            whole = (
                f"the {model.facts.prior_share or 0:.0%} of the words shared with its prior that fall to these topics"
            )
            of = whole if part[0]["low"] is None else f"all known words: {DIVIDED}"
            say(f"Shares of {run} are of {of}.")
    if any(model.facts.seed_words for model in models):
        say(
            "Some topics have names that were given with seed words: these drew them there, and they may be of a wider "
            "subject, of a part of it, or of another one."
        )
    if output is not None:
        say(f"Wrote {output}.")


def _titles(model: TopicModel) -> list[str]:
    """Return the words of each topic, behind its name if it has one: a name may be of a part of a topic."""
    words = [", ".join(word for word, _ in ranked) for ranked in model.relevant_words(_TITLE_WORDS)]
    return [
        f"{model.topic_names[topic]}: {few}" if topic in model.topic_names else few for topic, few in enumerate(words)
    ]


def _contrast_record(
    models: Sequence[TopicModel], compared: ComparedTopics, shares: Sequence[Sequence[Mapping[str, float | None]]]
) -> dict[str, Any]:
    """Return the JSON output of `contrast`."""

    def unmatched(side: int, found: Sequence[TopicPair]) -> list[dict[str, Any]]:
        return [
            {
                "topic": pair.topics[side],
                "share": shares[side][pair.topics[side]],
                "nearest": pair.topics[1 - side],
                "correlation": pair.correlation,
            }
            for pair in found
        ]

    return {
        "runs": [model.facts.run or "" for model in models],
        "private": all(model.privacy.sound for model in models),
        "words": [len(model.vocabulary) for model in models],
        "shared_words": len(compared.words),
        "notes": [note for note in (compared.too_few_words, compared.never_only) if note],
        "same": [
            {
                "topics": list(pair.topics),
                "correlation": pair.correlation,
                "shares": [shares[side][topic] for side, topic in enumerate(pair.topics)],
            }
            for pair in compared.same
        ],
        "only": [unmatched(side, compared.only[side]) for side in range(2)],
        "unclear": [unmatched(side, compared.unclear[side]) for side in range(2)],
    }


def _share(share: Mapping[str, float | None]) -> str:
    if share["low"] is None or share["high"] is None:
        return f"{share['value']:.1%}"
    return f"{share['value']:.1%} ({share['low']:.1%} to {share['high']:.1%})"
