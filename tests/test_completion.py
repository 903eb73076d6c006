"""The shell itself says what it would complete."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import run_process

from attnlens.cli import build_parser

ASK = """
source {script}
COMP_WORDS=(attnlens {words}); COMP_CWORD={place}
COMPREPLY=()
_shtab_attnlens
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completion")
    answer = run_process(folder, "--print-completion", "bash")
    assert (answer.status, answer.err) == (0, "")
    path = folder / "attnlens.bash"
    path.write_text(answer.out, encoding="utf-8")
    return path


def completed(script: Path, *words: str) -> set[str]:
    asked = ASK.format(script=script, words=" ".join(words) or "''", place=len(words) or 1)
    done = subprocess.run(
        ["bash", "-c", asked], cwd=script.parent, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_commands_options_choices_and_files(script: Path) -> None:
    assert set(build_parser().commands) <= completed(script, "''")
    assert completed(script, "exp") == {"explain"}
    assert "--no-evidence" in completed(script, "explain", "--no")
    assert completed(script, "explain", "--scale", "m") == {"micro", "medium"}
    assert "attnlens.bash" in completed(script, "explain", "attn")
    for shell, sign in (("zsh", "#compdef attnlens"), ("tcsh", "complete attnlens")):
        assert sign in run_process(script.parent, "--print-completion", shell).out
