"""A run says by which code and libraries it was made, in a way that anyone can check."""

from __future__ import annotations

import getpass
import hashlib
import json
import platform
import re
import shutil
import socket
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

import dplda
from dplda.base import software
from dplda.base.software import PACKAGE, code_digest, differences, digest
from dplda.runs.corpus import synthetic

HEX = re.compile("[0-9a-f]{64}")
NOISE = "some noise"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package at another place."""
    copy: Path = shutil.copytree(PACKAGE, tmp_path / "copy", ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


def test_the_digest_of_the_code_depends_on_no_place_and_no_order(package: Path) -> None:
    assert digest(files(package), package) == digest(reversed(files(package)), package) == code_digest()
    assert HEX.fullmatch(code_digest())


@pytest.mark.parametrize(
    "name", ["private/noise.py", "private/statistics/unit_sums.cu", "report/templates/page.html.j2"]
)
def test_the_digest_of_the_code_changes_with_a_byte_of_any_kind_of_file(name: str, package: Path) -> None:
    content = bytearray((package / name).read_bytes())
    content[len(content) // 2] ^= 1
    (package / name).write_bytes(content)
    assert digest(files(package), package) != code_digest()


@pytest.mark.parametrize("change", ["a new name", "a new file", "a file less", "two contents exchanged"])
def test_the_digest_of_the_code_changes_with_names(change: str, package: Path) -> None:
    one, other = package / "private/__init__.py", package / "budget/__init__.py"
    match change:
        case "a new name":
            one.rename(package / "private/init.py")
        case "a new file":
            (package / "empty.py").touch()
        case "a file less":
            one.unlink()
        case "two contents exchanged":
            contents = one.read_bytes(), other.read_bytes()
            other.write_bytes(contents[0])
            one.write_bytes(contents[1])
    assert digest(files(package), package) != code_digest()


def test_the_digest_of_the_code_is_that_of_two_common_tools() -> None:
    page = (PACKAGE.parent / "docs/verify.md").read_text("utf-8")
    [command] = re.findall(r"(?m)^(find .*sha256sum.*sha256sum)$", page)
    if shutil.which("sha256sum") is None:
        pytest.skip("sha256sum (coreutils) is not there")
    told = subprocess.run(["bash", "-c", command], cwd=PACKAGE, capture_output=True, text=True, check=True).stdout
    assert told.split()[0] == code_digest()


def installed(folder: Path, scripts: str = "#!/bin/python") -> metadata.Distribution:
    """An installed distribution: a module, and what an installer adds."""
    notes = folder / "thing-1.0.dist-info"
    notes.mkdir(parents=True)
    (notes / "METADATA").write_text("Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
    own = hashlib.sha256(scripts.encode()).hexdigest()
    (notes / "RECORD").write_text(
        f"../../../bin/thing,sha256={own},9\nthing.py,sha256=abc,3\nthing-1.0.dist-info/METADATA,sha256=def,9\n"
        "thing-1.0.dist-info/INSTALLER,sha256=pip,4\nthing-1.0.dist-info/RECORD,,\n__pycache__/thing.pyc,,\n"
    )
    return metadata.Distribution.at(notes)


def test_the_digest_of_a_library_is_that_of_the_wheels_own_list(tmp_path: Path) -> None:
    found = {software._library_digest(installed(tmp_path / place, place)) for place in ("one", "other")}
    lines = "thing-1.0.dist-info/METADATA,sha256=def,9\nthing.py,sha256=abc,3\n"
    assert found == {hashlib.sha256(lines.encode()).hexdigest()}


def test_the_digest_of_a_library_changes_with_a_hash_in_its_list(tmp_path: Path) -> None:
    one, other = installed(tmp_path / "one"), installed(tmp_path / "other")
    record = tmp_path / "other/thing-1.0.dist-info/RECORD"
    record.write_text(record.read_text().replace("sha256=abc", "sha256=abd"))
    assert software._library_digest(one) != software._library_digest(other)


def test_a_library_without_a_list_or_linked_to_a_folder_has_no_digest(tmp_path: Path) -> None:
    editable, bare = installed(tmp_path / "editable"), installed(tmp_path / "bare")
    (tmp_path / "editable/thing-1.0.dist-info/direct_url.json").write_text(json.dumps({"dir_info": {"editable": True}}))
    (tmp_path / "bare/thing-1.0.dist-info/RECORD").unlink()
    assert software._library_digest(editable) is None
    assert software._library_digest(bare) is None


def test_the_libraries_that_decide_what_is_released_are_listed() -> None:
    made_by = software.installed_software(NOISE)
    assert {"opendp", "numpy", "scipy", "numba", "llvmlite", "pyarrow", "spacy", "sqlalchemy"} <= set(
        made_by["libraries"]
    )
    for name, facts in made_by["libraries"].items():
        assert facts["version"] == metadata.version(name)
        assert HEX.fullmatch(facts["digest"]), name


def test_what_is_recorded_is_public(tmp_path: Path) -> None:
    text = json.dumps(software.installed_software(NOISE), allow_nan=False)
    assert "/" not in text
    for private in (socket.gethostname(), getpass.getuser(), platform.node()):
        assert not re.search(rf"\b{re.escape(private)}\b", text)


def fitted(ledger: dplda.Ledger, **more: object) -> dplda.TopicModel:
    counts, _, _ = synthetic(n_documents=3000, n_words=60, n_topics=3, alpha0=0.5, mean_length=60, seed=1)
    corpus = dplda.Corpus.from_counts(counts, [f"w{i}" for i in range(60)], public_vocabulary=True, units=None)
    ledger.grant("toy", unbounded=True)
    return dplda.fit(corpus, dataset="toy", n_topics=3, epsilon=8.0, ledger=ledger, **more)


def test_the_ledger_has_it_when_the_budget_is_reserved_and_the_model_has_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, reserved = dplda.Ledger(tmp_path / "ledger.db"), []
    opened = dplda.Corpus.open
    monkeypatch.setattr(dplda.Corpus, "open", lambda *a, **k: reserved.append(ledger.runs()[-1]) or opened(*a, **k))
    model = fitted(ledger)
    assert reserved[0].parameters["software"] == model.facts.software == ledger.runs()[-1].parameters["software"]
    assert model.facts.software is not None
    assert model.facts.software["code"] == code_digest()
    assert model.facts.software["noise"].startswith(f"OpenDP {metadata.version('opendp')}, ")
    assert ledger.history("toy")[-1].text.endswith(f", dplda {dplda.__version__}, code {code_digest()[:16]}")


@pytest.mark.parametrize(("more", "noise"), [({}, "simulated by NumPy"), ({"placement": "none"}, "none")])
def test_noise_that_is_not_private_is_called_so(more: dict[str, str], noise: str, tmp_path: Path) -> None:
    model = fitted(dplda.Ledger(tmp_path / "ledger.db"), simulate_seed=1, **more)
    assert model.facts.software is not None
    assert model.facts.software["noise"].startswith(noise)


def test_differences_name_what_changed() -> None:
    then, now = software.installed_software(NOISE), software.installed_software(NOISE)
    assert differences(then, now) == []
    then["code"] = "0" * 64
    then["libraries"]["numpy"]["version"] = "1.0"
    then["libraries"]["gone"] = {"version": "2", "digest": None}
    assert [name for name, _, _ in differences(then, now)] == ["code", "numpy", "gone"]


@pytest.mark.parametrize("made_by", [{}, {"code": 1, "libraries": [1]}, {"libraries": {"numpy": "x"}}])
def test_what_a_stranger_wrote_into_a_model_is_compared_without_failing(made_by: dict[str, object]) -> None:
    assert differences(made_by, software.installed_software(NOISE))
