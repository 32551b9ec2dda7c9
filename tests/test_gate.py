"""Private counts reach the curator and nothing else: proved from every import, call and attribute of the package."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import grimp
import pytest

from dplda.private.curator import Curator
from dplda.private.exact_gate import ExactGate

PACKAGE = Path(__file__).resolve().parents[1] / "dplda"

# The curator's passes, wherever documents are read.
PASSES = {
    "dplda.private.passes.passes",
    "dplda.private.passes.gpu_passes",
    "dplda.private.passes.cluster_passes",
    "dplda.private.passes.engines",
}
LOOPS = {  # sums of units that they are given
    *(
        "dplda.private.statistics.unit_sums",
        "dplda.private.statistics.word_votes",
        "dplda.private.statistics.third_moment_products",
    ),
}

COUNTS = ("dplda.private.store", "dplda.runs.corpus")  # where private counts are made

# The modules outside these that may import each. `dplda.runs.fitting` hands the store on unread;
# the commands that read a corpus say that they are not private, and
# `dplda.runs.grid` reads corpora that were planted or declared public, as do `dplda.runs.priors` and
# `dplda.audit.shadow_models`; `dplda.audit.games` makes its own. `dplda.cli.table_commands` shows on the screen how
# many of the first documents are in no group.
PRIVATE_MODULES = {
    "dplda.runs.corpus": {
        "dplda",
        "dplda.corpus",
        "dplda.runs.fitting",
        "dplda.runs.request",
        "dplda.runs.series",
        "dplda.runs.estimator",
        "dplda.runs.priors",
        "dplda.runs.recording",
        "dplda.runs.charged_query",
        "dplda.runs.tabulation",
        "dplda.runs.evaluation",
        "dplda.audit.games",
        "dplda.audit.shadow_models",
        "dplda.runs.grid",
        "dplda.cli.corpus_command",
        "dplda.cli.options",
        "dplda.cli.run_commands",
        "dplda.cli.table_commands",
    },
    "dplda.private.store.preparation": {
        "dplda.runs.corpus",
        "dplda.runs.priors",
        "dplda.runs.recording",
    },  # runs name `ById` alone
    "dplda.private.store.count_store": {*PASSES, "dplda.cli.options"},
    "dplda.private.store.units": {*PASSES, *LOOPS},
    "dplda.private.store.fingerprint": {*("dplda.runs.recording", "dplda.runs.priors", "dplda.runs.grid")},
    "dplda.private.store.writer": set(),
}
# What computes on counts, and who may name it outside the module that defines it.
PRIVATE_NAMES = {
    "CountStore": {*PASSES},
    "UnitCounts": {*PASSES, *LOOPS},
    "UnitRange": PASSES,
    "all_words": {"dplda.private.passes.passes"},
    "units_of_groups": {"dplda.private.passes.passes"},
    "group_votes": {"dplda.private.passes.passes", "dplda.private.passes.cluster_passes"},
    "count_group_votes": {"dplda.private.curator", "dplda.private.exact_gate"},
    "read_range": {"dplda.private.passes.passes", "dplda.private.passes.cluster_passes"},
    "UnitSums": {"dplda.private.passes.passes", "dplda.private.statistics.third_moment_products"},
    "ProductSums": {"dplda.private.passes.passes"},
    "sums_of": {"dplda.private.passes.passes"},
    "_loop_over_units": set(),
    "count_eligible": {"dplda.private.passes.passes"},
    "clip_bins": {"dplda.private.passes.passes", "dplda.private.passes.gpu_passes"},
    "Passes": {*PASSES, "dplda.private.curator"},
    "LocalPasses": {
        "dplda.private.passes.engines",
        "dplda.private.passes.gpu_passes",
        "dplda.audit.games",
        "dplda.runs.grid",
    },
    "ClusterPasses": {"dplda.private.passes.engines"},
    "GpuPasses": {"dplda.private.passes.engines"},
    "running_engine": {"dplda.runs.recording"},
    "GpuSums": {"dplda.private.passes.gpu_passes"},
    "UnitArrays": {"dplda.private.passes.gpu_passes"},
    "arranged": {"dplda.private.passes.gpu_passes"},
    "upload": {"dplda.private.passes.gpu_passes"},
    "word_hashes": {"dplda.private.passes.passes"},
    "exact_moments": {"dplda.private.passes.passes", "dplda.private.passes.cluster_passes"} | {"dplda.private.curator"},
    "ExactMoments": {"dplda.private.passes.passes", "dplda.private.passes.cluster_passes"} | {"dplda.private.curator"},
    "clip_histogram": {"dplda.private.curator"},
    "clipped_sum": {"dplda.private.curator", "dplda.private.exact_gate", "dplda.private.passes.gpu_passes"},
    "largest_norm": {"dplda.private.exact_gate", "dplda.private.passes.gpu_passes"},
    "count_votes": {"dplda.private.passes.passes", "dplda.private.curator", "dplda.private.exact_gate"},
    "count_units": {"dplda.private.curator", "dplda.private.exact_gate"},
    "spectral_topics": {"dplda.private.curator", "dplda.private.exact_gate"},
    "_whitened_tensor": {"dplda.private.propose_test_release"},
    "release_decomposition": {"dplda.private.curator"},
    "release_topics": {"dplda.private.curator"},
    "ExactNoise": {"dplda.runs.recording", "dplda.audit.games", "dplda.runs.grid"},
    "Curator": {
        *("dplda.runs.recording", "dplda.private.exact_gate", "dplda.audit.games", "dplda.audit.replay"),
        # as the type of what they are given
        *("dplda.runs.charged_query", "dplda.runs.tabulation", "dplda.runs.evaluation"),
    },
    "ExactGate": {"dplda.runs.recording", "dplda.runs.grid"},
    "counts_for": {"dplda.cli.run_commands", "dplda.runs.grid", "dplda.audit.shadow_models"},
    "read_sample": {"dplda.cli.check_command"},
    "first_records": {"dplda.cli.table_commands"},
    "first_groups": {"dplda.cli.table_commands"},
}
DEFINED_IN = {
    **dict.fromkeys(
        (
            *("Passes", "read_range", "clip_histogram", "clipped_sum", "largest_norm", "count_units"),
            *("group_votes", "count_group_votes"),
        ),
        "dplda.private.passes.passes",
    ),
    "LocalPasses": "dplda.private.passes.passes",
    "ClusterPasses": "dplda.private.passes.cluster_passes",
    "GpuPasses": "dplda.private.passes.gpu_passes",
    "running_engine": "dplda.private.passes.engines",
    **dict.fromkeys(["GpuSums", "UnitArrays", "arranged", "upload"], "dplda.private.statistics.gpu_sums"),
    **dict.fromkeys(["UnitSums", "_loop_over_units", "count_eligible"], "dplda.private.statistics.unit_sums"),
    **dict.fromkeys(["ProductSums", "sums_of"], "dplda.private.statistics.third_moment_products"),
    **dict.fromkeys(["count_votes", "word_hashes"], "dplda.private.statistics.word_votes"),
    "clip_bins": "dplda.private.statistics.clipping",
    **dict.fromkeys(["exact_moments", "ExactMoments"], "dplda.private.statistics.exact_moments"),
    **dict.fromkeys(["spectral_topics", "_whitened_tensor"], "dplda.private.propose_test_release"),
    **dict.fromkeys(["release_decomposition", "release_topics"], "dplda.private.propose_test_release"),
    "ExactNoise": "dplda.private.noise",
    "Curator": "dplda.private.curator",
    "ExactGate": "dplda.private.exact_gate",
    "counts_for": "dplda.runs.corpus",
    "read_sample": "dplda.text.sampling",
    "first_records": "dplda.cli.check_command",
}
ASKING = {
    *("choose_words", "use_words", "word_frequencies", "size", "clip", "release", "release_jointly"),
    *("decompose", "final_topics", "choose_groups", "clip_within"),
}


def modules() -> dict[str, ast.Module]:
    names = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = ast.parse(path.read_text("utf-8"))
    return names


MODULES = modules()


def outside() -> Iterator[tuple[str, ast.Module]]:
    return ((name, tree) for name, tree in MODULES.items() if not name.startswith(COUNTS))


@cache
def imported(tree: ast.Module) -> set[tuple[str, str]]:
    """(module, name) of every import, wherever it stands; the name is empty for ``import module``."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute, so that this test can read them"
            found |= {(node.module or "", alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {(alias.name, "") for alias in node.names}
    return found


@cache
def attributes(tree: ast.Module) -> list[tuple[str, str]]:
    """(what stands before the dot if it is a plain name, attribute)."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return [(node.value.id if isinstance(node.value, ast.Name) else "", node.attr) for node in found]


@cache
def mentions(tree: ast.Module) -> set[str]:
    """Every name that is imported, looked up or an attribute."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {item for _, item in imported(tree)} | {attribute for _, attribute in attributes(tree)}


def calls(tree: ast.Module, function: str) -> list[ast.Call]:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [c for c in found if isinstance(c.func, (ast.Name, ast.Attribute)) and _last(c.func) == function]


def _last(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


@pytest.mark.parametrize("private", PRIVATE_MODULES)
def test_modules_that_hold_counts_are_imported_by_the_curator_and_named_exceptions_only(private):
    graph = grimp.build_graph("dplda", cache_dir=None)
    importers = {name for name in graph.find_modules_that_directly_import(private) if not name.startswith(COUNTS)}
    scanned = {
        name for name, tree in outside() for module, item in imported(tree) if private in (module, f"{module}.{item}")
    }
    assert importers | scanned <= PRIVATE_MODULES[private]


def test_runs_say_which_ids_count_and_prepare_nothing():
    names = {
        name
        for module, name in imported(MODULES["dplda.runs.recording"])
        if module == "dplda.private.store.preparation"
    }
    assert names == {"ById"}


def test_every_module_that_makes_counts_is_judged_above_or_holds_nothing_private():
    public = {"dplda.private.store"}
    assert {name for name in MODULES if name.startswith(COUNTS)} == {*PRIVATE_MODULES, *public}


@pytest.mark.parametrize("name", PRIVATE_NAMES)
def test_what_computes_on_counts_is_named_by_the_curator_and_named_exceptions_only(name):
    users = set()
    for module, tree in outside():
        if name in mentions(tree) and module != DEFINED_IN.get(name):
            users.add(module)
    assert users <= PRIVATE_NAMES[name]


def test_projecting_counts_is_called_for_passes_only():
    users = {module for module, tree in outside() if ("dplda.private.store.units", "project") in imported(tree)}
    assert users == {"dplda.private.passes.passes"}


def test_documents_are_read_for_the_curator_or_where_the_output_says_not_private():
    opened = {m for m, tree in outside() for base, attr in attributes(tree) if (base, attr) == ("source", "open")}
    assert opened <= {"dplda.cli.run_commands"}
    for module, tree in outside():
        of_corpora = [c for c in calls(tree, "open") if isinstance(c.func, ast.Attribute) and _is_corpus(c.func.value)]
        assert len(of_corpora) == (
            module
            in {
                *("dplda.runs.recording", "dplda.runs.priors", "dplda.runs.grid"),
                *("dplda.audit.games", "dplda.audit.shadow_models"),
            }
        ), module
        if module not in {"dplda.model.inference", "dplda.runs.priors"}:  # not private; text declared public
            assert not calls(tree, "blocks"), module


def _is_corpus(node: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute)) and _last(node) == "corpus"


def test_runs_hand_the_store_to_the_curator_and_the_keyed_fingerprint_unread():
    tree = MODULES["dplda.runs.recording"]
    handed = [
        argument
        for function in ("engine", "fingerprint")
        for call in calls(tree, function)
        for argument in call.args
        if isinstance(argument, ast.Name) and argument.id == "store"
    ]
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "store"]
    assert len(names) == len(handed) + 1  # and the assignment
    assert len(handed) == 2


def test_fitting_uses_the_corpus_only_for_public_facts_and_to_open_it():
    allowed = {
        "open",
        "unit",
        "name",
        "places",
        "public_vocabulary",
        "reading",
        "tokenization",
        "group_columns",
        "id_field",
        "corpus",
    }
    modules = (
        "dplda.runs.fitting",
        "dplda.runs.request",
        "dplda.runs.series",
        "dplda.runs.estimator",
        "dplda.runs.grid",
    )
    for module in (
        *modules,
        "dplda.runs.recording",
        "dplda.runs.charged_query",
        "dplda.runs.tabulation",
        "dplda.runs.evaluation",
    ):
        for node in ast.walk(MODULES[module]):
            if isinstance(node, ast.Attribute) and _is_corpus(node.value):
                assert node.attr in allowed, module


GATES = {"dplda.private.curator": Curator, "dplda.private.exact_gate": ExactGate}


@pytest.mark.parametrize("gate", GATES.values())
def test_a_gate_has_exactly_these_public_methods(gate):
    assert {name for name, _ in inspect.getmembers(gate) if not name.startswith("_")} == ASKING


def methods_of(module: str) -> dict[str, ast.FunctionDef]:
    tree = MODULES[module]
    (gate,) = [
        node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == GATES[module].__name__
    ]
    return {node.name: node for node in gate.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("module", GATES)
def test_every_public_method_of_a_gate_charges_before_it_computes(module):
    methods = methods_of(module)
    for name in ASKING & set(methods) - {"use_words"}:  # it returns nothing
        body = [node for node in methods[name].body if not _is_docstring(node)]
        if module == "dplda.private.exact_gate" and name in {"clip", "clip_within"}:
            assert [ast.unparse(node) for node in body] == ["return math.inf"]
        elif name == "release":
            assert [ast.unparse(n) for n in body] == ["return self.release_jointly([stage], contribution, clip)"]
        else:
            assert calls(body[0], "_charge"), name
    answer = methods_of("dplda.private.curator")["use_words"]
    assert not [node for node in ast.walk(answer) if isinstance(node, ast.Return)]


def test_the_exact_gate_overrides_every_answer_and_takes_exact_events_alone():
    methods = methods_of("dplda.private.exact_gate")
    assert set(methods) >= ASKING - {"use_words"}
    charges = [call for method in methods.values() for call in calls(method, "_charge")]
    assert {ast.unparse(call.args[1]) for call in charges} == {"EXACT"}


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def curator_secrets() -> set[str]:
    """Private attributes and methods of the curator."""
    tree = MODULES["dplda.private.curator"]
    (curator,) = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Curator"]
    held = {attribute for base, attribute in attributes(curator) if base == "self" and attribute.startswith("_")}
    own = {node.name for node in curator.body if isinstance(node, ast.FunctionDef) and node.name[0] == "_"}
    return held | own - {"__init__"}


def test_nothing_outside_touches_the_curators_private_parts():
    secrets = curator_secrets()
    assert {"_passes", "_noise", "_charge"} <= secrets
    for module, tree in MODULES.items():
        if module not in GATES:
            reached = {(base, name) for base, name in attributes(tree) if name in secrets and base != "self"}
            assert not reached, module


def test_no_module_reaches_names_that_this_test_cannot_read():
    for module, tree in MODULES.items():
        for reader in ("eval", "exec", "vars", "__import__", "compile", "globals", "locals", "attrgetter"):
            called = [call for call in calls(tree, reader) if isinstance(call.func, ast.Name)]
            assert not called, (module, reader)
        assert not [a for _, a in attributes(tree) if a in {"__dict__", "__getattribute__", "_getframe"}], module
        for call in calls(tree, "getattr"):
            private = isinstance(call.args[1], ast.Constant) and str(call.args[1].value).startswith("_")
            assert not private or ast.unparse(call.args[1]) == "'__notes__'", module  # of an exception
        if calls(tree, "import_module"):
            assert module in {"dplda.base.lazy", "dplda.private.store.preparation"}, module
        if calls(tree, "found") and ("dplda.base.lazy", "found") in imported(tree):
            found = {ast.unparse(call) for call in calls(tree, "found")}
            known = {"found('dplda.runs.tabulation', 'tabulate')", "found('dplda.runs.evaluation', 'evaluate')"}
            assert (module, found) == ("dplda.model.topic_model", known)
        assert not {"pickle", "marshal", "shelve", "gc", "ctypes"} & {name for name, _ in imported(tree)}, module


@pytest.mark.parametrize(
    ("library", "home"),
    [("opendp", {"dplda.private.noise"}), ("dp_accounting", {"dplda.budget.accountant"})],
)
def test_noise_and_accounting_have_one_home_each(library, home):
    users = {m for m, tree in MODULES.items() for name, _ in imported(tree) if name.split(".")[0] == library}
    assert users == home


WAYS_AROUND = [
    "from dplda.private.store.units import project",
    "def f():\n    from dplda.private.store import units",
    "import dplda.private.store.units as u",
]


@pytest.mark.parametrize("text", WAYS_AROUND)
def test_the_scan_sees_imports_wherever_they_stand(text):
    assert any("dplda.private.store.units" in (m, f"{m}.{n}") for m, n in imported(ast.parse(text)))
