"""Commands that measure the quality of topics, and whether what `dplda` tells about them holds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from benchmarks.options import (
    CORPORA,
    PRIOR_CASES,
    RARE_GIVEN,
    RIVAL_CORPORA,
    RIVALS,
    SYSTEMS,
    choices,
    cli,
    corpora_files,
    draw_option,
    epsilon_or_none,
    file_option,
    list_option,
    option,
    results_option,
    topics_option,
)


@cli.command()
@results_option
@corpora_files("imdb", "news", "medical", "agnews", required=False)
@click.option(
    "--corpus", "corpora", type=click.Choice(CORPORA), multiple=True,
    help="Corpora to measure. Repeatable; [default: synthetic, and those whose files are named]",
)  # fmt: skip
@choices("--system", "systems", SYSTEMS, "Systems to measure.")
@list_option("--epsilons", "0.5,1,2,4,8,none", epsilon_or_none, "Budgets; 'none' is no noise.")
@option("--seeds", 5, "Runs of each system.")
@option("--half", "all", "Documents for tuning, for reporting, or all.", type=click.Choice(("tune", "report", "all")))
@click.option("--exact", is_flag=True, help="Draw exact noise for dplda instead of simulated noise.")
@option("--rounds", 10, "Rounds of the private peer.")
@option("--clip", 5.0, "Clip of the private peer.")
@draw_option
def utility(results: Path, draw: Path | None, **options: Any) -> None:
    """Topic quality against epsilon, beside peers.

    The peers are private variational inference, tomotopy and gensim, which protect nobody, and random words. Appends
    NPMI@10, diversity, the agreement with labels and, for planted topics, the mean matched l1 error to the results, and
    prints their tables. Skips what is there for the same source and settings, so it can be interrupted. Takes several
    hours for everything, three minutes for `--system dplda`.
    """
    from benchmarks import utility as module
    from benchmarks import utility_report
    from benchmarks.results import read

    files = {name: options.pop(name) for name in CORPORA if name != "synthetic"}
    options["corpora"] = options["corpora"] or [name for name in CORPORA if files.get(name, True)]
    if draw is None:
        module.measure(results, module.Options(**options, files=files))
    utility_report.write(read(results), options["half"], draw)


@cli.command()
@results_option
@corpora_files("news", "medical", "agnews", required=False)
@file_option("--manzonelli", "Checkout of github.com/nicomanzonelli/topic_model_attacks, with its tweets.")
@file_option("--python", "Python with what the rivals' code requires, and BERTopic; [default: this one].")
@click.option(
    "--corpus", "corpora", type=click.Choice(RIVAL_CORPORA), multiple=True,
    help="Labelled texts to measure. Repeatable; [default: those whose files are named]",
)  # fmt: skip
@choices("--system", "systems", RIVALS, "Systems to measure.")
@list_option("--epsilons", "1,2,4,8", float, "Budgets, with delta 1e-6 for one document.")
@option("--seeds", 3, "Runs of each; tables show medians.")
@draw_option
def rivals(results: Path, draw: Path | None, python: Path | None, **options: Any) -> None:
    """Topics of dplda beside the rivals' own code.

    The rivals are the private topic model of Manzonelli, Zhang and Vadhan and, without privacy, tomotopy, gensim,
    scikit-learn and BERTopic. Appends NPMI@10, the agreement with labels, diversity and seconds to the results, and
    prints their tables. Skips what is there, so it can be interrupted. Takes about two hours for everything.
    """
    from benchmarks import rivals as module
    from benchmarks import rivals_report
    from benchmarks.results import read

    files = {name: options.pop(name) for name in ("news", "medical", "agnews")}
    files["manzonelli"] = options["manzonelli"]
    options["corpora"] = options["corpora"] or [corpus for corpus, (name, _) in module.CORPORA.items() if files[name]]
    if draw is None:
        module.measure(results, module.Options(**options, files=files, python=str(python or sys.executable)))
    rivals_report.write(read(results), draw)


@cli.command()
@corpora_files("imdb", "news")
@option("--seeds", 3, "Fits; the table shows medians.")
def plan(**options: Any) -> None:
    """What `dplda plan` foresees, beside what fits show.

    Compares noise, eigenvalues and topics above the noise on film reviews and 20 newsgroups. Takes about a minute.
    """
    from benchmarks.plan import measure

    measure(**options)


@cli.command()
@corpora_files("imdb", "news", "medical", "agnews")
@choices("--case", "cases", PRIOR_CASES, "Private text and the public text of its prior.")
@list_option("--epsilons", "0.5,1,2,4", epsilon_or_none, "Budgets; 'none' is no noise.")
@option("--seeds", 5, "Runs of each.")
def prior(cases: tuple[str, ...], epsilons: list[float | None], seeds: int, **files: Path) -> None:
    """Topic quality with prior topics and without.

    On small and large text, beside tomotopy. Noise is simulated. Takes about eight minutes for all.
    """
    from benchmarks.prior import Files, measure

    measure(Files(**files), cases, epsilons, seeds)


@cli.command()
@corpora_files("imdb", "news", "medical", "agnews")
@list_option("--sizes", "300,700,1500,3000,10000", int, "Numbers of texts.")
@option("--seeds", 10, "Runs of each.")
def advice(sizes: list[int], seeds: int, **files: Path) -> None:
    """Whether what `dplda check` proposes ends with topics.

    On 300 to 10,000 texts, and on the texts of 700 people. Noise is simulated. Takes about five minutes.
    """
    from benchmarks.advice import measure
    from benchmarks.prior import Files

    measure(Files(**files), sizes, seeds)


@cli.command()
@corpora_files("news", "medical", "agnews")
@list_option("--epsilons", "1,2,4,8", float, "Budgets.")
@option("--seeds", 5, "Runs of each.")
def small(news: Path, medical: Path, agnews: Path, epsilons: list[float], seeds: int) -> None:
    """Topics of small labelled collections, beside ordinary LDA.

    3,000 posts, abstracts and news items, and how the topics agree with labels. Noise is simulated. Takes about two
    minutes.
    """
    from benchmarks.small import measure

    measure(news, medical, agnews, epsilons, seeds)


@cli.command()
@corpora_files("news")
@list_option("--epsilons", "1,2,4,8,none", epsilon_or_none, "Budgets; 'none' is no noise.")
@option("--seeds", 5, "Fits of each.")
@file_option("--tweets", "Compressed JSON lines, each with a `text`, about five events: a table of these, too.")
def short(**options: Any) -> None:
    """Topics of short documents: the titles of posts, and tweets.

    Noise is simulated. Takes about two minutes.
    """
    from benchmarks.short import measure

    measure(**options)


@cli.command()
@corpora_files("news", "imdb", "agnews")
@list_option("--weeks", "4,12,52", int, "Numbers of weeks.")
@list_option("--overlaps", "0,0.03,0.05,0.07,0.1,0.2,0.4", float, "Shares of a week that the week before has, too.")
@option("--seed", 0, "Seed of the division into weeks.")
def recurring(news: Path, imdb: Path, agnews: Path, **options: Any) -> None:
    """Texts that recur by chance in the weeks of a series.

    Beside them weeks that overlap, both as the ledger sees them. Takes about three minutes.
    """
    from benchmarks.recurring import measure

    measure(news, imdb, agnews, **options)


@cli.command()
@results_option
@choices("--given", "given", RARE_GIVEN, "What a fit is given beside the documents.")
@list_option("--documents", "2000,10000,100000", int, "Sizes of the planted corpora.")
@list_option("--shares", "0.001,0.002,0.005,0.01,0.02,0.03,0.05,0.1", float, "Shares of documents about the topic.")
@list_option("--epsilons", "0.5,1,2,4,8,none", epsilon_or_none, "Budgets; 'none' is no noise.")
@option("--seeds", 5, "Corpora of each, with a fit of each budget.")
def rare(results: Path, **options: Any) -> None:
    """From which share of documents on a planted topic is found.

    Appends each fit to the results and prints the least share at which the topic is found in half of the fits. Skips
    what is there, so it can be interrupted. Noise is simulated. Takes about two hours, and five minutes for
    `--documents 2000,10000 --given nothing`.
    """
    from benchmarks import rare as module
    from benchmarks.results import read

    module.measure(results, **options)
    print(module.table(read(results)))


@cli.command()
@click.argument("sample", type=click.Path(exists=True, file_okay=False, path_type=Path))
def themes(sample: Path) -> None:
    """Errors of the planted themes of the sample corpus.

    SAMPLE is the folder `corpora`, or one that `dplda corpus sample` wrote. Every fit is a `dplda fit` with epsilon 2.
    Takes about 15 seconds.
    """
    from benchmarks.themes import measure

    measure(sample)


@cli.command()
@corpora_files("imdb")
@option("--batches", 10, "Batches of a series.")
@option("--batch-size", 10_000, "Reviews in a batch.")
@list_option("--epsilons", "1,4,none", epsilon_or_none, "Budget of each batch; 'none' is no noise.")
@option("--seeds", 5, "Series of each.")
@list_option("--shown", "1,2,5,10", int, "Batches to print.")
def series(**options: Any) -> None:
    """Topic quality and stability of a series of batches.

    Noise is simulated. Takes about a minute.
    """
    from benchmarks.series import measure

    measure(**options)


@cli.command()
@corpora_files("news", "imdb")
@list_option("--epsilons", "0.2,1", float, "Budgets of a table.")
@option("--repeats", 300, "Simulated tables of each.")
@option("--documents", 1_000_000, "Documents of the largest table; 0 measures no time.")
def tabulate(news: Path, imdb: Path, epsilons: list[float], repeats: int, documents: int) -> None:
    """How often the intervals of tables hold, and what tables cost.

    Noise is simulated. Takes about three minutes.
    """
    from benchmarks.tabulate import measure, short_documents, speed

    measure(news, imdb, epsilons, repeats)
    print()
    short_documents((5, 10, 20, 50, 100))
    if documents:
        print()
        speed(news, documents)


@cli.command()
@corpora_files("news", "imdb")
@list_option("--epsilons", "0.2,1", float, "Budgets of a table, and of words by group.")
@option("--repeats", 300, "Simulated tables of each.")
@option("--documents", 1_000_000, "Documents of the largest table; 0 measures no time.")
def counts(news: Path, imdb: Path, epsilons: list[float], repeats: int, documents: int) -> None:
    """How often intervals of counts hold, and what counts cost.

    Also which words tell newsgroups apart. Noise is simulated. Takes about ten minutes.
    """
    from benchmarks.counts import key_words, measure, speed

    measure(news, imdb, epsilons, repeats)
    print()
    key_words(news, epsilons)
    if documents:
        print()
        speed(documents)


@cli.command()
@corpora_files("imdb", "news", "medical")
@list_option("--epsilons", "0.5,4", float, "Budgets of an evaluation.")
@option("--seeds", 10, "Evaluations of each.")
def coherence(news: Path, imdb: Path, medical: Path, epsilons: list[float], seeds: int) -> None:
    """What `dplda evaluate` tells, beside the exact numbers.

    Noise is simulated. Takes about two minutes.
    """
    from benchmarks.coherence import measure, measure_halves

    measure(news, imdb, medical, epsilons, seeds)
    print()
    measure_halves(news, imdb, medical)


@cli.command()
@corpora_files("imdb", "news", "medical", "agnews")
@option("--seeds", 2, "Fits of each corpus, budget and number of topics.")
@click.option("--estimate", is_flag=True, help="Print coefficients for dplda.learning.verdicts, too.")
@click.option("--guided", is_flag=True, help="Runs with seed words instead; two minutes for each seed.")
def sureness(seeds: int, *, estimate: bool, guided: bool, **files: Path) -> None:
    """Whether the probabilities of topics and words are calibrated.

    For listed, private and public words, and by coefficients that were estimated without the kind of text. Noise is
    simulated. Takes about ten minutes for each seed.
    """
    from benchmarks.prior import Files
    from benchmarks.sureness import measure

    measure(Files(**files), seeds, estimate=estimate, guided=guided)


@cli.command()
@click.argument("corpora", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--text-field", help="Column of the text, in tables.")
@topics_option
@click.option("--epsilon", "epsilons", type=float, multiple=True, default=(2.0, 8.0), help="May be repeated.")
@option("--seeds", 3, "Fits of each; the table shows mean and spread.")
def tokenizers(**options: Any) -> None:
    """Quality of topics from the words of each tokenizer.

    Coherence is computed on the words of spaCy for both. Noise is simulated. Takes about a minute for 100,000
    reviews.
    """
    from benchmarks.tokenizers import measure

    measure(**options)
