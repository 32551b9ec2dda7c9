"""Topics of a saved run, printed and exported: `dplda topics` and `dplda export`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from dplda.base.software import describe
from dplda.cli.console import print_json, say, table, write_file
from dplda.cli.options import find_ledger, json_option, ledger_option, open_ledger, open_model
from dplda.learning.estimates import records
from dplda.learning.settings import LISTED
from dplda.model import EXPORTERS, TopicModel
from dplda.model import export as export_model
from dplda.model.exporters import csv_text, statement_json
from dplda.model.run_facts import USEFUL
from dplda.model.topic_model import refuse_existing

_OF_A_TABLE = (
    "share, share_low and share_high are of a table, which another run released and was charged for: this statement "
    "does not cover them. To others, quote the total of all runs."
)
_BY_CHANCE = " Words of a topic that is not clear may be there by chance of the noise, even if no text contains them."
_SHOWN_BATCHES = 6


@click.command()
@click.argument("run", required=False)
@click.option(
    "--series", metavar="NAME", help="Instead of RUN, show the topics of a series and their shares in each batch."
)
@click.option("--top", default=10, type=click.IntRange(min=1), help="Number of words shown for each topic.")
@click.option(
    "--relevance",
    default=0.6,
    type=click.FloatRange(0.0, 1.0),
    metavar="W",
    help="Rank words by relevance, W log(probability) + (1 - W) log(lift), like the lambda of pyLDAvis; 1 ranks by "
    "probability.",
)
@click.option(
    "--sure",
    type=click.FloatRange(0.0, 1.0),
    metavar="P",
    help="List only topics that are real with a probability of at least P, and only words that would be among the "
    "topic's first ten without noise with a probability of at least P.",
)
@click.option("--all", "noise", is_flag=True, help="Also list topics that cannot be told from noise.")
@click.option(
    "--csv",
    "csv_file",
    type=click.Path(path_type=Path),
    help="Write all topics, with as many words as are shown for each, to this new CSV file, and the privacy statement "
    "next to it; with --series, the shares.",
)
@json_option
@ledger_option
def topics(
    run: str | None,
    series: str | None,
    top: int,
    relevance: float,
    sure: float | None,
    noise: bool,
    csv_file: Path | None,
    as_json: bool,
    ledger_path: Path | None,
) -> None:
    """Show the topics of RUN.

    RUN is a run id or its first characters, the name of a dataset (for its latest run), or a model folder.
    """
    if (run is None) == (series is None):
        raise click.UsageError("give RUN or --series NAME.")
    if series is not None:
        if sure is not None:
            raise click.UsageError("--sure is for the topics of a RUN; leave it out with --series.")
        from dplda.runs.series import history

        _show_series(series, history(open_ledger(ledger_path), series), top, csv_file, noise=noise, as_json=as_json)
        return
    assert run is not None
    given = click.get_current_context().get_parameter_source("relevance")
    if as_json and given is ParameterSource.COMMANDLINE:
        raise click.UsageError("--relevance orders what is printed and --csv; --json lists words by probability.")
    model = open_model(run, ledger_path)
    shares = table_shares(model, ledger_path)
    if csv_file is not None:
        statement = _write_csv(model, top, relevance, csv_file, shares)
        if not as_json:
            say(f"Wrote {csv_file} and {statement}.")
    if as_json:
        run_id = model.facts.run
        print_json({"run": run_id, "private": model.privacy.sound, "topics": topics_json(model, top, shares)})
    else:
        show_topics(model, top, noise=noise, relevance=relevance, sure=sure, shares=shares, typed=run)
        if made_by := model.facts.software:
            say(f"Made by {describe(made_by)}. Compare it with this installation: dplda software {shlex.quote(run)}")


def table_shares(model: TopicModel, ledger_path: Path | None) -> list[dict[str, float]] | None:
    """Return the shares of topics with their intervals, as JSON; None unless a table in the ledger has them."""
    from dplda.runs.tabulation import best_shares

    ledger = find_ledger(ledger_path)
    found = None if ledger is None else best_shares(ledger, model)
    return None if found is None else records(found)


def _show_series(
    series: str, models: dict[str, TopicModel], top: int, csv_file: Path | None, *, noise: bool, as_json: bool
) -> None:
    """Print the topics of `series` and their shares in the batches, whose `models` are in order."""
    from dplda.runs.series import share_of, state_of

    last, names = list(models.values())[-1], list(models)
    if csv_file is not None:
        rows = [
            (name, topic, share, model.facts.share_std, state_of(model, topic), model.privacy.sound)
            for name, model in models.items()
            for topic, share in enumerate(model.prevalence.tolist())
        ]
        refuse_existing(csv_file)
        write_file(csv_file, csv_text(("batch", "topic", "share", "share_std", "state", "private"), rows))
    if as_json:
        listed = [
            topic | {"shares": [float(m.prevalence[n]) if n < len(m.topics) else None for m in models.values()]}
            for n, topic in enumerate(topics_json(last, top))
        ]
        stds = [model.facts.share_std for model in models.values()]
        private = all(model.privacy.sound for model in models.values())
        print_json({"series": series, "private": private, "batches": names, "share_std": stds, "topics": listed})
        return
    shown = range(len(last.topics)) if noise else last.listed_topics
    recent = dict(list(models.items())[-_SHOWN_BATCHES:])
    words = last.relevant_words(min(top, 5))
    lines = [
        (
            f"{n} {last.topic_names.get(n, '')}".strip(),
            " ".join(word for word, _ in words[n]),
            *(share_of(model, n) for model in recent.values()),
        )
        for n in shown
    ]
    count = f"{len(names)} batches" if len(names) > 1 else "1 batch"
    if exposed := [name for name, model in models.items() if not model.privacy.sound]:
        say(f"NOT PRIVATE: {', '.join(exposed)}. Do not publish their shares.", style="bold red")
    say(f"Series {series}: {count}, the last one {names[-1]}. Each column shows the topics' shares in a batch.")
    table(("topic", "words", *recent), lines, wide="words")
    std = last.facts.share_std
    if std:
        say(
            f"The noise of the counts alone moves a share of {names[-1]} by {2 * std:.1%} or less, 19 times out of 20; "
            "other words and slightly other topics move it, too, most from the first batch to the second."
        )
    if len(names) > _SHOWN_BATCHES:
        say(f"Earlier batches: dplda topics --series {shlex.quote(series)} --json")


def topics_json(
    model: TopicModel, top: int = 10, shares: Sequence[dict[str, float]] | None = None
) -> list[dict[str, Any]]:
    """Return topics as JSON objects: number, verdict (null if unknown), prevalence and the `top` most probable words.

    There are also, where they are known:

    - ``real``: the probability that an ordinary fit, without noise and with the 2,000 most frequent words, has the
      topic; null of a topic that was given;
    - ``given``: whether seed words gave the topic, so that the run did not choose it among those of the prior;
    - ``among_ten``: for each word the probability that it is among the topic's first ten in the fit without noise;
    - ``share``: the topic's share by a table, with its interval, from `shares`.
    """
    verdicts = model.verdicts or (None,) * len(model.topics)
    numbered = enumerate(zip(verdicts, model.prevalence, model.top_words(top), strict=True))
    return [
        {"topic": n, "verdict": verdict, "prevalence": float(share), "words": [list(pair) for pair in words]}
        | ({"name": model.topic_names[n]} if n in model.topic_names else {})
        | ({"sentence": model.topic_sentences[n]} if n in model.topic_sentences else {})
        | ({"real": model.probabilities[n]} if model.probabilities else {})
        | ({"given": n in model.given} if model.given else {})
        | ({"among_ten": model.word_probabilities[n]} if model.word_probabilities else {})
        | ({"share": shares[n]} if shares else {})
        for n, (verdict, share, words) in numbered
    ]


def show_topics(
    model: TopicModel,
    top: int = 10,
    *,
    noise: bool = False,
    relevance: float = 0.6,
    sure: float | None = None,
    shares: Sequence[dict[str, float]] | None = None,
    typed: str | None = None,
) -> None:
    """Print a table of the topics, and what the verdicts mean.

    Topics with the verdict ``noise`` are listed only if `noise` is set, or if all are noise. With `sure`, only topics
    and words of at least that probability are listed. `shares` are the topics' shares by a table; `typed` is what names
    the model in commands, by default its run.
    """
    every = topics_json(model, top, shares)
    listed = every if noise else [every[topic] for topic in model.listed_topics]
    words = [[word for word, _ in ranked] for ranked in model.relevant_words(top, relevance)]
    if sure is not None:
        listed = [t for t in every if (t.get("real") or 0.0) >= sure]
        words = [[word for word, p in chances.items() if p >= sure] for chances in model.word_probabilities] or words
    rows = (
        (
            f"{t['topic']} {model.topic_names.get(t['topic'], '')}".strip(),
            f"{t['verdict'] or '–'}{model.how_sure(t['topic'])}",
            _share(t),
            " ".join(words[t["topic"]]) or ("–" if sure is None else "(no word is that sure)"),
        )
        for t in listed
    )
    if listed:
        table(("topic", "verdict", "share (95 %)" if shares else "share", "words"), rows, wide="words")
    if sure is not None:
        known = "" if model.probabilities else "This model has no probabilities. "
        say(f"{known}{len(listed)} of {len(every)} topics are real with a probability of {sure:.0%} or more.")
        return
    if not model.verdicts:
        return
    say(
        "Verdicts: an ordinary fit, without noise and with the 2,000 most frequent words, would probably find a clear "
        f"topic, too; a weak one perhaps; noise probably not. {model.facts.about_verdicts}".rstrip()
    )
    clear, hidden = model.verdicts.count("clear"), len(every) - len(listed)
    if model.facts.prior_used:
        from dplda.report.wording import DIVIDED

        divided = "shares are of this part" if shares is None else f"shares are of all known words: {DIVIDED}"
        chances = [chance for chance in model.probabilities if chance is not None]
        found = f"about {sum(chances):.0f} of {len(chances)}" if chances else "some"
        given, like = len(model.given), "the others" if model.given else "them"
        fits = (
            f" Of topics that were chosen like {like}, an ordinary fit finds {found}; no released number tells which."
        )
        say(
            f"These are topics of the prior{f', and {given} that you gave' * bool(given)}. "
            f"{model.facts.prior_share or 0:.0%} of the words that the texts share with the prior fall to them, and "
            f"{divided}.{fits * (given < len(every))}"
        )
    elif set(model.verdicts) == {"noise"}:
        say(
            f"All {len(every)} topics are noise: do not use them. {_helps(model)}",
            style="yellow",
        )
    elif clear < USEFUL * model.topics_of_run:
        say(
            f"{f'Only {clear}' if clear else 'None'} of {len(every)} topics {'is' if clear < 2 else 'are'} clear, from "
            f"{len(model.vocabulary):,} words. {'Use the clear ones' if clear else 'Take them as hints'}. "
            f"{_helps(model) if model.facts.merged is None else ''}{_BY_CHANCE if model.facts.words == LISTED else ''}",
            style="yellow",
        )
    if hidden:
        name = shlex.quote(typed or model.facts.run or "RUN")
        what = "topic is" if hidden == 1 else "topics are"
        say(f"{hidden} {what} noise and not listed. To see all {len(every)}: dplda topics {name} --all")


def _share(topic: dict[str, Any]) -> str:
    """Format a topic's share: by a table, with its interval, if there is one, else its prevalence."""
    if "share" not in topic:
        return f"{topic['prevalence']:.1%}"
    value, low, high = (100 * topic["share"][end] for end in ("value", "low", "high"))
    return f"{value:.1f}% ({low:.1f} to {high:.1f})"


def _helps(model: TopicModel) -> str:
    """Say what would make more of the topics of `model` clear; a prior only if there was none to try."""
    public = "" if model.facts.prior is not None else "Public text about the same things (--prior), more"
    return f"{public or 'More'} documents or a larger epsilon would help."


def _write_csv(
    model: TopicModel, top: int, relevance: float, path: Path, shares: Sequence[dict[str, float]] | None
) -> Path:
    """Write the topics to `path` with the words that are printed, and the privacy statement beside it.

    Returns the path of the statement.
    """
    statement = path.with_suffix(".privacy.json")
    refuse_existing(path, statement)
    rows = (
        (
            t["topic"],
            t.get("name", ""),
            t["prevalence"],
            word,
            probability,
            t["verdict"] or "",
            t.get("real", ""),
            t.get("among_ten", {}).get(word, ""),
            *(t["share"].values() if "share" in t else ()),
        )
        for t, words in zip(topics_json(model, top, shares), model.relevant_words(top, relevance), strict=True)
        for word, probability in words
    )
    columns = ["topic", "name", "prevalence", "word", "probability", "verdict", "real", "among_ten"]
    by_table = ["share", "share_low", "share_high"] if shares else []
    write_file(path, csv_text([*columns, *by_table], rows))
    write_file(statement, statement_json(model, _OF_A_TABLE if shares else ""))
    return statement


@click.command()
@click.argument("run")
@click.option("--to", "target", required=True, type=click.Choice(list(EXPORTERS)), help="Tool or format to export to.")
@click.option(
    "--out", "-o", required=True, type=click.Path(path_type=Path), help="Path to write; it must not exist yet."
)
@json_option
@ledger_option
def export(run: str, target: str, out: Path, as_json: bool, ledger_path: Path | None) -> None:
    """Export the model of RUN to another tool or format.

    Shares of topics (prevalence) are the numbers of the model, also where `dplda topics` shows those of a table.
    """
    model = open_model(run, ledger_path)
    files = [str(path) for path in export_model(model, target, out)]
    if as_json:
        print_json({"run": model.facts.run, "to": target, "files": files})
    else:
        say(f"Wrote {', '.join(files)}.")
        if table_shares(model, ledger_path) is not None:
            say(
                "Shares in it are those of the model, as the run released them. `dplda topics` shows those of a table; "
                f"as a file: dplda topics {shlex.quote(run)} --csv FILE"
            )
        if target == "pyldavis":
            arguments, page = f'**json.load(open({str(out)!r}))["prepare"]', str(out.with_suffix(".html"))
            say(f"Open it with: import json, pyLDAvis; pyLDAvis.save_html(pyLDAvis.prepare({arguments}), {page!r})")
        if target == "gensim":
            say(f'Open it with: gensim.models.LdaModel.load("{out}")')
