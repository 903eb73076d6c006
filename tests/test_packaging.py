"""The package: what it holds, and that it works installed, away from the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest
from command_line import HANG, REPOSITORY

from attnlens._version import VERSION
from attnlens.cli import _REMOVED

PLACES = {
    "attnlens": "attnlens",
    "attnlens.dashboard": "dashboard",
    "attnlens.templates": "templates",
}
"""Every package that has a folder of its own in a checkout."""
OWN_TEXTS = {".css", ".html", ".j2", ".js", ".json", ".md", ".py", ".svg", ".tex", ".typed"}
OTHERS_WORK = re.compile(
    r"copyright|@license|@preserve|licensed under|all rights reserved|sourceMappingURL|@font-face",
    re.IGNORECASE,
)
"""What the work of somebody else, or a copy of a library, would say."""
SDIST_TOPS = {
    "CHANGELOG.md",
    "CITATION.cff",
    "LICENSE",
    "MANIFEST.in",
    "PKG-INFO",
    "README.md",
    "SECURITY.md",
    "attnlens",
    "attnlens.egg-info",
    "constraints-hashes.txt",
    "constraints.txt",
    "dashboard",
    "pyproject.toml",
    "setup.cfg",
    "templates",
}
CONSTRAINED = ["dashboard", "mcp", "ray", "real", "dev", "all"]
"""The extras whose packages constraints.txt pins; the tools of `bench` are not among them."""
ECHO = "innings 1, delivery 47 of 125, legal ball 7.4 (46th)"


def project() -> dict[str, Any]:
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


def tracked(*places: str) -> list[str]:
    """Every file of the repository, in those places: tracked, or new and not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *places],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout: no list of what belongs to it")
    return [name for name in listed.stdout.split("\0") if name and (REPOSITORY / name).is_file()]


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
        timeout=HANG,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_package_is_listed() -> None:
    tool = project()["tool"]["setuptools"]
    listed = tool["packages"]
    assert tool["package-dir"] == PLACES
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
    extras = about["optional-dependencies"]
    wanted = [*about["dependencies"], *(name for extra in CONSTRAINED for name in extras[extra])]
    names = [re.split(r"[<>=~!\[; ]", requirement)[0].lower() for requirement in wanted]
    assert [name for name in names if name not in {*pinned, "attnlens"}] == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # A copy of what is tracked or new, so that building leaves nothing in the checkout.
    source = folder / "source"
    for name in tracked():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes((REPOSITORY / name).read_bytes())
    build = (sys.executable, "-m", "build", "--no-isolation", "--outdir", folder)
    said = run(*build, source, folder=folder)
    assert "importable but absent from packages" not in said
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_holds_every_file_of_its_packages_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as zipped:
        names = set(zipped.namelist())
    own = {
        name if name.startswith("attnlens/") else f"attnlens/{name}"
        for name in tracked(*PLACES.values())
    }
    metadata = f"attnlens-{VERSION}.dist-info/"
    assert sorted(name for name in names if not name.startswith(metadata)) == sorted(own)
    assert f"{metadata}licenses/LICENSE" in names


def test_the_wheel_holds_no_work_of_others(wheel: Path) -> None:
    """What CONTRIBUTING.md says of what is bundled: no library, font or picture."""
    with zipfile.ZipFile(wheel) as zipped:
        for name in zipped.namelist():
            if name.startswith("attnlens/"):
                text = Path(name).suffix in OWN_TEXTS
                assert text or re.fullmatch(r"attnlens/weights/\w+\.safetensors", name), name
                found = OTHERS_WORK.search(zipped.read(name).decode("utf-8")) if text else None
                assert found is None, (name, found)


def test_the_metadata_is_that_of_the_project(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as zipped:
        raw = zipped.read(f"attnlens-{VERSION}.dist-info/METADATA")
    metadata = message_from_bytes(raw)
    about = project()["project"]
    assert metadata["Name"] == "attnlens"
    assert metadata["Version"] == VERSION
    assert metadata["Requires-Python"] == about["requires-python"]
    assert metadata["License-Expression"] == about["license"]
    assert metadata.get_all("License-File") == about["license-files"]
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_all("Classifier") == about["classifiers"]
    assert sorted(metadata.get_all("Provides-Extra")) == sorted(about["optional-dependencies"])
    minors = re.findall(r"Programming Language :: Python :: (3\.\d+)", raw.decode("utf-8"))
    assert f">={minors[0]}" == about["requires-python"]


def test_the_sdist_holds_what_builds_the_wheel_and_no_tests(wheel: Path) -> None:
    (path,) = wheel.parent.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    assert {name.partition("/")[0] for name in names if name} == SDIST_TOPS
    assert set(tracked(*PLACES.values())) <= set(names)


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


def test_the_citation_and_the_changelog_name_this_version_and_its_day() -> None:
    cited = (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(rf"^version: {re.escape(VERSION)}$", cited, re.MULTILINE)
    (day,) = re.findall(r"^date-released: (\S+)$", cited, re.MULTILINE)
    changes = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", changes, re.MULTILINE)[0] == f"{VERSION} ({day})"


def test_the_changelog_has_every_command_and_option_that_is_gone() -> None:
    changes = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    renamed = changes[changes.index("### Renamed") : changes.index("### Fixed")]
    assert [name for name in _REMOVED if name.split()[-1] not in renamed] == []


def test_every_extra_that_is_named_exists() -> None:
    """In messages, documents and comments: ``attnlens[mcp]``, and ``.[mcp]`` in a checkout."""
    extras = project()["project"]["optional-dependencies"]
    assert {"dashboard", "mcp", "real", "ray", "dev"} <= set(extras)
    named = set()
    for name in tracked("*.py", "*.md", "*.ipynb", "*.toml", ".ci", ".github"):
        text = (REPOSITORY / name).read_text(encoding="utf-8")
        for words in re.findall(r"(?:\battnlens|[ '\"]\.)\[([a-z][a-z, -]*)\]", text):
            named |= {(name, word.strip()) for word in words.split(",")}
    assert {word for _, word in named} >= {"dashboard", "mcp", "real", "ray", "dev", "all"}
    assert sorted((name, word) for name, word in named if word not in extras) == []


def test_the_extra_that_a_message_names_installs_what_is_missing() -> None:
    extras = project()["project"]["optional-dependencies"]
    missing = {
        "attnlens/cli/dashboard.py": ("dashboard", {"dash", "plotly", "waitress"}),
        "attnlens/cli/language_models.py": ("mcp", {"mcp"}),
        "attnlens/cricket/export.py": ("ray", {"ray"}),
        "attnlens/audits/loading.py": ("real", {"transformers", "gguf", "accelerate"}),
    }
    named = {}
    for name in tracked(*(f"{place}/*.py" for place in PLACES.values())):
        found = re.findall(r"attnlens\[([a-z]+)\]", (REPOSITORY / name).read_text("utf-8"))
        if found:
            named[name] = set(found)
    assert named == {name: {extra} for name, (extra, _) in missing.items()}
    for extra, packages in missing.values():
        assert packages <= {re.split(r"[<>=~!\[; ]", wanted)[0] for wanted in extras[extra]}
