"""The command line: one command for each claim of the papers."""

from __future__ import annotations

import importlib
from pathlib import Path

import click

FIGURES = Path(__file__).resolve().parents[2] / "docs" / "figures"
PAPERS = {
    "noisy-power": "Hardt and Price: streaming, and coherence.",
    "adaptive-power": "Nguyen, Ene and Nguyen: Table 1, and its rivals.",
    "moments": "DeCarolis et al.: bias and sensitivity of moments.",
    "tensor-noise": "Wang and Anandkumar: Figure 1, robustness to noise.",
    "tensor-online": "Wang and Anandkumar: Theorem 3.1, samples needed.",
    "tensor-private": "Wang and Anandkumar: Theorem 4.2, epsilon needed.",
}


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Reproduce a claim of the papers: print its tables as Markdown and draw its figure for docs/papers.md.

    Each takes minutes to hours, or about a minute with --quick. Needs the extra `bench`: pip install -e '.[bench]'.
    """


def _command(name: str) -> click.Command:
    def run(quick: bool, seed: int, figure: Path) -> None:
        importlib.import_module(f"reproduce.{name.replace('-', '_')}").main(quick, seed, figure)

    return click.Command(
        name,
        callback=run,
        help=PAPERS[name],
        params=[
            click.Option(["--quick"], is_flag=True, help="Small sizes: a minute or so."),
            click.Option(["--seed"], default=0, show_default=True),
            click.Option(
                ["--figure"],
                type=click.Path(path_type=Path),
                default=FIGURES / f"papers-{name}.svg",
                help="File to draw; by default the one in docs/figures.",
            ),
        ],
    )


for name in PAPERS:
    cli.add_command(_command(name))
