"""`dplda audit attack`: the membership attack on topics of a public corpus. See `dplda.audit.membership`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dplda.base.config import RANGES, Range
from dplda.base.errors import InputError
from dplda.cli.console import following, print_json, say, table, write_file
from dplda.cli.options import (
    GroupedCommand,
    corpus_argument,
    find_prior,
    fit_option,
    fit_options,
    json_option,
    ledger_option,
    public_prior_option,
    public_words,
    quiet_option,
    read,
    reading_options,
)
from dplda.learning.placements.registry import NO_NOISE
from dplda.learning.settings import DEFAULTS, FitSettings
from dplda.model.topic_model import refuse_existing

if TYPE_CHECKING:
    from dplda.audit.membership import Outcome
    from dplda.base.progress import Progress

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
    help="Attack this placement; may be repeated. `none` adds no noise.",
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
@click.option("--ordinary", is_flag=True, help="Also attack ordinary LDA (tomotopy), without privacy.")
@click.option(
    "--topics", "-k", "n_topics", type=int, metavar="K", default=DEFAULTS.model.topics, help="Number of topics."
)
@fit_options("delta", "prior")
@public_prior_option
@fit_option(
    "vocabulary",
    help="A public word list, as for `dplda fit`; without it the words are those that most documents of CORPUS "
    "contain, up to --max-vocabulary of them.",
)
@fit_options("max_vocabulary", "max_document_frequency", "alpha0")
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
    help="Save each finished shadow model in this folder, and continue from those saved in it.",
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
    """Attack topics: do they reveal their documents?

    Shadow models learn topics from random halves of CORPUS, which must be public. The attacker compares the likelihood
    of a document under the topics of one model with its likelihood under other models, some of which learned from the
    document. The offline likelihood ratio uses only the models without the document, the online ratio uses both kinds.
    The share of members that is found is shown beside the largest share that the guarantee allows. Choose public text
    that resembles your private text.

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
    """Return the placements with each epsilon; without noise, epsilon has no effect."""
    pairs = [
        (placement, epsilon)
        for placement in options["placements"]
        for epsilon in (options["epsilons"] if placement != NO_NOISE else options["epsilons"][:1])
    ]
    return list(dict.fromkeys(pairs))


def _attack(
    source: Any, options: dict[str, Any], ledger_path: Path | None, progress: Progress
) -> tuple[dict[str, Any], list[Outcome]]:
    """Return what was attacked, as plain JSON, and what was found."""
    from dplda.audit import shadow_models
    from dplda.audit.membership import outcomes

    words = public_words(options["vocabulary"], source)
    targets = shadow_models.find_targets(source, words, options["max_vocabulary"], options["canaries"], progress)
    known = targets.words[: len(targets.words) - targets.canaries]
    prior = find_prior(options, source, known, ledger_path, progress)
    if prior is not None and prior.places & source.places:
        raise InputError("the prior must not be learned from files of CORPUS. Give other public text as the prior.")
    chosen = {"topics": options["n_topics"], **{name: options[name] for name in _FIT}}
    systems = [shadow_models.ordinary_system(options["n_topics"])] if options["ordinary"] else []
    for placement, epsilon in _cells(options):
        systems.append(shadow_models.dplda_system(targets, placement=placement, epsilon=epsilon, prior=prior, **chosen))
    settings = shadow_models.settings_of(targets, options["seed"], prior, **chosen)
    results = shadow_models.Results(options["results"], settings)
    models = options["shadow_models"]
    try:
        likelihoods = shadow_models.train(systems, targets, models, options["seed"], results, progress)
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
        for outcome in outcomes(system.name, likelihoods[system.name], inside, targets.canaries, system.statement)
    ]
    facts = {"documents": targets.counts.shape[0] - targets.canaries, "words": len(known), "models": models}
    return settings | facts, found


def _show(facts: Mapping[str, Any], found: Sequence[Outcome]) -> None:
    columns = ["system", "targets", "ratio"]
    for one in found[0].detections:
        columns += [f"found at {_PERCENT * one.false_alarms:g} %", "limit"]
    rows = []
    for outcome in found:
        cells = [outcome.system, outcome.targets, outcome.ratio]
        for one in outcome.detections:
            share, low, high = (f"{_PERCENT * share:.3g}" for share in (one.found, one.low, one.high))
            cells += [f"{share} ({low} to {high})", "" if one.limit is None else f"{_PERCENT * one.limit:.3g}"]
        rows.append(cells)
    table(columns, rows)
    say(
        "Found: members among 100, at these rates of false alarms, with 95 % intervals; limit: the most that the "
        f"guarantee allows any attack. {facts['models']} shadow models with {facts['topics']} topics over "
        f"{facts['words']:,} words, each from a random half of {facts['documents']:,} documents; "
        f"delta {facts['delta']:g}."
    )
