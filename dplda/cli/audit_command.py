"""`dplda audit`: attack the mechanisms and compare lower bounds on epsilon with the claims (`dplda.audit`).

`dplda audit attack` is the attack on released topics.


`dplda audit attack`: the membership attack on topics of a public corpus. See `dplda.audit.membership`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from dplda.base.config import NO_NOISE, RANGES, PrivacySettings, Range
from dplda.base.errors import InputError
from dplda.cli.console import following, print_json, say, table, write_file
from dplda.cli.options import (
    GroupedCommand,
    adjacency_option,
    corpus_argument,
    delta_option,
    find_prior,
    json_option,
    learning_options,
    ledger_option,
    prior_option,
    public_prior_option,
    public_vocabulary_option,
    public_words,
    quiet_option,
    read,
    reading_options,
)
from dplda.learning.settings import DEFAULTS, FitSettings
from dplda.model.topic_model import refuse_existing

if TYPE_CHECKING:
    from dplda.audit.games import Finding
    from dplda.audit.membership import Outcome
    from dplda.audit.replay import Replay
    from dplda.audit.shadow_models import System, Targets
    from dplda.base.progress import Progress
    from dplda.model.prior_topics import PriorTopics


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
@delta_option
@adjacency_option
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

    Then record each run on one of the corpora and replay it on the other with the same noisy values. The two runs must
    agree in everything else (queries, amounts of noise, charges, outputs), and their exact values may differ by no more
    than the charges cover. Anything else is a violation.

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
        _tell(findings, settings.delta, confidence)
        _tell_replays(replays)
    if refuted:
        say(f"dplda: refuted: {', '.join(refuted)}. More was shown than is claimed.", error=True, style="bold red")
    if violated:
        say(f"dplda: violated: {', '.join(violated)}. Two replayed runs differ.", error=True, style="bold red")
    return _REFUTED if refuted or violated else 0


def _tell(findings: list[Finding], delta: float, confidence: float) -> None:
    columns = ("audited", "runs", "claimed epsilon", "shown by definition", "if Gaussian", "of the claim", "refuted")
    table(columns, [_row(finding) for finding in findings])
    say(
        f"Shown: lower bounds on epsilon at delta {delta:g}, which hold together with confidence {confidence:.0%}. "
        "Bounds below the claim prove nothing; one above it refutes it."
    )


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


def _tell_replays(replays: list[Replay]) -> None:
    rows = [(one.name, str(one.queries), f"{one.share:.1%}", str(len(one.violations) or "none")) for one in replays]
    table(("replayed", "queries", "of the charge", "violations"), rows)
    for one in replays:
        for violation in one.violations:
            say(f"{one.name}: {violation}")
    say(
        "Of the charge: the largest difference that a query showed between these two corpora, as a part of the largest "
        "difference that it is charged for."
    )


_EXCEEDED = 5  # exit status
_MODELS = Range(low=8, high=1e6, unit="shadow models of each system", integer=True)
_CANARIES = Range(low=0, high=1e5, unit="canaries", integer=True)
_FIT = ("delta", "alpha0", "max_document_frequency")  # options that are parameters of each fit
_PERCENT = 100


@click.command(cls=GroupedCommand)
@corpus_argument
@click.option(
    "--public",
    is_flag=True,
    help="Declare CORPUS public: nothing in it is protected. Never use this for private text.",
)
@click.option(
    "--placement",
    "placements",
    multiple=True,
    metavar="NAME",
    default=(DEFAULTS.model.placement,),
    help="Attack this placement; may be repeated; none adds no noise.",
)
@click.option(
    "--epsilon",
    "epsilons",
    type=float,
    multiple=True,
    metavar="E",
    default=(8.0, 1.0),
    help="Attack each placement with this privacy budget (nats); may be repeated.",
)
@click.option("--ordinary", is_flag=True, help="Also attack ordinary LDA, without privacy, by tomotopy.")
@click.option(
    "--topics", "-k", "n_topics", type=int, metavar="K", default=DEFAULTS.model.topics, help="Number of topics."
)
@delta_option
@prior_option
@public_prior_option
@public_vocabulary_option
@learning_options
@click.option(
    "--models",
    "shadow_models",
    default=128,
    metavar="N",
    help="Shadow models of each system (a placement at an epsilon, or ordinary LDA), on random halves of CORPUS.",
)
@click.option(
    "--canaries",
    default=0,
    metavar="N",
    help="Also attack N added documents; each repeats one invented word, which no other document has, 12 times.",
)
@click.option("--seed", default=0, help="Seed of the halves and of the simulated noise.")
@click.option(
    "--results",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Keep each finished shadow model in this folder, and go on from those in it.",
)
@click.option(
    "--draw",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw the curves to this new SVG file.",
)
@partial(reading_options, without=("unit_field",))
@json_option
@quiet_option
@ledger_option
def attack(corpus: tuple[str, ...], as_json: bool, quiet: bool, ledger_path: Path | None, **options: Any) -> int:
    """Try to find the documents of public CORPUS from which topics were learned, as an attacker would.

    Shadow models learn topics from random halves of CORPUS. The attacker asks how likely a document is under the topics
    of one model, and compares this with other models, some of which learned from the document. The offline likelihood
    ratio uses only the models without the document, the online ratio uses both kinds. What is found is shown beside the
    most that any attack may find. Use public text like your private text.

    Nothing is charged: the noise is simulated. Exits with status 5 if more is found than the guarantee allows.
    """
    _check(options)
    source = read(corpus, options)
    if source.unit != "document":
        raise InputError(
            f"the attack is on single documents, and the unit of CORPUS is {source.unit!r}. "
            "Import it without --unit-field."
        )
    with following(quiet=as_json or quiet) as progress:
        facts, found = _attack(source, options, ledger_path, progress)
    if options["draw"] is not None:
        from dplda.audit.membership import attack_chart

        write_file(options["draw"], attack_chart(found).file("attack"))
    if as_json:
        print_json(facts | {"results": [record for outcome in found for record in outcome.to_json()]})
    else:
        _show(facts, found)
    exceeded = dict.fromkeys(outcome.system for outcome in found if outcome.exceeds)
    if exceeded:
        named = ", ".join(exceeded)
        say(f"dplda: refuted: {named}. More was found than the guarantee allows.", error=True, style="bold red")
    return _EXCEEDED if exceeded else 0


def _check(options: Mapping[str, Any]) -> None:
    """Refuse options before anything is read."""
    if not options["public"]:
        raise click.UsageError(
            "the attack does not protect CORPUS. If its text is public, say so with --public; never do so for private "
            "text, but take public text that is like it."
        )
    _MODELS.check("models", options["shadow_models"])
    _CANARIES.check("canaries", options["canaries"])
    RANGES["simulate_seed"].check("seed", options["seed"])
    for placement, epsilon in _cells(options):
        FitSettings.of(
            topics=options["n_topics"],
            placement=placement,
            epsilon=epsilon,
            max_vocabulary=options["max_vocabulary"],
            **{name: options[name] for name in _FIT},
        )
    if options["draw"] is not None:
        refuse_existing(options["draw"])
        if not options["draw"].absolute().parent.is_dir():
            raise InputError(f"the folder of {options['draw']} does not exist. Create it, or choose another file.")


def _cells(options: Mapping[str, Any]) -> list[tuple[str, float]]:
    """The placements with each epsilon; without noise, epsilon has no effect."""
    pairs = [
        (placement, epsilon)
        for placement in options["placements"]
        for epsilon in (options["epsilons"] if placement != NO_NOISE else options["epsilons"][:1])
    ]
    return list(dict.fromkeys(pairs))


def _attack(
    source: Any, options: dict[str, Any], ledger_path: Path | None, progress: Progress
) -> tuple[dict[str, Any], list[Outcome]]:
    """What was attacked, as plain JSON, and what was found."""
    from dplda.audit import shadow_models
    from dplda.audit.membership import outcomes

    words = public_words(options["vocabulary"], source)
    targets = shadow_models.find_targets(source, words, options["max_vocabulary"], options["canaries"], progress)
    known = targets.words[: len(targets.words) - targets.canaries]
    prior = find_prior(options, source, known, ledger_path, progress)
    if prior is not None and prior.places & source.places:
        raise InputError("the prior must not be learned from files of CORPUS. Give other public text as the prior.")
    systems = _systems(targets, options, prior)
    chosen = {"topics": options["n_topics"], **{name: options[name] for name in _FIT}}
    settings = shadow_models.settings_of(targets, options["seed"], prior, **chosen)
    results = shadow_models.Results(options["results"], settings)
    models = options["shadow_models"]
    try:
        said = shadow_models.train(systems, targets, models, options["seed"], results, progress)
    except KeyboardInterrupt as stop:
        kept = options["results"]
        stop.add_note(
            f"Finished shadow models are kept in {kept}: the same command goes on."
            if kept
            else "Nothing was kept: that takes --results FOLDER."
        )
        raise
    inside = targets.memberships(options["seed"], models)
    found = [
        outcome
        for system in systems
        for outcome in outcomes(system.name, said[system.name], inside, targets.canaries, system.statement)
    ]
    facts = {"documents": targets.counts.shape[0] - targets.canaries, "words": len(known), "models": models}
    return settings | facts, found


def _systems(targets: Targets, options: Mapping[str, Any], prior: PriorTopics | None) -> list[System]:
    from dplda.audit.shadow_models import dplda_system, ordinary_system

    topics, chosen = options["n_topics"], {name: options[name] for name in _FIT} | {"prior": prior}
    return [
        *([ordinary_system(topics)] if options["ordinary"] else []),
        *(
            dplda_system(targets, topics=topics, placement=placement, epsilon=epsilon, **chosen)
            for placement, epsilon in _cells(options)
        ),
    ]


def _show(facts: Mapping[str, Any], found: Sequence[Outcome]) -> None:
    columns = ["system", "targets", "ratio"]
    for one in found[0].detections:
        columns += [f"found at {_PERCENT * one.false_alarms:g} %", "limit"]
    table(columns, [_attack_row(outcome) for outcome in found])
    say(
        "Found: members among 100, at these rates of false alarms, with 95 % intervals; limit: the most that the "
        f"guarantee allows any attack. {facts['models']} shadow models with {facts['topics']} topics over "
        f"{facts['words']:,} words, each from a random half of {facts['documents']:,} documents; "
        f"delta {facts['delta']:g}."
    )


def _attack_row(outcome: Outcome) -> list[str]:
    cells = [outcome.system, outcome.targets, outcome.ratio]
    for one in outcome.detections:
        share, low, high = (f"{_PERCENT * share:.3g}" for share in (one.found, one.low, one.high))
        cells += [f"{share} ({low} to {high})", "" if one.limit is None else f"{_PERCENT * one.limit:.3g}"]
    return cells


audit.add_command(attack)
