"""The package: what it holds, and that it works installed, away from the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest
from command_line import REPOSITORY

from attnlens._version import VERSION

HOLDS = {
    "attnlens/py.typed",
    "attnlens/cricket/explain/schema.json",
    "attnlens/weights/bundled.safetensors",
    "attnlens/weights/measured.safetensors",
    "attnlens/weights/cricket.safetensors",
    "attnlens/dashboard/__init__.py",
    "attnlens/templates/__init__.py",
    "attnlens/templates/page.css",
    "attnlens/templates/page.html",
    "attnlens/templates/heat_maps.js",
    "attnlens/templates/recording.js",
    "attnlens/templates/cricket/explanation.html",
    "attnlens/templates/cricket/prompt.j2",
    f"attnlens-{VERSION}.dist-info/licenses/LICENSE",
}
ECHO = "innings 1, delivery 47 of 125, legal ball 7.4 (46th)"


def project() -> dict[str, object]:
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


def run(*words: str | Path, folder: Path) -> str:
    """A command's stdout, run where neither the checkout nor our variables can be seen."""
    unwanted = ("PYTHON", "ATTNLENS_", "PIP_", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env={**kept, "NO_COLOR": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_package_is_listed() -> None:
    tool = project()["tool"]
    assert isinstance(tool, dict)
    listed = tool["setuptools"]["packages"]
    places = {"attnlens": "attnlens", "attnlens.dashboard": "dashboard"}
    assert tool["setuptools"]["package-dir"] == {**places, "attnlens.templates": "templates"}
    found = []
    for top, prefix in (("attnlens", ""), ("dashboard", "attnlens."), ("templates", "attnlens.")):
        for path in (REPOSITORY / top).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                found.append(prefix + ".".join(path.relative_to(REPOSITORY).parent.parts))
    assert sorted(listed) == sorted(set(found))
    assert len(listed) == len(set(listed))


def test_constraints_pin_every_dependency() -> None:
    pinned = {}
    for line in (REPOSITORY / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            matched = re.fullmatch(r"([A-Za-z0-9._-]+)==([0-9][0-9A-Za-z.]*)", line)
            assert matched, line
            pinned[re.sub(r"[-_.]+", "-", matched[1]).lower()] = matched[2]
    assert pinned["torch"] == "2.13.0"
    about = project()["project"]
    assert isinstance(about, dict)
    wanted = [*about["dependencies"], *about["optional-dependencies"]["dev"]]
    names = [re.split(r"[<>=~!\[; ]", requirement)[0].lower() for requirement in wanted]
    assert [name for name in names if name not in {*pinned, "attnlens"}] == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # A copy of what is tracked or new, so that building leaves nothing in the checkout.
    source = folder / "source"
    source.mkdir()
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout: no list of what belongs to it")
    for name in filter(None, listed.stdout.split("\0")):
        if (REPOSITORY / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((REPOSITORY / name).read_bytes())
    build = (sys.executable, "-m", "build", "--no-isolation", "--outdir", folder)
    said = run(*build, source, folder=folder)
    assert "importable but absent from packages" not in said
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_holds_what_it_needs_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as zipped:
        names = set(zipped.namelist())
    assert sorted(HOLDS - names) == []
    strangers = [name for name in names if not re.match(r"attnlens(/|-[^/]+\.dist-info/)", name)]
    assert strangers == []
    assert [name for name in names if "__pycache__" in name or "/tests/" in name] == []
    modules = {
        path.relative_to(REPOSITORY).as_posix() for path in (REPOSITORY / "attnlens").rglob("*.py")
    }
    assert sorted(modules - names) == []
    assets = (REPOSITORY / "dashboard" / "assets").iterdir()
    assert {f"attnlens/dashboard/assets/{path.name}" for path in assets} <= names


def test_the_wheel_works_away_from_the_checkout(
    wheel: Path, tmp_path: Path, sample_match_path: Path
) -> None:
    environment = tmp_path / "environment"
    run(sys.executable, "-m", "venv", environment, folder=tmp_path)
    folder = "Scripts" if os.name == "nt" else "bin"
    python, attnlens = environment / folder / "python", environment / folder / "attnlens"
    run(python, "-m", "pip", "install", "--no-deps", "--no-index", wheel, folder=tmp_path)
    # The dependencies are those of this environment; torch is too large to install again. A
    # path in a .pth comes after the environment's own, and an editable install's hook in the
    # other folder is not run, so attnlens itself can only come from the wheel.
    purelib = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    own = Path(run(python, "-c", purelib, folder=tmp_path).strip())
    (own / "dependencies.pth").write_text(f"{sysconfig.get_paths()['purelib']}\n")

    where = run(python, "-c", "import attnlens; print(attnlens.__file__)", folder=tmp_path)
    assert Path(where.strip()) == own / "attnlens" / "__init__.py"
    version = f"attnlens {VERSION}\n"
    assert run(attnlens, "--version", folder=tmp_path) == version
    assert run(python, "-m", "attnlens", "--version", folder=tmp_path) == version

    match = tmp_path / "copy.csv"
    match.write_bytes(sample_match_path.read_bytes())
    page = run(attnlens, "explain", "copy.csv", "--ball", "47", folder=tmp_path)
    assert ECHO in " ".join(page.split())
    parts = "import attnlens.dashboard, attnlens.templates; print(attnlens.dashboard.__file__)"
    place = Path(run(python, "-c", parts, folder=tmp_path).strip())
    assert place == own / "attnlens" / "dashboard" / "__init__.py"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.csv", "environment"]


def test_the_constraints_with_digests_are_the_same_set() -> None:
    def pinned(name: str) -> set[str]:
        text = (REPOSITORY / name).read_text(encoding="utf-8")
        lines = re.findall(r"^([A-Za-z0-9._-]+==\S+)", text, re.MULTILINE)
        return {re.sub(r"[-_.]+", "-", line).lower() for line in lines}

    assert pinned("constraints-hashes.txt") == pinned("constraints.txt")


def test_the_citation_names_this_version() -> None:
    cited = (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(rf"^version: {re.escape(VERSION)}$", cited, re.MULTILINE)
