"""`dplda audit`: attack the mechanisms and compare lower bounds on epsilon with the claims (`dplda.audit`).

`dplda audit attack` is the attack on released topics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from dplda.base.config import PrivacySettings, Range
from dplda.base.errors import InputError
from dplda.cli.attack_command import attack
from dplda.cli.console import following, print_json, say, table
from dplda.cli.options import fit_options, json_option, quiet_option

if TYPE_CHECKING:
    from dplda.audit.games import Finding
    from dplda.audit.replay import Replay

_REFUTED = 5  # exit status
_DEFAULT_RUNS = 1000
_RUNS_PER_PLACEMENT_RUN = 10  # a placement takes much longer than a mechanism, so it runs less often
_RUNS = Range(low=100, high=1e9, unit="runs on each of two corpora", integer=True)
_CONFIDENCE = Range(low=0.5, high=1.0, unit="probability", open_high=True)


@click.group(invoke_without_command=True)
@click.option(
    "--placement",
    "placements",
    multiple=True,
    metavar="NAME",
    help="Audit this placement only; may be repeated [all placements, and every mechanism by itself].",
)
@click.option(
    "--epsilon",
    default=8.0,
    help="Claimed epsilon (nats) of each audited mechanism and placement; a larger claim needs fewer runs to test.",
)
@fit_options("delta", "adjacency")
@click.option(
    "--runs",
    default=_DEFAULT_RUNS,
    metavar="N",
    help="Runs of each mechanism on each corpus; each placement gets a tenth of them.",
)
@click.option("--confidence", default=0.95, help="Joint confidence level of all lower bounds.")
@click.option(
    "--simulate", is_flag=True, help="Use seeded noise instead of exact noise; it is faster and reproducible."
)
@click.option("--seed", type=int, help="Seed of the simulated noise [0].")
@json_option
@quiet_option
@click.pass_context
def audit(
    context: click.Context,
    /,
    placements: tuple[str, ...],
    runs: int,
    confidence: float,
    simulate: bool,
    seed: int | None,
    as_json: bool,
    quiet: bool,
    **claim: Any,
) -> int | None:
    """Try to distinguish two neighbouring corpora from released outputs better than the claimed epsilon allows.

    The audit also records each run on one of the corpora, and replays it on the other with the same noisy values. The
    two runs must agree in everything else (queries, amounts of noise, charges, outputs), and their exact values may
    differ by no more than the charges cover. Anything else is a violation.

    The corpora are synthetic and chosen to be easy to distinguish. Nothing private is read, no budget is spent and no
    file is written. An audit can refute a claim but never prove one. Exits with status 5 if it refutes a claim or finds
    a violation.
    """
    if context.invoked_subcommand is not None:
        for name in context.params:
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise click.UsageError(
                    f"give options of the attack behind its name: audit {context.invoked_subcommand}."
                )
        return None
    settings = PrivacySettings(**claim)
    _RUNS.check("runs", runs)
    _CONFIDENCE.check("confidence", confidence)
    if seed is not None and not simulate:
        raise InputError("--seed is for simulated noise. Add --simulate, or leave it out.")
    from dplda.audit.catalogue import FEW_DOCUMENTS, PLACEMENT_RUNS, mechanism_games, other_neighbours, placement_game
    from dplda.audit.games import noise_of, play
    from dplda.audit.replay import replay

    noise = noise_of((seed or 0) if simulate else None)
    mechanisms = [] if placements else list(mechanism_games(settings))
    chosen = (*placements, FEW_DOCUMENTS) if "default" in placements else placements or PLACEMENT_RUNS
    runs_of = [placement_game(name, settings) for name in chosen]
    games = [(game, runs) for game in mechanisms] + [(game, runs // _RUNS_PER_PLACEMENT_RUN) for game in runs_of]
    with following(quiet=as_json or quiet) as progress:
        findings = list(play(games, noise, progress, confidence))
        progress.start("replay")
        replayed = [*mechanisms, *runs_of, *(other for game in runs_of for other in other_neighbours(game))]
        replays = [replay(game, seed or 0) for game in replayed]
    refuted = [finding.name for finding in findings if finding.refuted]
    violated = [one.name for one in replays if one.violations]
    if as_json:
        record = {"adjacency": settings.adjacency, "confidence": confidence, "exact_noise": noise.private}
        print_json(
            record
            | {"refuted": bool(refuted), "findings": [finding.to_json() for finding in findings]}
            | {"violated": bool(violated), "replays": [one.to_json() for one in replays]}
        )
    else:
        bounds = ("shown by definition", "if Gaussian", "of the claim")
        columns = ("audited", "runs", "claimed epsilon", *bounds, "refuted")
        table(columns, [_row(finding) for finding in findings])
        say(
            f"Shown: lower bounds on epsilon at delta {settings.delta:g}, which hold together with confidence "
            f"{confidence:.0%}. Bounds below the claim prove nothing; one above it refutes it."
        )
        _show_replays(replays)
    if refuted:
        say(f"dplda: refuted: {', '.join(refuted)}. More was shown than is claimed.", error=True, style="bold red")
    if violated:
        say(f"dplda: violated: {', '.join(violated)}. Two replayed runs differ.", error=True, style="bold red")
    return _REFUTED if refuted or violated else 0


def _row(finding: Finding) -> tuple[str, ...]:
    claim, shown = finding.claim, finding.shown
    return (
        finding.name,
        f"2 x {finding.runs:,}",
        f"{claim.epsilon:.3g}",
        f"{shown.epsilon:.2f}",
        f"{shown.gaussian:.2f}",
        f"{max(shown.epsilon, shown.gaussian) / claim.epsilon:.0%}",
        "REFUTED" if finding.refuted else "no",
    )


def _show_replays(replays: list[Replay]) -> None:
    rows = [(one.name, str(one.queries), f"{one.share:.1%}", str(len(one.violations) or "none")) for one in replays]
    table(("replayed", "queries", "of the charge", "violations"), rows)
    for one in replays:
        for violation in one.violations:
            say(f"{one.name}: {violation}")
    say(
        "Of the charge: the largest difference that a query showed between these two corpora, as a part of the largest "
        "difference that it is charged for."
    )


audit.add_command(attack)
