"""Questions that only the deployer of a run can answer, and the file with the answers.

The forms for those who approve a run (`dplda.audit.compliance_forms`) ask these questions by name.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from dplda.base.characters import without_markup
from dplda.base.errors import InputError
from dplda.report.pictures import shown
from dplda.text.word_files import read_mapping

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_HINT = "Write one line for each answer, such as: purpose: to plan the opening hours of the clinic"


@dataclass(frozen=True)
class Question:
    """A question to the deployer of a run."""

    name: str
    asks: str
    """What to write as the answer."""
    kind: Literal["text", "list", "date"] = "text"
    """The answer is a text, one text or a list of texts, or a date such as 2026-03-31."""
    choices: Sequence[str] = ()
    """The possible answers; empty if any text will do."""

    @property
    def line(self) -> str:
        """A line that the deployer completes in the file of answers."""
        return f"{self.name}:  # {self.asks}"

    def answer(self, given: Any) -> str | list[str]:
        """Return the answer that `given` stands for, without HTML. Raises `InputError` if it cannot be one."""
        if self.kind == "list":
            listed = [given] if isinstance(given, str) else given
            if not isinstance(listed, list) or not all(isinstance(each, str) and each.strip() for each in listed):
                raise InputError(f"the answer {self.name} must be a text or a list of texts: {self.asks}.")
            return [without_markup(shown(each.strip())) for each in listed]
        wanted = "a text"
        if self.kind == "date":
            wanted = "a date such as 2026-03-31"
            if isinstance(given, datetime.date):  # YAML reads dates as such
                given = given.isoformat()
        if not isinstance(given, str):
            raise InputError(f"the answer {self.name} must be {wanted}, not {type(given).__name__}: {self.asks}.")
        given = given.strip()
        if self.choices and given not in self.choices:
            raise InputError(f"the answer {self.name} must be one of: {', '.join(self.choices)}.")
        text = "\n".join(without_markup(shown(line)) for line in given.splitlines())
        if self.kind == "date":
            try:
                datetime.date.fromisoformat(text)
                valid = _DATE.fullmatch(text) is not None
            except ValueError:
                valid = False
            if not valid:
                raise InputError(f"the answer {self.name} must be {wanted}.")
        return text


QUESTIONS = {
    question.name: question
    for question in (
        Question("curators", "the organisations that publish the results", "list"),
        Question("authors", "who fills in and answers for this paper", "list"),
        Question("contact", "name, office and e-mail of somebody who answers questions"),
        Question("purpose", "what the results are used for"),
        Question("region", "which region the text is about, and whose law applies"),
        Question("publication_date", "when the results are first published, as YYYY-MM-DD", "date"),
        Question(
            "sector",
            "the sector, one of Technology, Healthcare, Education, Government, Energy, Finance",
            choices=("Technology", "Healthcare", "Education", "Government", "Energy", "Finance"),
        ),
        Question("sources", "links to the report and to texts about this publication, or: none"),
        Question("collection", "what the documents are, who wrote them, where and when, and how they were collected"),
        Question("preparation", "what was done to the documents before dplda read them, and what was looked at"),
        Question("epsilon_choice", "why this epsilon, delta and unit, and who decided"),
        Question(
            "settings_choice", "why these topics, words, categories or groups, and on which data settings were tried"
        ),
        Question("audience", "who may see the results, and under which terms"),
        Question("raw_data", "who holds documents and ledger, where, who has access, and how they are secured"),
        Question("trust", "why those who hold the documents and run dplda may be trusted"),
        Question("other_releases", "what else is published about these documents or people, private or not, or: none"),
        Question("later_runs", "which further runs are planned, whether data grow, and what happens to the total"),
        Question("accuracy", "how accurate the results must be for their use, and how that was judged"),
        Question("small_groups", "which groups may be too small to be seen, and how readers are warned"),
        Question("legal_basis", "the legal basis (GDPR Art. 6, and Art. 9 for special categories)"),
        Question("data_categories", "which personal data the documents hold, special categories among them"),
        Question(
            "data_subjects",
            "who the people are, about how many (an exact number is not protected), and whether they are vulnerable",
        ),
        Question("recipients", "processors, recipients and transfers to third countries, or: none"),
        Question("retention", "how long documents, prepared stores, ledger and results are kept"),
        Question("necessity", "why the purpose needs these documents, and why less would not do"),
        Question("rights", "how people are informed, and how they use their rights"),
        Question("consultation", "the advice of the data protection officer, and the views of the people concerned"),
        Question("other_risks", "further risks to people, and how likely and severe they are"),
        Question("other_measures", "further measures against the risks, and who is responsible"),
        Question("decision", "which risk remains, who accepts it, and when the assessment is reviewed"),
    )
}


@dataclass(frozen=True)
class Answers:
    """Answers by the names of `QUESTIONS`."""

    given: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Answers:
        """Read answers from a YAML or JSON file. Raises `InputError` for an unknown name or a wrong kind of answer."""
        found = read_mapping(path, _HINT, "name")
        answers = {}
        for name, given in found.items():
            if name not in QUESTIONS:
                close = get_close_matches(str(name), QUESTIONS, 1)
                meant = f"Did you mean {close[0]}?" if close else f"Known are: {', '.join(QUESTIONS)}."
                raise InputError(f"{path} answers {shown(name)!r}, which nobody asks. {meant}")
            if given is None or given in ("", []):
                continue  # a question that is still open
            try:
                answers[name] = QUESTIONS[name].answer(given)
            except InputError as error:
                raise InputError(f"{path}: {error}") from None
        return cls(answers)

    def missing(self, names: Iterable[str]) -> list[Question]:
        """List those of the named questions that have no answer yet."""
        return [QUESTIONS[name] for name in names if name not in self.given]

    def text(self, name: str) -> str:
        """Return the answer to the question `name`, or a placeholder that says what to write."""
        given = self.given.get(name, f"TO BE FILLED IN ({name}): {QUESTIONS[name].asks}.")
        return ", ".join(given) if isinstance(given, list) else str(given)
