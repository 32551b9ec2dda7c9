"""Wheel, source distribution and the context of the image are complete, and install where nothing is writable.

The slow tests install all dependencies into new environments, with every supported Python that is on PATH.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from flit_core import buildapi
from test_repository import ROOT, project, repository_files

import dplda

NOT_SHIPPED = (".github/", ".gitignore", ".pre-commit-config.yaml")  # of use in a clone only
PYTHONS = [sys.executable, *(f"python3.{minor}" for minor in (11, 12, 13) if minor != sys.version_info.minor)]
ANCHOR = f"dplda-{dplda.__version__}"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution of this checkout, and the latter unpacked, read-only."""
    folder = tmp_path_factory.mktemp("dist")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        buildapi.build_wheel(str(folder))
        buildapi.build_sdist(str(folder))
    with tarfile.open(sdist(folder)) as archive:
        archive.extractall(folder, filter="data")
    for path in [folder / ANCHOR, *(folder / ANCHOR).rglob("*")]:
        path.chmod(path.stat().st_mode & ~0o222)
    return folder


def wheel(folder: Path) -> Path:
    [found] = folder.glob("*.whl")
    return found


def sdist(folder: Path) -> Path:
    [found] = folder.glob("*.tar.gz")
    return found


def unprivileged(*command: str | Path) -> list[str]:
    """`command`, for which root's rights are no excuse: what is read-only stays so."""
    if os.name != "posix" or os.geteuid() != 0:
        return [*map(str, command)]
    if shutil.which("setpriv") is None:
        pytest.skip("root may write everywhere, and setpriv (util-linux) is not there")
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *map(str, command)]


def offline(*command: str | Path) -> list[str]:
    """`command` without privileges and, where the system lets us, without a network."""
    alone = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-current-user", "--net"]
    may = shutil.which("unshare") and subprocess.run([*alone, "true"], capture_output=True).returncode == 0
    return [*(alone if may else []), *unprivileged(*command)]


def package_files(root: Path) -> set[str]:
    files = (path for path in (root / "dplda").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(root).as_posix() for path in files}


def test_wheel_holds_the_whole_package_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(wheel(built)) as archive:
        names = {name for name in archive.namelist() if not name.startswith(f"{ANCHOR}.dist-info/")}
        records = set(archive.namelist()) - names
    assert names == package_files(ROOT)
    assert {"dplda/py.typed", "dplda/private/statistics/unit_sums.cu", "dplda/report/templates/page.html.j2"} <= names
    assert {Path(name).name for name in records} == {"METADATA", "WHEEL", "RECORD", "LICENSE", "entry_points.txt"}


def test_wheel_holds_what_is_under_version_control(built: Path) -> None:
    known = {path.relative_to(ROOT).as_posix() for path in repository_files()}
    with zipfile.ZipFile(wheel(built)) as archive:
        assert {name for name in archive.namelist() if "dist-info" not in name} <= known


def test_sdist_holds_the_repository_without_caches_and_models(built: Path) -> None:
    known = {path.relative_to(ROOT).as_posix() for path in repository_files()}
    with tarfile.open(sdist(built)) as archive:
        names = {name.removeprefix(f"{ANCHOR}/") for name in archive.getnames()}
    assert names == {name for name in known if not name.startswith(NOT_SHIPPED)} | {"PKG-INFO"}


def test_scripts_of_the_sdist_are_executable(built: Path) -> None:
    assert all(os.access(built / ANCHOR / name, os.X_OK) for name in ("scripts/test", "scripts/quickstart", ".ci/run"))


def build_wheel(source: Path, destination: Path) -> bytes:
    code = "import sys; from flit_core import buildapi; buildapi.build_wheel(sys.argv[1])"
    destination.mkdir()
    command = unprivileged(sys.executable, "-c", code, destination)
    subprocess.run(command, cwd=source, check=True, capture_output=True, text=True)
    return wheel(destination).read_bytes()


def test_other_file_times_and_another_folder_give_the_same_source_distribution(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    found = set()
    for place, time in (("one", 1), ("other", 2)):
        copy = tmp_path / place / "source"
        shutil.copytree(built / ANCHOR, copy)
        for path in copy.rglob("*"):
            os.utime(path, (time, time))
        monkeypatch.chdir(copy)
        found.add((tmp_path / place / buildapi.build_sdist(str(tmp_path / place))).read_bytes())
    assert len(found) == 1


def test_a_read_only_source_gives_the_same_wheel(built: Path, tmp_path: Path) -> None:
    source = built / ANCHOR
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.run(unprivileged("touch", source / "new"), check=True, capture_output=True)
    assert build_wheel(source, tmp_path / "wheel") == wheel(built).read_bytes()


def test_the_context_of_the_image_gives_the_same_wheel(built: Path, tmp_path: Path) -> None:
    everything, *kept = [line for line in lines(".dockerignore") if line != "**/__pycache__/"]
    assert everything == "*"
    context = tmp_path / "context"
    context.mkdir()
    for name in (line.removeprefix("!").rstrip("/") for line in kept):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, context / name)
    assert build_wheel(context, tmp_path / "wheel") == wheel(built).read_bytes()


def lines(name: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", "")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_image_runs_dplda_as_a_user_with_its_ledger_in_the_volume() -> None:
    steps = lines("Dockerfile")
    final = steps[max(number for number, step in enumerate(steps) if step.startswith("FROM ")) :]
    assert final[-3:] == ["VOLUME /data", "WORKDIR /data", 'ENTRYPOINT ["dplda"]']
    [user] = [step for step in final if step.startswith("USER ")]
    assert user not in ("USER root", "USER 0")
    [variables] = [step for step in final if step.startswith("ENV ")]
    assert "DPLDA_LEDGER=/data/" in variables


def test_metadata_is_that_of_the_project(built: Path) -> None:
    with zipfile.ZipFile(wheel(built)) as archive:
        metadata = archive.read(f"{ANCHOR}.dist-info/METADATA").decode()
        entry_points = archive.read(f"{ANCHOR}.dist-info/entry_points.txt").decode()
    facts = project()
    assert f"Version: {dplda.__version__}\n" in metadata
    assert f"Requires-Python: {facts['requires-python']}\n" in metadata
    assert "License-Expression: Apache-2.0\n" in metadata
    assert isinstance(facts["optional-dependencies"], dict)
    assert set(re.findall(r"(?m)^Provides-Extra: (.*)$", metadata)) == set(facts["optional-dependencies"])
    assert "dplda=dplda.cli.main:main" in entry_points.replace(" ", "")


def contents(folder: Path) -> dict[Path, tuple[int, int]]:
    return {path: ((status := path.stat()).st_mtime_ns, status.st_size) for path in folder.rglob("*")}


def run(command: Iterable[str], **options: Any) -> str:
    done = subprocess.run([*command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS)
def test_installs_and_works_where_only_its_own_folders_are_writable(python: str, built: Path, tmp_path: Path) -> None:
    if subprocess.run([shutil.which(python) or "false", "-c", ""], capture_output=True).returncode:
        pytest.skip(f"no {python} on PATH")
    own = {name: str(tmp_path / name.lower()) for name in ("HOME", "DPLDA_CACHE", "NUMBA_CACHE_DIR")}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DPLDA_", "XDG_"))}
    environment = {**inherited, **own}
    Path(own["HOME"]).mkdir()

    venv = tmp_path / "venv"
    run([python, "-m", "venv", str(venv)], env=environment)
    pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    for given in (built / ANCHOR, sdist(built), wheel(built)):  # the first from a read-only folder
        run(unprivileged(*pip, given), env=environment)
        told = run([str(venv / "bin" / "dplda"), "--version"], env=environment, cwd=tmp_path)
        assert told.endswith(f" {dplda.__version__}\n")
        run([*pip[:3], "uninstall", "--quiet", "--yes", "dplda"], env=environment)
    run(unprivileged(*pip, "--only-binary", ":all:", wheel(built)), env=environment)
    run([*pip[:3], "check"], env=environment)

    for path in (path for path in [venv, *venv.rglob("*")] if not path.is_symlink()):
        path.chmod(path.stat().st_mode & ~0o222)
    before = contents(venv), contents(built)
    work = tmp_path / "work"
    work.mkdir()
    run(offline(ROOT / "scripts" / "smoke", venv / "bin" / "dplda"), cwd=work, env=environment)
    assert (contents(venv), contents(built)) == before
