"""Private counts reach the curator and nothing else: proved from every import, call and attribute of the package."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from dplda import private
from dplda.private.curator import Curator
from dplda.private.exact_gate import ExactGate

PACKAGE = Path(__file__).resolve().parents[1] / "dplda"

# The modules that hold private counts, compute on them or release them. Contracts in pyproject.toml say which modules
# may import these; this test says what they may take from them, and that nobody else even names it.
PROTECTED = (
    *("dplda.private.store", "dplda.private.passes"),
    *("dplda.private.curator", "dplda.private.exact_gate", "dplda.private.propose_test_release"),
    *(f"dplda.private.statistics.{name}" for name in ("unit_sums", "third_moment_products", "gpu_sums")),
    *("dplda.private.statistics.exact_moments", "dplda.private.statistics.word_votes"),
)
COUNTS = ("dplda.private.store", "dplda.runs.corpus")  # where private counts are made
TAKEN = {  # by each module, of the names that other protected packages define
    "dplda.private.curator": {
        *("Passes", "count_votes", "exact_moments", "ExactMoments"),
        *("spectral_topics", "release_decomposition", "release_topics"),
    },
    "dplda.private.exact_gate": {"Curator", "count_votes", "decompose", "spectral_topics"},
    "dplda.private.statistics.unit_sums": {"UnitCounts"},
    "dplda.private.statistics.third_moment_products": {"UnitCounts", "UnitSums", "length_of", "read_only"},
    "dplda.private.statistics.exact_moments": {"length_of", "read_only"},
    "dplda.private.statistics.word_votes": {"UnitCounts", "length_of", "read_only"},
    # It makes stores.
    "dplda.runs.corpus": {
        *("ById", "InMemory", "Preparation", "Prepared", "RawFiles", "documents_by_id", "store_from_matrix"),
        *("CountStore", "Notice", "silent", "cache_root", "check_tokenization", "is_partial", "is_store"),
        "identity_of_table",  # a random name of a table in memory, by which the ledger knows it when it is read again
    },
    # It hands the store on unread, and says which ids count.
    "dplda.runs.run": {
        *("Curator", "ExactGate", "running_engine", "compiling", "is_local", "fingerprint", "ById"),
    },
    # Corpora that were planted or declared public.
    "dplda.runs.grid": {"ExactGate", "LocalPasses", "fingerprint"},
    "dplda.runs.priors": {"CountStore", "cache_root", "document_codes", "fingerprint"},  # of texts declared public
    # Of texts declared public: which of them the ledger knows.
    "dplda.runs.examples": {"document_codes"},
    "dplda.audit.games": {"Curator", "LocalPasses"},
    "dplda.audit.replay": {"Curator"},
    # The names of files, and no document.
    "dplda.cli.options": {"is_partial", "is_store"},
}
# Common names, which other modules have for something else: only imports count.
HOMONYMS = {"fingerprint", "is_local", "write_atomically", "merge", "in_threads", "decompose"}
# The methods that return exact sums, and what else computes on documents. Who may name it outside its own module.
GATEKEEPERS = {"dplda.private.curator", "dplda.private.exact_gate"}
EXACT_SUMS = {
    "clip_histogram": {"dplda.private.curator"},
    "count_group_votes": GATEKEEPERS,
    "clipped_sum": GATEKEEPERS,
    "largest_norm": {"dplda.private.exact_gate"},
    "count_votes": GATEKEEPERS,
    "count_units": GATEKEEPERS,
    "exact_moments": {"dplda.private.curator"},
    "clip_bins": set(),
    "ExactNoise": {"dplda.runs.run", "dplda.audit.games", "dplda.runs.grid"},
    "counts_for": {"dplda.runs.proportions", "dplda.runs.grid", "dplda.audit.shadow_models"},
    "raw_texts": {"dplda.runs.examples"},  # public, or on the screen of their holder
    "read_sample": {"dplda.cli.options"},
    "find_units": {"dplda.cli.check_command"},  # on the screen
    "count_copies": {"dplda.cli.check_notes"},  # on the screen
    "first_records": {"dplda.cli.check_command", "dplda.cli.table_commands"},
    # on the screen, and in refusals before a charge: how many of the first documents are in no group
    "first_groups": {"dplda.cli.table_commands", "dplda.runs.group_check"},
}
DEFINED_IN = {
    "count_votes": "dplda.private.statistics.word_votes",
    "exact_moments": "dplda.private.statistics.exact_moments",
    "clip_bins": "dplda.private.statistics.clipping",
    "ExactNoise": "dplda.private.noise",
    "counts_for": "dplda.runs.corpus",
    "read_sample": "dplda.text.sampling",
    "first_records": "dplda.cli.options",
}
ASKING = {
    *("choose_words", "use_words", "use_all_words", "use_answers", "word_frequencies", "size", "clip"),
    *("release", "release_jointly"),
    *("decompose", "final_topics", "choose_groups", "clip_within"),
}
SETTING = {"use_words", "use_all_words", "use_answers"}  # they say what later releases are of, and return nothing


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


def package_of(module: str) -> str:
    """The protected package, or module of statistics, that `module` is in; empty for any other."""
    return next((name for name in PROTECTED if module == name or module.startswith(f"{name}.")), "")


@cache
def protected_names() -> dict[str, str]:
    """The protected package of every public name that a protected module defines at its top level."""
    found = {}
    for module, tree in MODULES.items():
        for node in tree.body if package_of(module) else []:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names = [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
            names += [target.id for target in targets if isinstance(target, ast.Name)]
            for name in names:
                assert found.setdefault(name, package_of(module)) == package_of(module) or name.startswith("_"), name
    return {name: package for name, package in found.items() if not name.startswith("_")}


def taken(module: str, tree: ast.Module) -> set[str]:
    """What `module` imports from other protected packages than its own, and which of their public names it mentions.

    Constants in capitals are public.
    """
    own = package_of(module)
    imports = {name for home, name in imported(tree) if package_of(home) not in ("", own)}
    names = {name for name, home in protected_names().items() if home != own} - HOMONYMS
    return {name for name in imports | (mentions(tree) & names) if not name.isupper()}


def test_modules_that_hold_counts_are_imported_by_the_curator_and_named_exceptions_only():
    passes = {name for name in MODULES if name.startswith(("dplda.private.passes", "dplda.private.store"))}
    for module, tree in MODULES.items():
        if module not in passes:
            assert taken(module, tree) <= TAKEN.get(module, set()), module


def test_protected_modules_are_imported_by_name():
    for module, tree in MODULES.items():
        if not module.startswith("dplda.private"):
            whole = {".".join(filter(None, pair)) for pair in imported(tree)}
            assert not [name for name in whole if name in MODULES and package_of(name)], module


def test_the_room_exports_the_gate_and_released_types():
    gates = {"Gate", "OutputGate", "QueryGate"}
    assert set(private.__all__) == gates | {"PtrResult", "Release", "StabilityTest", "WordFrequencies"}
    assert not set(private.__all__) & set(protected_names())


@pytest.mark.parametrize("name", EXACT_SUMS)
def test_exact_sums_are_named_by_the_curator_and_listed_exceptions_only(name):
    users = {
        module
        for module, tree in MODULES.items()
        if name in mentions(tree) and not module.startswith(("dplda.private.passes", *COUNTS))
    }
    assert users - {DEFINED_IN.get(name)} <= EXACT_SUMS[name]


BROKEN = {
    "dplda.learning.placements.default": "from dplda.private.store.count_store import CountStore",
    "dplda.report.page": "from dplda.runs import corpus\ncorpus.CountStore.open('store')",
    "dplda.runs.fitting": "def f(passes):\n    return passes.exact_moments(None)",
    "dplda.runs.grid": "from dplda.private.curator import Curator",
    "dplda.private.noise": "from dplda.private.statistics.unit_sums import UnitSums",
}


@pytest.mark.parametrize("module", BROKEN)
def test_the_scan_finds_what_is_taken(module):
    assert not taken(module, ast.parse(BROKEN[module])) <= TAKEN.get(module, set())


def test_documents_are_read_for_the_curator_or_where_the_output_says_not_private():
    opened = {m for m, tree in outside() for base, attr in attributes(tree) if (base, attr) == ("source", "open")}
    assert opened <= {"dplda.cli.run_commands"}
    for module, tree in outside():
        of_corpora = [c for c in calls(tree, "open") if isinstance(c.func, ast.Attribute) and _is_corpus(c.func.value)]
        assert len(of_corpora) == (
            module
            in {
                *("dplda.runs.run", "dplda.runs.priors", "dplda.runs.grid", "dplda.runs.proportions"),
                *("dplda.audit.games", "dplda.audit.shadow_models"),
            }
        ), module
        if module not in {"dplda.model.inference", "dplda.runs.priors"}:  # not private; text declared public
            assert not calls(tree, "blocks"), module


def _is_corpus(node: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute)) and _last(node) == "corpus"


def test_runs_hand_the_store_to_the_curator_and_the_keyed_fingerprint_unread():
    tree = MODULES["dplda.runs.run"]
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
        "named_places",
        "identity",
        "public_vocabulary",
        "reading",
        "tokenization",
        "group_columns",
        "id_field",
        "categories",
        "category_facts",
        "asking",
        "corpus",
    }
    modules = (
        "dplda.runs.fitting",
        "dplda.runs.words",
        "dplda.runs.series",
        "dplda.runs.estimator",
        "dplda.runs.grid",
    )
    for module in (
        *modules,
        "dplda.runs.run",
        "dplda.runs.charged_query",
        "dplda.runs.tabulation",
        "dplda.runs.counting",
        "dplda.runs.group_words",
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
    for name in ASKING & set(methods) - SETTING:
        body = [node for node in methods[name].body if not _is_docstring(node)]
        if module == "dplda.private.exact_gate" and name in {"clip", "clip_within"}:
            assert [ast.unparse(node) for node in body] == ["return math.inf"]
        elif name == "release":
            assert [ast.unparse(n) for n in body] == ["return self.release_jointly([stage], contribution, clip)"]
        else:
            assert calls(body[0], "_charge"), name
    for name in SETTING:
        setting = methods_of("dplda.private.curator")[name]
        assert not [node for node in ast.walk(setting) if isinstance(node, ast.Return)]


def test_the_exact_gate_overrides_every_answer_and_takes_exact_events_alone():
    methods = methods_of("dplda.private.exact_gate")
    assert set(methods) >= ASKING - SETTING
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


LOADED = {
    "dplda.model.topic_model": {
        "load_name('dplda.runs.tabulation', 'tabulate')",
        "load_name('dplda.runs.evaluation', 'evaluate')",
        "load_name('dplda.runs.examples', 'examples')",
        "load_name('dplda.runs.proportions', 'transform')",
        "load_name('dplda.report.figures', 'draw_model')",
        "load_name('dplda.report.notebook', 'html')",
    },
    "dplda.runs.evaluation": {"load_name('dplda.report.notebook', 'evaluation_html')"},
    "dplda.runs.released_table": {
        "load_name('dplda.report.figures', 'draw_table')",
        "load_name('dplda.report.notebook', 'tables_html')",
    },
}
LAZY_PACKAGES = {"dplda", "dplda.budget", "dplda.private"}


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
            assert module == "dplda.base.lazy", module
        loaded = {ast.unparse(call) for call in calls(tree, "load_name")}
        assert loaded == LOADED.get(module, set()), module
        assert not calls(tree, "lazy") or module in LAZY_PACKAGES, module
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
