"""The command line `python scripts/reproduce`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

FIGURES = Path(__file__).resolve().parents[2] / "docs" / "figures"
PAPERS = {
    "noisy-power": "Hardt and Price 2014: streaming in the spiked covariance model, coherence.",
    "adaptive-power": "Nguyen, Ene and Nguyen, Table 1: adaptive power iteration against its rivals.",
    "moments": "DeCarolis et al.: bias of the moments, and their sensitivities.",
    "tensor-noise": "Wang and Anandkumar 2016, Figure 1: how much noise the robust method bears.",
    "tensor-online": "Wang and Anandkumar 2016, Theorem 3.1: online recovery against samples.",
    "tensor-private": "Wang and Anandkumar 2016, Theorem 4.2: private recovery of the first pair.",
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

if __name__ == "__main__":
    cli(prog_name="python scripts/reproduce")
