"""Commands that measure seconds and memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmarks.options import (
    PEERS,
    choices,
    cli,
    epsilon_option,
    file_option,
    kernels_of_store,
    list_option,
    option,
    planted_store,
    repeats_option,
    source_argument,
    store_fit,
    topics_option,
)
from dplda.base.config import DEVICES


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

    Fits planted corpora of all sizes asked for. Takes 5 s (100,000 documents, 2,000 words, 20 topics) to about a minute
    (1,000,000 documents, 100 topics) a size, and the time to draw the corpora.
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
@kernels_of_store
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
@kernels_of_store
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
@option("--megabytes", 200.0, "Size of each of the two files.")
@option("--repeats", 5, "Runs of each system; tables show medians.")
@file_option("--before", "An older checkout of dplda to measure too.", metavar="FOLDER")
def reading(**options: Any) -> None:
    """Seconds to read CSV, beside the csv module and pandas.

    Makes and reads two files, of long records with line breaks and of short ones. Takes about 8 minutes.
    """
    from benchmarks.reading import measure

    measure(**options)


@cli.command("gpu_check")
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@option("--seconds", 520.0, "Time for all of it; steps that do not fit are skipped.")
@list_option("--millions", "1,8,16", float, "Sizes of planted corpora, in millions of documents.")
@list_option("--topics", "20,100", int, "Topics to learn.")
@click.option("--install/--no-install", default=True, help="Install CuPy if it is missing.")
def gpu_check(out: Path, seconds: float, millions: list[float], topics: list[int], install: bool) -> None:
    """Whether dplda runs on this GPU, and how fast, in one go.

    Installs CuPy, runs the tests that compute on a GPU, and fits planted corpora on the GPU and on the CPU. What cannot
    run is skipped, and the reason is told: also on a machine without a GPU the command comes to its end. Writes
    OUT.json. Takes at most 9 minutes.
    """
    from benchmarks.gpu_check import measure

    measure(out, seconds, millions, topics, install)
