"""The command line: what each benchmark measures, against what, and roughly how long it takes.

Commands import what they measure when they run, so that help is quick.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from dplda.config import DEVICES, PLACEMENTS
from dplda.errors import DpldaError

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

SOUND = tuple(name for name in PLACEMENTS if name != "none")
SPLIT = ("config1", "config2", "config3", "tensor-power")  # placements whose budget can be split
CORPORA = ("imdb", "news", "medical", "synthetic")
SYSTEMS = ("dplda", "variational", "tomotopy", "gensim", "random")
PEERS = ("dplda", "dplda-exposed", "tomotopy", "tensorly")
ATTACKED = ("tomotopy", "dplda, no noise", "dplda, epsilon 8", "dplda, epsilon 1", "dplda with a prior, epsilon 8")
PRIOR_CASES = ("few-posts", "medical", "posts", "reviews")
AUDITED = ("mechanisms", "placements", "broken", "published")


def listed(convert: Callable[[str], T]) -> Callable[[Any, click.Parameter, str | None], list[T] | None]:
    """A callback for values separated by commas."""

    def split(_: Any, parameter: click.Parameter, value: str | None) -> list[T] | None:
        try:
            return None if value is None else [convert(part.strip()) for part in value.split(",")]
        except ValueError as error:
            raise click.BadParameter(f"{error}. Separate values by commas.", param=parameter) from None

    return split


def epsilon_or_none(text: str) -> float | None:
    """A budget, or None for 'none': no noise."""
    return None if text == "none" else float(text)


def option(name: str, default: Any, help_text: str, **more: Any) -> Callable[[F], F]:
    """An option that shows its default."""
    return click.option(name, default=default, show_default=True, help=help_text, **more)


def list_option(name: str, default: str, convert: Callable[[str], Any], help_text: str) -> Callable[[F], F]:
    """An option for values separated by commas."""
    return click.option(
        name, default=default, show_default=True, metavar="X,X,...", callback=listed(convert), help=help_text
    )


def choices(name: str, variable: str, known: tuple[str, ...], help_text: str) -> Callable[[F], F]:
    """An option that can be given several times; all of `known` if it is not given."""
    return click.option(
        name,
        variable,
        type=click.Choice(known),
        multiple=True,
        default=known,
        help=f"{help_text} Repeatable; [default: all]",
    )


def file_option(name: str, help_text: str, **more: Any) -> Callable[[F], F]:
    """An option that names a file or folder."""
    return click.option(name, type=click.Path(path_type=Path), help=help_text, **more)


store_argument = click.argument("store", type=click.Path(exists=True, file_okay=False, path_type=Path))


def planted_store(command: F) -> F:
    """A planted store, and its size."""
    command = option("--words", 20_000, "Words of the store.")(command)
    command = click.option("--topics", type=int, required=True, help="Planted topics of the store.")(command)
    return store_argument(command)


source_argument = click.argument("source", type=click.Path(exists=True, path_type=Path))
topics_option = option("--topics", 20, "Topics to learn.")
epsilon_option = option("--epsilon", 2.0, "Privacy budget of a fit.")
repeats_option = option("--repeats", 3, "Runs of each system; tables show medians.")
results_option = file_option("--results", "JSON lines; new records are appended.", required=True)
draw_option = file_option("--draw", "Only print tables and draw figures into this folder.", metavar="FOLDER")


class Commands(click.Group):
    """Lists commands in the order in which they are defined."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what dplda refuses is told in one line."""
        try:
            return super().invoke(ctx)
        except DpldaError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=Commands, context_settings={"max_content_width": 120, "help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Measure dplda: the quality of its topics, its speed and memory, and what attacks find out.

    Tables are printed as Markdown. Ledgers, caches and models are temporary. Install the extra `bench` for the peers
    and figures: pip install -e '.[bench]'.

    A SOURCE of counts is a prepared store (a folder), a SciPy matrix (.npz), JSON lines with a `text` (.jsonl.gz)
    or the archive of 20 newsgroups (.tar.gz). A STORE is one that `store` wrote.
    """


@cli.command()
@results_option
@file_option("--imdb", "Film reviews (.jsonl.gz with a `text`).")
@file_option("--news", "20 newsgroups (tar archive).")
@file_option("--medical", "Medical abstracts (.jsonl.gz with a `text`).")
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
    NPMI@10, diversity and, for planted topics, the mean matched l1 error to the results. Skips what is there for the
    same source and settings, so it can be interrupted. Takes several hours for everything, seconds for `--corpus
    synthetic --system random`.
    """
    from benchmarks import utility as module
    from benchmarks import utility_report
    from benchmarks.results import read

    if draw is not None:
        utility_report.write(read(results), options["half"], draw)
        return
    files = {name: options.pop(name) for name in CORPORA if name != "synthetic"}
    options["corpora"] = options["corpora"] or [name for name in CORPORA if files.get(name, True)]
    module.measure(results, module.Options(**options, files=files))


@cli.command()
@file_option("--imdb", "Film reviews (.jsonl.gz with a `text`).", required=True)
@file_option("--news", "20 newsgroups (tar archive).", required=True)
@file_option("--medical", "Medical abstracts (.jsonl.gz with a `text`).", required=True)
@choices("--case", "cases", PRIOR_CASES, "Private text and the public text of its prior.")
@list_option("--epsilons", "0.5,1,2,4,8,none", epsilon_or_none, "Budgets; 'none' is no noise.")
@option("--seeds", 5, "Runs of each.")
def prior(cases: tuple[str, ...], epsilons: list[float | None], seeds: int, **files: Path) -> None:
    """Topic quality with prior topics and without.

    On small and large text, beside tomotopy. Noise is simulated. Takes about ten minutes for all.
    """
    from benchmarks.prior import Files, measure

    measure(Files(**files), cases, epsilons, seeds)


@cli.command()
@file_option("--imdb", "Film reviews (.jsonl.gz with a `text`).", required=True)
@file_option("--news", "20 newsgroups (tar archive).", required=True)
@file_option("--medical", "Medical abstracts (.jsonl.gz with a `text`).", required=True)
@option("--seeds", 2, "Fits of each corpus, budget and number of topics.")
@option("--first-seed", 100, "The first seed; those below 10 were used to set the coefficients.")
@click.option("--private-words", is_flag=True, help="Choose the words privately instead of taking 2,000 as public.")
def sureness(seeds: int, first_seed: int, private_words: bool, **files: Path) -> None:
    """Whether the probabilities of topics and words are calibrated.

    Noise is simulated. Takes about a minute for each seed.
    """
    from benchmarks.prior import Files
    from benchmarks.sureness import measure

    measure(Files(**files), seeds, first_seed, private_words=private_words)


@cli.command()
@file_option("--news", "The 20 newsgroups (.tar.gz).", required=True)
@file_option("--imdb", "Film reviews (.jsonl.gz with a `text` and a `movie`).", required=True)
@list_option("--epsilons", "0.2,1,4", float, "Budgets of a table.")
@option("--repeats", 300, "Simulated tables of each.")
@option("--documents", 1_000_000, "Documents of the largest table; 0 measures no time.")
def tabulate(news: Path, imdb: Path, epsilons: list[float], repeats: int, documents: int) -> None:
    """How often the intervals of tables hold, and what tables cost.

    Noise is simulated. Takes about ten minutes.
    """
    from benchmarks.tabulate import measure, short_documents, speed

    measure(news, imdb, epsilons, repeats)
    short_documents((5, 10, 20, 50, 100, 300))
    if documents:
        speed(news, documents)


@cli.command()
@file_option("--news", "The 20 newsgroups (.tar.gz).", required=True)
@file_option("--imdb", "Film reviews (.jsonl.gz with a `text`).", required=True)
@file_option("--medical", "Medical abstracts (.jsonl.gz with a `text`).", required=True)
@list_option("--epsilons", "0.2,0.5,1,4", float, "Budgets of an evaluation.")
@option("--seeds", 10, "Evaluations of each.")
def coherence(news: Path, imdb: Path, medical: Path, epsilons: list[float], seeds: int) -> None:
    """What `dplda evaluate` tells, beside the exact numbers.

    Noise is simulated. Takes about five minutes.
    """
    from benchmarks.coherence import measure, measure_halves

    measure(news, imdb, medical, epsilons, seeds)
    measure_halves(news, imdb, medical)


@cli.command()
@file_option("--imdb", "Film reviews (.jsonl.gz with a `text`).", required=True)
@option("--batches", 10, "Batches of a series.")
@option("--batch-size", 10_000, "Reviews in a batch.")
@list_option("--epsilons", "1,4,none", epsilon_or_none, "Budget of each batch; 'none' is no noise.")
@option("--seeds", 5, "Series of each.")
def series(imdb: Path, batches: int, batch_size: int, epsilons: list[float | None], seeds: int) -> None:
    """Topic quality and stability of a series of batches.

    Noise is simulated. Takes about five minutes.
    """
    from benchmarks.series import measure

    measure(imdb, batches, batch_size, epsilons, seeds)


@cli.command()
@click.argument("corpus")
@click.option("--text-field", help="Column of the text.")
@topics_option
@epsilon_option
@repeats_option
@option("--sweeps", 200, "Gibbs sweeps of tomotopy.")
@option("--passes", 5, "Passes of gensim's LdaMulticore.")
@click.option("--peers/--no-peers", default=True, help="Fit tomotopy and gensim too.")
def fit(**options: Any) -> None:
    """The main job from raw text, beside tomotopy and gensim.

    Prints seconds, peak memory, coherence and diversity. CORPUS is anything that `dplda fit` reads. The peers protect
    nobody and get the counts of the words that dplda released, so tokenizing is not in their time. Takes about 6
    minutes for 100,000 reviews.
    """
    from benchmarks.main_job import measure

    measure(**options)


@cli.command()
@source_argument
@topics_option
@epsilon_option
@repeats_option
@click.option("--gensim/--no-gensim", default=True, help="Fit gensim too, which takes minutes.")
def speed(**options: Any) -> None:
    """Seconds of a fit from counts, beside tomotopy and gensim.

    The systems take turns. Prints the seconds of each stage of a private fit too. Takes about 15 minutes for 100,000
    reviews, 3 without gensim.
    """
    from benchmarks.speed import beside_peers

    beside_peers(**options)


@cli.command()
@list_option("--documents", "100000", int, "Documents of the corpora.")
@list_option("--words", "2000", int, "Words of the corpora.")
@list_option("--topics", "20", int, "Topics to plant and learn.")
@epsilon_option
def growth(**options: Any) -> None:
    """Seconds of a fit as the corpus grows.

    Fits planted corpora of all sizes asked for. Takes 5 s (100,000 documents, 2,000 words, 20 topics) to 20 minutes
    (1,000,000 documents, 100 topics) a size.
    """
    from benchmarks.speed import growth as measure

    measure(**options)


@cli.command()
@source_argument
@topics_option
@epsilon_option
def memory(**options: Any) -> None:
    """Peak memory of a fit, beside that of a fit of 100 documents.

    Takes about 20 s for 100,000 reviews.
    """
    from benchmarks.speed import memory as measure

    measure(**options)


@cli.command()
@click.argument("store", type=click.Path(path_type=Path))
@option("--documents", 8_200_000, "Documents to draw.")
@option("--words", 20_000, "Words.")
@option("--topics", 100, "Planted topics.")
def store(store: Path, documents: int, words: int, topics: int) -> None:
    """Write a planted corpus, for the commands that take a STORE.

    Documents have about 60 distinct words. Takes about a minute for each million.
    """
    from benchmarks.corpora import write_store

    write_store(store, documents, words, topics)


def store_fit(command: F) -> F:
    """A store, and the fit of it."""
    command = option("--vocabulary", 0, "First words that are a public vocabulary; 0: words are chosen.")(command)
    command = option("--words", 20_000, "Most words to choose privately.")(command)
    return store_argument(topics_option(command))


@cli.command()
@store_fit
@option("--device", DEVICES[0], "Where contributions are summed.", type=click.Choice(DEVICES))
def scale(store: Path, device: str, **asked: Any) -> None:
    """Seconds and memory of a fit of a large store.

    The store may be larger than memory. The fit runs in a process of its own. Memory leaves out mapped pages of the
    store. Takes about 10 minutes for 8,200,000 documents and 20 topics.
    """
    from benchmarks.scale import Fit, single

    single(store, Fit(**asked), device)


@cli.command()
@store_fit
@list_option("--workers", "1,2", int, "Numbers of one-thread workers.")
@click.option("--weak", is_flag=True, help="Give each worker as many documents as the largest number has.")
def cluster(store: Path, workers: list[int], weak: bool, **asked: Any) -> None:
    """Seconds of a fit on Dask clusters on this machine.

    The fit uses --engine dask on workers of one thread each. Fits the whole store on every number of workers (strong
    scaling), or with --weak as many documents for each worker. Takes about 5 minutes for 500,000 documents.
    """
    from benchmarks.scale import Fit
    from benchmarks.scale import cluster as measure

    measure(store, Fit(**asked), workers, weak)


@cli.command()
@planted_store
@option("--vocabulary", 0, "Use this many first words; 0: all.")
@list_option("--documents", "10000", int, "Numbers of first documents.")
@choices("--system", "systems", PEERS, "Systems to fit.")
@option("--sweeps", 200, "Sweeps of tomotopy, in steps of 25.")
@option("--limit", 240.0, "Seconds after which a system is stopped.")
def peers(**options: Any) -> None:
    """Seconds and topic error on planted counts, beside peers.

    The systems are dplda with and without noise, tomotopy and TensorLy. Each system is fitted in a process of its own.
    Takes about a minute for 10,000 documents and 20 topics, and 10 for 500,000.
    """
    from benchmarks.recovery import measure

    measure(**options)


@cli.command()
@planted_store
@option("--vocabulary", 5000, "First words to use.")
@option("--documents", 200_000, "First documents to use.")
@option("--repeats", 5, "Runs of each kernel; the best one counts.")
@option("--seconds", 1.0, "Seconds of one run of one kernel, about.")
def kernels(**options: Any) -> None:
    """Speed of each kernel, beside what a core can do.

    Prints the share of the machine's operations and bytes a second that a kernel reaches in one thread; the limits are
    measured just before. Takes about 2 minutes.
    """
    from benchmarks.kernels import measure

    measure(**options)


@cli.command()
@source_argument
@topics_option
@option("--repeats", 3, "Runs of each loop; tables show medians.")
def loops(**options: Any) -> None:
    """Speed of each kernel, beside a bare loop.

    The bare loop does the same multiply-adds and nothing else. Both run in one thread. Takes about 2 minutes for
    100,000 reviews.
    """
    from benchmarks.loops import measure

    measure(**options)


@cli.command()
@planted_store
@option("--vocabulary", 5000, "First words to use.")
@option("--documents", 200_000, "First documents to use.")
@option("--repeats", 5, "Runs of each kernel; the best one counts.")
@option("--part", 2000, "Documents that the CPU sums.")
def gpu(**options: Any) -> None:
    """Speed of each kernel on a GPU, beside the CPU.

    Prints the share of the GPU's operations and bytes a second too. Needs CuPy and a GPU. Takes some minutes. For whole
    fits: `scale STORE --device cuda`.
    """
    from benchmarks.gpu import measure

    measure(**options)


@cli.command()
@click.argument("corpus", type=click.Path(exists=True, path_type=Path))
@click.option("--text-field", help="Column of the text.")
@option("--language", "en", "Language of the tokenizers.")
@repeats_option
def tokens(**options: Any) -> None:
    """Seconds to count the words of texts, beside spaCy.

    Takes about 7 minutes for 100,000 reviews.
    """
    from benchmarks.tokens import measure

    measure(**options)


@cli.command()
@click.argument("corpora", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--text-field", help="Column of the text, in tables.")
@topics_option
@click.option("--epsilon", "epsilons", type=float, multiple=True, default=(2.0, 8.0), help="May be repeated.")
@option("--seeds", 3, "Fits of each; the table shows mean and spread.")
def tokenizers(**options: Any) -> None:
    """Quality of topics from the words of each tokenizer.

    Takes about 10 minutes for 100,000 reviews.
    """
    from benchmarks.tokenizers import measure

    measure(**options)


@cli.command()
@option("--megabytes", 200.0, "Size of each of the two files.")
@option("--repeats", 5, "Runs of each system; tables show medians.")
@file_option("--before", "An older checkout of dplda to measure too.", metavar="FOLDER")
def reading(**options: Any) -> None:
    """Seconds to read CSV, beside the csv module and pandas.

    Makes and reads two files, of long records with line breaks and of short ones. Takes about 8 minutes.
    """
    from benchmarks.reading import measure

    measure(**options)


@cli.command()
@file_option("--imdb", "Film reviews (.jsonl.gz with a `text`).", required=True)
@file_option("--news", "20 newsgroups (tar archive).", required=True)
@option("--seeds", 3, "Fits; the table shows medians.")
def plan(**options: Any) -> None:
    """What `dplda plan` foresees, beside what fits show.

    Compares noise, eigenvalues and topics above the noise on film reviews and 20 newsgroups. Takes about 4 minutes.
    """
    from benchmarks.plan import measure

    measure(**options)


@cli.command()
@option("--documents", 50_000, "Documents of the random counts.")
@option("--words", 2000, "Words.")
@option("--length", 60, "Distinct words of a document.")
@list_option("--columns", "1,10,25", int, "Columns of the iterate, or starts.")
@option("--block", 5000, "Documents of a block.")
@option("--rounds", 4, "Rounds of a method.")
@option("--repeats", 5, "Runs of each method; tables show medians.")
def power(**options: Any) -> None:
    """Speed of streaming power methods, beside bare products.

    The sparse products are those that a method cannot do without. Takes about a minute.
    """
    from benchmarks.power import measure

    measure(**options)


@cli.command()
@option("--dimension", 100, "Dimension d of the tensor.")
@option("--rank", 10, "Components k.")
@option("--noise", 0.002, "Standard deviation of the noise.")
@repeats_option
def tensor(**options: Any) -> None:
    """Seconds and error of tensor power methods, beside TensorLy's.

    All decompose the same planted tensor with noise. Takes about a minute.
    """
    from benchmarks.tensor import measure

    measure(**options)


@cli.command()
@option("--documents", 100_000, "Documents of the synthetic corpus.")
@option("--words", 2000, "Words, which count as public.")
@topics_option
@epsilon_option
@choices("--placement", "placements", SOUND, "Placements to measure.")
def placements(**options: Any) -> None:
    """Seconds and memory of a fit with each placement.

    Every fit is a `dplda fit` in a process of its own. Noise is exact. A placement that tests its data may end without
    topics, and says so in the last column. Takes about 10 minutes.
    """
    from benchmarks.placements import times

    times(**options)


@cli.command()
@click.option(
    "--synthetic", "synthetic_sizes", required=True, metavar="N,D,K[,LENGTH]", callback=listed(int),
    help="Documents, words, topics and mean length of the planted corpus.",
)  # fmt: skip
@choices("--placement", "placements", SPLIT, "Placements to measure.")
@list_option("--epsilons", "1,4", float, "Budgets.")
@option("--repeats", 5, "Runs of each cell; the table shows means.")
def splits(**options: Any) -> None:
    """Topic error for each split of a placement's budget.

    The budget (mu^2) is split between the tensor and the second moment. Prints the placement's own part and the part
    with the least bound by the paper as well. The paper splits epsilon, so that its noise goes with 1 / part: a part of
    mu^2 with the same noise is its square. Noise is simulated. Takes about 5 minutes for 50000,200,5.
    """
    from benchmarks.placements import splits as measure

    measure(**options)


@cli.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@file_option("--draw", "Draw a figure for each corpus into this folder.", metavar="FOLDER")
def compared(results: tuple[Path, ...], draw: Path | None) -> None:
    """Tables and figures of what `dplda compare` measured.

    RESULTS are files with the output of `dplda compare --json`. Takes seconds.
    """
    from benchmarks.compared import show

    show(results, draw)


@cli.command()
@results_option
@click.option("--part", type=click.Choice(AUDITED), help="Only this part.")
@option("--scale", 1.0, "Multiplies the number of runs.")
@draw_option
def audit(results: Path, part: str | None, scale: float, draw: Path | None) -> None:
    """Lower bounds on epsilon, by attacks on the mechanisms.

    Attacks the product, the product broken on purpose, and the published calibration. Plays what is missing and appends
    it to the results, so it can be interrupted. Takes about an hour.
    """
    from benchmarks.audit import bounds, report

    if draw is not None:
        report.audit(bounds.records(results), draw)
    else:
        bounds.measure(results, part, scale)


@cli.command()
@results_option
@option("--models", 96, "Shadow models of each system.")
@choices("--system", "systems", ATTACKED, "Systems to attack.")
@draw_option
def membership(results: Path, models: int, systems: tuple[str, ...], draw: Path | None) -> None:
    """Membership inference on released topics.

    Attacks the topics of dplda and of tomotopy. Fits the shadow models that are missing, each on a random half of the
    documents, and appends what each says of the targets. Takes about 20 minutes.
    """
    from benchmarks.audit import membership as module
    from benchmarks.audit import report
    from benchmarks.results import read

    if draw is not None:
        report.membership(read(results), draw)
    else:
        module.measure(results, models, systems)
