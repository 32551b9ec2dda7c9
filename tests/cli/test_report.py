from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from handmade import make_model, with_facts
from ledger_helpers import DEFAULT_TOTAL, gaussian, interrupt, sample, spend

from dplda.base.config import DEFAULT_GRANT, PrivacySettings
from dplda.budget import Ledger, Reservation
from dplda.budget.accountant import capacity
from dplda.budget.sketches import Fingerprint
from dplda.model import TopicModel
from dplda.model.topic_model import load
from dplda.report import write_report
from dplda.report.pictures import percent
from dplda.report.promise import success_under_filter


@pytest.mark.usefixtures("without_charts")
def test_a_run_is_reported_by_its_id_into_the_file_named(dplda, saved: str, home: Path) -> None:
    answer = dplda("report", saved[:-2], "--output", home / "r.html")
    assert answer.status == 0, answer.err
    assert "r.html" in answer.out
    page = (home / "r.html").read_text(encoding="utf-8").split("</main>")[0]
    assert "w000" in page
    assert "1.234" not in page, "the seconds of a run are private"


def text_of(page: Path) -> str:
    return " ".join(page.read_text(encoding="utf-8").split("<header>")[1].split("<footer>")[0].split())


def second_run() -> str:
    """Record another run of `reviews`, which ended without a model."""
    reservation = Ledger().reserve(
        dataset="reviews",
        unit="document",
        privacy=PrivacySettings(epsilon=1.0),
        events=make_model().privacy.events,
        parameters={},
        sound=True,
    )
    reservation.abandon("cancelled", "interrupted")
    return reservation.run


@pytest.mark.usefixtures("without_charts")
def test_what_is_guaranteed_of_all_runs_is_on_the_page_where_the_ledger_knows(dplda, saved: str, home: Path) -> None:
    model = make_model()
    replace(model, facts=replace(model.facts, run=saved, dataset="reviews")).save(home / "m")
    assert dplda("report", home / "m").status == 0
    assert f"the guarantee is the whole grant: {DEFAULT_TOTAL}" in text_of(home / "report.html")
    assert "It is the only run recorded under the name <bdi>reviews</bdi>" in text_of(home / "report.html")
    assert dplda("report", home / "m", home / "m", "--title", "Once", "-o", home / "once.html").status == 0
    second_run()
    assert dplda("report", home / "m", "--output", home / "two.html").status == 0
    assert "This holds for the 2 runs recorded under the name <bdi>reviews</bdi> together" in text_of(home / "two.html")
    assert "epsilon = {:g} and delta = {:g}".format(*DEFAULT_GRANT) in text_of(home / "two.html")
    write_report(load(home / "m"), home / "python.html")
    assert (home / "python.html").read_text() == (home / "two.html").read_text(), "the default ledger is asked"
    write_report(load(home / "m"), home / "python.html")
    assert (home / "python.html").read_text() == (home / "two.html").read_text(), "the default ledger is asked"
    assert dplda("budget", "grant", "reviews", "--epsilon", 20, "--delta", "1e-5").status == 0
    assert dplda("report", home / "m", "--output", home / "again.html").status == 0
    assert "was chosen after looking" in text_of(home / "again.html")
    for name in ("ledger.db", "ledger.db.key"):
        (home / name).unlink()
    assert dplda("report", home / "m", "--output", home / "alone.html").status == 0
    assert "no ledger knew the run:" in text_of(home / "alone.html")
    assert not (home / "ledger.db").exists()


@pytest.mark.usefixtures("without_charts")
def test_a_run_that_the_ledger_does_not_know_is_not_covered_by_what_it_guarantees(
    dplda, saved: str, home: Path
) -> None:
    second_run()
    for run in (saved, "reviews-elsewhere"):
        model = make_model(seed=len(run))
        with_facts(model, run=run, dataset="reviews").save(home / run)
    assert dplda("report", home / saved, home / "reviews-elsewhere").status == 0
    assert "The ledger does not know 1 of the 2 runs" in text_of(home / "report.html")
    assert "recorded under the name" not in text_of(home / "report.html").split("What is covered")[0]


@pytest.mark.usefixtures("without_charts")
def test_a_page_of_two_collections_has_the_guarantee_that_the_ledger_knows(dplda, saved: str, home: Path) -> None:
    for folder, run in (("m", saved), ("n", second_run())):
        with_facts(make_model(), run=run, dataset="reviews").save(home / folder)
    assert dplda("contrast", "./m", "./n", "--output", "page.html").status == 0
    page = text_of(home / "page.html")
    assert "No ledger knew" not in page
    assert "This holds for the 2 runs recorded under the name <bdi>reviews</bdi> together" in page


@pytest.mark.usefixtures("without_charts")
@pytest.mark.full
@pytest.mark.filterwarnings("error::dplda.base.errors.SharedDocumentsWarning")  # it must not end a run
def test_a_report_counts_its_own_name_and_its_maker_is_told_of_others(dplda, home: Path) -> None:
    """Which names share documents is not for the page; that other names may, and who can see it, is."""
    assert dplda("corpus", "sample", "s", "--documents", 1500).status == 0
    for name in ("a", "b"):
        if name == "b":
            assert dplda("budget", "grant", "b", "--epsilon", 5, "--delta", 1e-5).status == 0
        words = ("--vocabulary", "english:3000", "--tokenizer", "fast", "--unit", "document", "--quiet")
        fit = dplda("fit", "s/sample.jsonl.gz", "--dataset", name, "--topics", 2, "--epsilon", 2, *words)
        assert fit.status == 0, fit.err
        assert ("Recognised (exact, not for publication): the documents of b" in " ".join(fit.err.split())) == (
            name == "b"
        )
    shown = " ".join(dplda("budget", "show", "b").out.split())
    assert "the largest grant of the names that share documents" in shown
    assert f"of those in force before the first output: {DEFAULT_TOTAL}" in shown
    assert "a report states what is recorded under this name alone (epsilon 5 at delta 1e-05)" in shown
    reported = dplda("report", "b", "-o", "b.html")
    assert f"With the other names it is {DEFAULT_TOTAL}: tell its readers" in " ".join(reported.err.split())
    page = text_of(Path("b.html"))
    assert "It is the only run recorded under the name <bdi>b</bdi>" in page
    assert "Runs on the same documents under other names are not counted: with them, the total may be larger" in page
    assert DEFAULT_TOTAL not in page
    assert "shares documents with b, whose 1 run is not counted here" in dplda("report", "a", "-o", "a.html").err


def report_with(dplda, reservation: Reservation, *names: str) -> tuple[str, str]:
    """The page about a run and the names of `same_text`, and what its maker is told; no page where it is refused."""
    model, page = make_model(), Path("page.html")
    if not Path(reservation.run).exists():
        with_facts(model, run=reservation.run, dataset=reservation.run.rpartition("-")[0]).save(reservation.run)
    page.unlink(missing_ok=True)
    told = dplda("report", reservation.run, "-o", page, *(each for name in names for each in ("--same-text", name)))
    assert (told.status == 0) == page.exists()
    return text_of(page) if page.exists() else "", told.err


LITTLE = [gaussian(mu_squared=0.05)]


@pytest.mark.usefixtures("without_charts")
@pytest.mark.parametrize(("first", "later"), [("a", "b"), ("b", "a")])
def test_names_of_the_same_documents_share_the_largest_total_of_any(dplda, home: Path, first: str, later: str) -> None:
    """It was stated at the later name's total, which may have been chosen by what the earlier one showed."""
    ledger = Ledger()
    ledger.grant(first, 4.0, 1e-3, listed=[8.0])
    runs = {first: spend(ledger, first, events=LITTLE)}
    ledger.grant(later, 4.0, 1e-5)
    runs[later] = spend(ledger, later, events=LITTLE)
    page, told = report_with(dplda, runs["b"], "a", "a", "b")
    largest = "The total of these names together is epsilon 8 at delta 0.001: the largest that was fixed for one"
    assert (told == "") == (first == "b")
    assert told == "" or largest in " ".join(told.split())
    assert "This holds for the 2 runs recorded under the names <bdi>b</bdi> and <bdi>a</bdi> together" in page
    assert "differentially private with epsilon = 8 and delta = 0.001, each the largest set or listed for one" in page
    odds = percent(success_under_filter(8.0, 1e-3), upwards=True)
    released = "everything that all runs within epsilon 8 may release (2 are recorded so far)"
    assert f"guesses from {released} is right at most <strong>{odds}" in page
    assert f"The grant in force for {first} is epsilon 4, delta 0.001 (set" in page
    assert f"The grant in force for {later} is epsilon 4, delta 1e-05 (set" in page
    assert "recorded 2 runs under the names b and a, this one among them" in page
    assert "Not counted are runs under yet other names" in page
    assert "Levels listed before" not in page
    assert "fixed before the first of them" not in page


@pytest.mark.usefixtures("without_charts")
def test_names_that_lose_their_total_by_a_stopped_run_say_so(dplda, home: Path) -> None:
    """`budget show` states a total for either name, so that its absence on their page needs a reason."""
    ledger = Ledger()
    whole = capacity(4.0, 1e-5).mu_squared
    for name in ("a", "b"):
        ledger.grant(name, 4.0, 1e-5)
    run = spend(ledger, "a", events=[gaussian(mu_squared=0.3 * whole)])
    spend(ledger, "b", events=LITTLE)
    interrupt(ledger, "b", events=[gaussian("size", 0.001), gaussian(mu_squared=0.6 * whole)])
    spend(ledger, "a", events=[gaussian(mu_squared=0.2 * whole)])
    told = report_with(dplda, run, "b")[1]
    assert "Datasets a, b (exact, not for publication): the page states no total of them, since" in told


def test_no_total_is_stated_for_several_names_of_which_one_is_a_series(dplda, home: Path) -> None:
    """Documents were in three batches, one declared; and a copy of all batches may hold more than one pays for."""
    ledger, weeks = Ledger(), []
    small = capacity(4.0, 1e-6).mu_squared
    ledger.grant("weekly", 4.0, 1e-6)
    for week in range(3):
        documents = [*range(450), *range(1000 * week + 1000, 1000 * week + 1550)]
        name, most = Fingerprint(f"week {week}", sample(documents)), [gaussian(mu_squared=0.9 * small)]
        weeks.append(spend(ledger, "weekly", name, batch=f"w{week}", events=most))
        ledger.grant("weekly", 12.0, 1e-6)
    copy = spend(ledger, "b", Fingerprint("copy", sample([*range(450), *range(1000, 1500)])), events=LITTLE)
    for run, other in ((weeks[0], "b"), (copy, "weekly")):
        page, told = report_with(dplda, run, other)
        assert (page, told.count("\n")) == ("", 1)
        assert "'weekly' is a series" in told
    _, told = report_with(dplda, weeks[0])
    assert "Documents were seen in 3 (exact, not for publication)" in told
    assert "--same-text" not in told, "it would be refused"


@pytest.mark.usefixtures("without_charts")
def test_names_that_are_unknown_or_too_few_are_refused_with_the_reason(dplda, home: Path) -> None:
    ledger = Ledger()
    runs = {}
    for name, epsilon in (("c", 20.0), ("b", 2.0), ("a", 2.0)):
        ledger.grant(name, epsilon, 1e-5)
        runs[name] = spend(ledger, name, events=LITTLE)
    spend(ledger, "other", "g", events=LITTLE)
    _, told = report_with(dplda, runs["b"], "other")
    assert "knows of no document that 'other' shares with 'b' (exact, not for publication)" in told
    _, told = report_with(dplda, runs["b"], "a")
    assert "(epsilon 2 at delta 1e-05)" in told
    assert "(exact, not for publication)" in told
    assert told.rstrip().endswith("Count all names that share documents: --same-text c")
    page, _ = report_with(dplda, runs["b"], "a", "c")
    assert "epsilon = 20 and delta = 1e-05" in page
    page, told = report_with(dplda, runs["c"], "b")
    assert "epsilon = 20 and delta = 1e-05" in page
    assert "it shares documents with a, whose 1 run is not counted here" in told


@pytest.mark.usefixtures("without_charts")
def test_a_page_of_two_names_of_the_same_documents_follows_the_hint_of_contrast(dplda, home: Path) -> None:
    """The hint named an option that contrast does not have, and that report refused for two datasets."""
    ledger = Ledger()
    for name, epsilon in (("a", 8.0), ("b", 2.0)):
        ledger.grant(name, epsilon, 1e-5)
        with_facts(make_model(), run=spend(ledger, name, events=LITTLE).run, dataset=name).save(home / name)
    told = dplda("contrast", "./a", "./b", "-o", "c.html").err
    assert "If readers may know that, count them: dplda report RUN... --same-text b." in " ".join(told.split())
    told = dplda("report", "./a", "./b", "-o", "d.html", "--same-text", "b")
    assert told.status == 0
    assert told.err.count("The total of these names together is epsilon 8 at delta 1e-05: the largest") == 1, "of b"
    page = text_of(Path("d.html"))
    for names in (("a", "b"), ("b", "a")):
        under = " and ".join(f"<bdi>{name}</bdi>" for name in names)
        assert f"This holds for the 2 runs recorded under the names {under} together (differentially private" in page
    assert page.count("differentially private with epsilon = 8 and delta = 1e-05") == 2
    assert "but how far it is raised may depend on what the runs showed), not only for the run on this page." in page
    with_facts(make_model(), run=spend(ledger, "c", "g", events=LITTLE).run, dataset="c").save(home / "c")
    told = dplda("report", "./a", "./c", "-o", "e.html", "--same-text", "b")
    assert told.status == 2
    assert "knows of no document that 'c' shares with 'a'" in told.err


@pytest.mark.usefixtures("without_charts")
def test_title_names_and_hidden_words_change_the_page(dplda, saved: str, home: Path) -> None:
    hidden = make_model().top_words(1)[0][0][0]
    answer = dplda(
        "report", saved, "--title", "What <tenants> write", "--name", "1=Heat", "--name=2=a=b", "--hide", hidden
    )
    assert answer.status == 0, answer.err
    page = text_of(home / "report.html")
    assert "<h1>What &lt;tenants&gt; write</h1>" in page
    assert "<bdi>Heat</bdi>" in page
    assert "<bdi>a=b</bdi>" in page
    assert hidden not in page
    assert "1 word was hidden by hand" in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--name", "3=Heating"), "there is no topic 3 to name"),
        (("--name", "Heating"), "--name 'Heating' is not NUMBER=TEXT. Example: --name 1=Heating"),
        (("--name", "1= "), "is not NUMBER=TEXT"),
        (("--name", "-1=x"), "is not NUMBER=TEXT"),
        (("--name", "1=a", "--name", "1=b"), "names topic 1 twice"),
        (("--hide", "w0000"), "'w0000' cannot be hidden"),
        (("--title", " "), "--title is empty"),
    ],
)
def test_wording_that_fits_nothing_is_one_line_and_writes_nothing(
    dplda, saved: str, home: Path, options: tuple[str, ...], message: str
) -> None:
    answer = dplda("report", saved, *options)
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert message in answer.err
    assert not (home / "report.html").exists()


def test_names_of_topics_need_a_single_run(dplda, saved: str, home: Path) -> None:
    with_facts(make_model(), run="other").save(home / "models" / "other")
    answer = dplda("report", saved, home / "models" / "other", "--name", "1=x")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert "--name works for a report of one run" in answer.err


@pytest.mark.usefixtures("without_charts")
def test_runs_on_one_page_have_the_names_that_the_user_gives_and_keep_their_ids(dplda, saved: str, home: Path) -> None:
    with_facts(make_model(), run="other").save(home / "models" / "other")
    both = (saved, home / "models" / "other")
    answer = dplda("report", *both, "--run-name", "2=After <May>")
    assert answer.status == 0, answer.err
    page = text_of(home / "report.html")
    assert "Run 2: <bdi>After &lt;May&gt;</bdi>" in page
    assert "2 After &lt;May&gt; (other)" in page
    (home / "report.html").unlink()
    for options, message in (
        (("--run-name", "3=x"), "there is no run 3 to name on this page: its runs are 1 to 2, in order."),
        (("--run-name", "0=x"), "there is no run 0 to name"),
        (("--run-name", "1=other"), "two runs on this page have one name"),
        (("--run-name", "x"), "--run-name 'x' is not NUMBER=TEXT. Example: --run-name 1=Heating"),
    ):
        answer = dplda("report", *both, *options)
        assert (answer.status, answer.err.count("\n")) == (2, 1)
        assert message in answer.err
        assert not (home / "report.html").exists()
    assert "--run-name names several runs with topics" in dplda("report", saved, "--run-name", "1=x").err


@pytest.mark.usefixtures("without_charts")
def test_json_names_runs_and_file(dplda, saved: str, home: Path) -> None:
    record = dplda("report", home / "models" / "saved", "--json").json
    assert record == {"runs": ["toy-aaaaaa"], "report": "report.html", "private": True}
    assert (home / "report.html").is_file()


@pytest.mark.usefixtures("without_charts")
def test_several_runs_make_one_page(dplda, saved: str, home: Path) -> None:
    other = make_model(seed=1)
    replace(other, facts=replace(other.facts, run="toy-bbbbbb")).save(home / "models" / "other")
    assert dplda("report", saved, home / "models" / "other").status == 0
    assert "toy-bbbbbb" in (home / "report.html").read_text(encoding="utf-8")


def test_an_existing_file_is_kept(dplda, saved: str, home: Path) -> None:
    (home / "report.html").write_text("mine")
    answer = dplda("report", saved)
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert "exists already" in answer.err
    assert (home / "report.html").read_text() == "mine"


def test_a_run_without_a_model_is_one_clear_line(dplda, home: Path) -> None:
    answer = dplda("report", second_run())
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert "has no saved model (cancelled: interrupted)" in answer.err
    assert not (home / "report.html").exists()


def test_runs_without_a_common_word_are_one_clear_line(dplda, saved: str, home: Path) -> None:
    other = make_model(seed=1)
    other = with_facts(other, run="toy-bbbbbb")
    replace(other, vocabulary=[f"x{j}" for j in range(12)]).save(home / "models" / "other")
    answer = dplda("report", saved, home / "models" / "other")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert "no word in common" in answer.err


@pytest.mark.parametrize("arguments", [("report",), ("report", "nobody")])
def test_wrong_usage_spends_and_writes_nothing(dplda, home: Path, arguments: tuple[str, ...]) -> None:
    assert dplda(*arguments).status == 2
    assert not list(home.glob("*.html"))


@pytest.mark.usefixtures("without_charts")
def test_who_reports_a_run_that_is_not_private_is_told(dplda, home: Path, model: TopicModel) -> None:
    privacy = replace(model.privacy, sound=False, epsilon=float("inf"), reason="NOT PRIVATE: simulated")
    replace(model, privacy=privacy).save(home / "models" / "open")
    answer = dplda("report", home / "models" / "open", "--json")
    assert answer.json["private"] is False
    assert "NOT PRIVATE" in answer.err
    assert "<title>NOT PRIVATE" in (home / "report.html").read_text(encoding="utf-8")
