"""The points of NIST SP 800-226 (*Evaluating Differential Privacy Guarantees*, 2025), and how a run meets each.

The points follow the pyramid of the guideline: its section 2 (parameters and unit), 3 (algorithms, utility, bias) and 4
(query and trust models, side channels, security, data collection), each with the pitfalls that it calls hazards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dplda.audit.answers import Answers
from dplda.budget.events import at_least
from dplda.report.facts import Facts
from dplda.report.pictures import number

_STRONG = 1.0  # largest epsilon that the guideline calls strong in most cases
_SUSPICIOUS = 1e-5  # least delta at which it calls a guarantee suspicious


class State(StrEnum):
    """The state of a point: met by the run, partly met, not met, left to the deployer, or answered by the deployer."""

    MET = "met"
    PARTLY = "partly met"
    NOT_MET = "not met"
    OPEN = "for the deployer to answer"
    ANSWERED = "answered by the deployer"


@dataclass(frozen=True)
class Point:
    """A point of the guideline."""

    section: int
    title: str
    wants: str
    """What the guideline wants."""
    shown: str
    """Where dplda shows what concerns it."""
    facts: Sequence[str] = ()
    """The names of the facts of a run that are about it."""
    asks: Sequence[str] = ()
    """The names of the questions that it asks the deployer."""
    judge: Callable[[Facts], tuple[State, str]] | None = None
    """Decides whether a run meets the point; without it, only the deployer can say."""

    def state(self, facts: Facts, answers: Answers) -> tuple[State, str]:
        """Return the state of the point, and why."""
        state, why = (State.OPEN, "") if self.judge is None else self.judge(facts)
        answered = self.asks and not answers.missing(self.asks)
        return (State.ANSWERED if state == State.OPEN and answered else state), why


def _met(why: str) -> Callable[[Facts], tuple[State, str]]:
    return lambda facts: (State.MET, why)


def _epsilon(facts: Facts) -> tuple[State, str]:
    quoted = facts.quoted
    text = f"Epsilon to quote: {at_least(quoted.epsilon)} ({quoted.covers})."
    if quoted.epsilon <= _STRONG:
        return State.MET, f"{text} The guideline calls up to 1 strong in most cases."
    return State.OPEN, f"{text} It is above 1, where the guideline wants reasons."


def _delta(facts: Facts) -> tuple[State, str]:
    delta, failures, units = facts.quoted.delta, facts.quoted.failures, facts.documents
    if not units or units < 1:
        elsewhere = (
            "is not known here"
            if facts.topics is not None
            else "is in the answers, if it was released, and not in this paper"
        )
        return State.OPEN, f"Delta is {delta:g}; the number of {facts.unit.many} {elsewhere}: compare it with 1/n^2."
    bound = 1 / units**2
    text = f"Delta is {delta:g}; 1/n^2 is {number(bound)} for the released n of {units:,} {facts.unit.many}."
    if delta <= bound:
        return State.MET, text
    if failures <= bound and delta <= _SUSPICIOUS:
        return State.PARTLY, (
            f"{text} Delta is larger, but comes from converting Gaussian noise, which does not fail outright; only "
            f"failure probabilities ({at_least(failures)} for all that epsilon covers) could, and are below 1/n^2."
        )
    return State.NOT_MET, f"{text} Delta is larger."


def _unit(facts: Facts) -> tuple[State, str]:
    if facts.unit.defined:
        return State.MET, "The unit is a person, or whatever the column names, with all documents."
    return State.OPEN, (
        "The unit is one document: say whether anybody wrote more than one, or more than one is about anybody."
    )


def _neighbours(facts: Facts) -> tuple[State, str]:
    if facts.replaced:
        return State.PARTLY, f"The number of {facts.unit.many} is not protected under replacement."
    return State.MET, f"The number of {facts.unit.many} is protected, too: it is released with noise."


def _budget(facts: Facts) -> tuple[State, str]:
    if facts.together is None:
        return State.NOT_MET, "No ledger was asked that knew the run. Write this paper with its ledger."
    recorded = f"all runs recorded under {facts.under}"
    if facts.together.guarantee.holds and not facts.together.unknown:
        return (
            State.MET,
            f"A total for {recorded} was in force before the first, and what they spent stays within it.",
        )
    return (
        State.NOT_MET,
        f"No total that was fixed before the first run holds for {recorded}.",
    )


def _readable(facts: Facts) -> tuple[State, str]:
    sure = "Numbers and" if facts.topics is None else "Each topic says how sure it is,"
    where = "" if facts.topics is None else " where a table has them"
    return State.MET, f"{sure} shares have intervals{where}, and no count is negative."


def _learning(facts: Facts) -> tuple[State, str]:
    learned = "No model is learned" if facts.topics is None else "All releases of the training are charged"
    return State.MET, f"{learned}; what was given as public is named among what is not protected."


POINTS = (
    Point(
        2,
        "Privacy parameter epsilon",
        "Epsilon is small, and its choice is justified; large values may protect nobody.",
        facts=("strength", "total"),
        shown="report: summary, and How sure an attacker may become; `dplda runs show`; docs/choosing-epsilon.md",
        asks=("epsilon_choice",),
        judge=_epsilon,
    ),
    Point(
        2,
        "Privacy parameter delta",
        "Delta is far below one over the number of people, best below its square, so that no complete failure is to be "
        "expected.",
        shown="report: Privacy; docs/privacy.md, section 4",
        judge=_delta,
    ),
    Point(
        2,
        "Variants of differential privacy",
        "All parameters of the original variant are reported, so that others can convert them.",
        facts=("composition",),
        shown="report: What auditors ask; `dplda runs show --json` lists every event",
        judge=_met("Rho, mu, epsilon, delta and every event are reported."),
    ),
    Point(
        2,
        "Unit of privacy",
        "The unit is a person with all contributions unless there are reasons; smaller units may protect nobody.",
        facts=("protected",),
        shown="report: summary, and What is covered; docs/people.md",
        asks=("collection", "epsilon_choice"),
        judge=_unit,
    ),
    Point(
        2,
        "Bounded or unbounded neighbours",
        "It is said whether neighbours differ by one unit added or replaced; the first also protects their number.",
        facts=("neighbours", "domain"),
        shown="report: How sure an attacker may become; docs/privacy.md, section 0",
        judge=_neighbours,
    ),
    Point(
        2,
        "Composition and budget",
        "There is an upper bound on the loss of all analyses of the data together.",
        facts=("total", "duration"),
        shown="report: summary; `dplda budget show`; docs/ledger.md",
        asks=("later_runs",),
        judge=_budget,
    ),
    Point(
        2,
        "Comparing guarantees",
        "Guarantees are compared at the same unit, delta and variant only.",
        facts=("against",),
        shown="report: What auditors ask; docs/choosing-epsilon.md",
        judge=_met("Unit, neighbours, epsilon, delta and rho are stated together."),
    ),
    Point(
        2,
        "Mixing with other releases",
        "Other releases about the same people, private or not, are taken into account.",
        facts=("others",),
        shown="report: What is covered; `dplda runs`; docs/threat-model.md",
        asks=("other_releases",),
        judge=lambda facts: (State.OPEN, "What dplda did not release is not covered by any of its numbers."),
    ),
    Point(
        2,
        "Auditing and empirical measures",
        "Attacks and audits supplement proofs and do not replace them.",
        facts=("verify",),
        shown="docs/audit.md, docs/privacy.md",
        judge=_met("Mechanisms are proved, and attacked besides; an audit can refute a claim and never prove it."),
    ),
    Point(
        3,
        "Algorithms and correctness",
        "Mechanisms and their sensitivities are stated and proved, and come from well-tested libraries.",
        facts=("mechanisms", "implementation"),
        shown="report: budget by stage; docs/privacy.md, sections 2 to 5; `dplda software`",
        judge=_met(
            "Every planned release is listed with its noise, also those that the run did not need; noise and numerical "
            "accounting come from OpenDP and dp_accounting."
        ),
    ),
    Point(
        3,
        "Bounding contributions",
        "What a unit can contribute is bounded, and bounds are not read off the data.",
        facts=("reading",),
        shown="docs/privacy.md, sections 2 and 2.1",
        judge=_met(
            "Every contribution is bounded; a bound that depends on the documents is chosen privately and charged."
        ),
    ),
    Point(
        3,
        "Utility and accuracy",
        "The error is measured, and is acceptable for the use.",
        shown="report: verdicts of topics, signal over noise; `dplda tabulate` for intervals; `dplda evaluate`; "
        "`dplda plan`",
        asks=("accuracy",),
    ),
    Point(
        3,
        "Systemic bias",
        "Noise harms small groups more than large ones; readers know, and it is acceptable.",
        facts=("rare",),
        shown="report: summary; docs/how-much-text.md",
        asks=("small_groups",),
    ),
    Point(
        3,
        "Human bias",
        "Readers know how to read noisy numbers.",
        shown="report: verdicts and explanations beside each picture; docs/reading-a-report.md",
        judge=_readable,
    ),
    Point(
        3,
        "Statistical bias",
        "Post-processing that biases numbers is named.",
        facts=("post_processing",),
        shown="report: What auditors ask",
        judge=_met("Named below."),
    ),
    Point(
        3,
        "Machine learning",
        "A model that is learned privately memorises no record; public data may help and are named.",
        facts=("chosen",),
        shown="report: What is covered; docs/privacy.md, sections 3 and 9.9; docs/audit.md",
        judge=_learning,
    ),
    Point(
        3,
        "Unstructured data",
        "In text it is hard to say whose data a document holds; the unit must still be meaningful.",
        facts=("unprotected",),
        shown="report: What is covered; docs/people.md",
        asks=("data_subjects",),
    ),
    Point(
        4,
        "Query model",
        "Queries are fixed beforehand, or a budget guards an interactive system.",
        facts=("data",),
        shown="`dplda fit --dry-run`; docs/ledger.md",
        judge=_met("Releases are planned before the data are read; readers receive files and cannot query."),
    ),
    Point(
        4,
        "Trust model",
        "It is said who must be trusted, and it fits the real world.",
        facts=("trust", "actors"),
        shown="report: What auditors ask; docs/threat-model.md",
        asks=("trust", "audience"),
    ),
    Point(
        4,
        "Side channels: floating-point numbers",
        "Noise and sums do not leak through the rounding of floating-point numbers.",
        shown="docs/privacy.md, section 5",
        judge=_met("Sums are exact integers, and noise is drawn from exact discrete distributions."),
    ),
    Point(
        4,
        "Side channels: time, errors, backend",
        "Times, error messages and the machine below leak nothing to those who are not trusted.",
        facts=("side_channels",),
        shown="docs/privacy.md, section 9.6; docs/threat-model.md",
        judge=_met("Only the curator can see them."),
    ),
    Point(
        4,
        "Tuning of hyperparameters",
        "Settings were chosen without the data, or within the budget.",
        facts=("tuning",),
        shown="report: What auditors ask; `dplda runs`",
        asks=("preparation", "settings_choice"),
    ),
    Point(
        4,
        "Data security and access control",
        "Raw data are secured: a breach of them undoes any guarantee.",
        shown="docs/threat-model.md, local files",
        asks=("raw_data",),
    ),
    Point(
        4,
        "Data collection exposure",
        "No more is collected and kept than the purpose needs.",
        shown="nowhere: dplda reads what exists",
        asks=("purpose", "necessity", "retention"),
    ),
)
SECTIONS = {
    2: "The guarantee (top of the pyramid)",
    3: "Algorithms, utility and bias (middle)",
    4: "Deployment (base)",
}
ASKED = tuple(dict.fromkeys(name for point in POINTS for name in point.asks))


def judge_points(facts: Facts, answers: Answers) -> list[tuple[Point, State, str]]:
    """List each point with its state and the reason for it."""
    return [(point, *point.state(facts, answers)) for point in POINTS]


def counts(points: Sequence[tuple[Point, State, str]]) -> dict[str, int]:
    """Count the points in each state that occurs."""
    states = [state for _, state, _ in points]
    return {str(state): states.count(state) for state in State if state in states}
