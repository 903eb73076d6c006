"""What `record` says of the architectures of the libraries that are installed, beside a witness."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from attention_witness import Witness, judged, unmatched
from command_line import HANG, REPOSITORY, clean_environment
from needed import skip_without
from torch import Tensor, nn

skip_without("transformers")

BENCHMARKS = REPOSITORY / "benchmarks"
EXACT = (
    *("albert", "bart", "beit", "bert", "biogpt", "blenderbot", "bloom", "clip", "cohere", "ctrl"),
    *("data2vec-text", "deberta-v2", "deit", "distilbert", "electra", "falcon", "gemma", "gpt2"),
    *("gpt_neo", "gpt_neox", "dinov2", "llama", "marian", "mbart", "mistral", "mixtral", "mpnet"),
    *("mpt", "olmo", "opt", "patchtst", "phi", "qwen2", "roberta", "siglip", "stablelm", "t5"),
    *("time_series_transformer", "vit", "wav2vec2", "whisper", "xlm-roberta"),
    *("torch: nn.Transformer", "torch: nn.TransformerDecoder"),
)
NO_ATTENTION = ("resnet", "mamba")


def python(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
        env=clean_environment(OMP_NUM_THREADS="1", PYTHONPATH=str(BENCHMARKS)),
    )


def test_architectures_are_recorded_exactly_and_left_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    script = BENCHMARKS / "architectures.py"
    ran = python(script, rows, "--only", *EXACT, *NO_ATTENTION)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    found = {row["name"]: row["state"] for row in map(json.loads, rows.read_text().splitlines())}
    assert found == dict.fromkeys(EXACT, "exact") | dict.fromkeys(NO_ATTENTION, "no attention")
    page = tmp_path / "page.md"
    page.write_text("# Kept\n\n<!-- tables -->\nleft out", encoding="utf-8")
    main = runpy.run_path(str(script))["main"]
    monkeypatch.setattr(sys, "argv", [script.name, str(rows), "--page", str(page)])
    assert main() == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Kept\n\n<!-- tables -->\n\nThe models ran on a CPU with torch ")
    assert "left out" not in text
    exact = text.partition("## transformers: exact\n\n")[2].partition(".\n")[0]
    assert "bert" in exact.split(", ")
    monkeypatch.setattr(sys, "argv", [script.name, str(rows), "--only", "brt"])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "nothing is called 'brt'" in capsys.readouterr().err


def test_a_process_that_dies_or_hangs_or_is_slow_is_a_row() -> None:
    ran = python(
        "-c",
        "import os, time, architectures as a\n"
        "a.SECONDS = 0.3\n"
        "made = {'dies': os.abort, 'hangs': lambda: time.sleep(60)}\n"
        "made['works'] = lambda: sum(iter(int, 1))\n"
        "a.OTHERS.update(made)\n"
        "for name in made:\n"
        "    a.HUNG = 1 if name == 'hangs' else 600\n"
        "    print(a.apart(name))",
    )
    assert ran.stdout.splitlines() == [
        "{'state': 'wrong', 'told': 'the process died (-6)'}",
        "{'state': 'wrong', 'told': 'the process hung'}",
        "{'state': 'not run', 'told': 'it took more than 0.3 s of CPU, small as it is'}",
    ], ran.stderr


class Pooling(nn.Module):
    """Weights of steps, and what they weigh, joined in one of several ways."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.way = way

    def forward(self, x: Tensor) -> Tensor:
        weights = (x @ x.transpose(-1, -2)).softmax(-1)
        if self.way == "product":
            return weights.transpose(0, 1).contiguous().transpose(0, 1) @ x
        if self.way == "sum":
            return (weights[..., None] * x.unsqueeze(-3)).sum(-2)
        return weights * 2  # of no further use: no attention


@pytest.mark.parametrize(("way", "seen"), [("product", 1), ("sum", 1), ("gate", 0)])
def test_the_witness_sees_what_weights_are_used_for(way: str, seen: int) -> None:
    x = torch.randn(2, 3, 5, 7)
    with Witness() as witness:
        Pooling(way)(x)
    assert len(witness.weights) == seen
    by_hand = (x @ x.mT).exp()
    by_hand /= by_hand.sum(-1, keepdim=True)
    for weights in witness.weights:
        torch.testing.assert_close(weights.reshape(by_hand.shape), by_hand)


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.3}, {"enable_gqa": True}])
def test_the_witness_works_out_fused_calls(options: dict[str, float]) -> None:
    q, k = torch.randn(2, 4, 5, 8), torch.randn(2, 2 if "enable_gqa" in options else 4, 5, 8)
    with Witness() as witness:
        output = nn.functional.scaled_dot_product_attention(q, k, k, **options)
    (weights,) = witness.weights
    values = k.repeat_interleave(4 // k.shape[1], 1).double()
    torch.testing.assert_close((weights.double() @ values).float(), output)


def test_a_difference_is_told() -> None:
    one, other = torch.rand(2, 3, 5), torch.rand(4, 3)
    assert unmatched([one, other], [other.clone(), one.view(2, 1, 3, 5)]) == ([], [])
    missing, left = unmatched([one, other], [one + 1e-3, other])
    assert missing[0] is one
    assert len(left) == 1

    class Changed(nn.Module):
        """Not the same in a recording as before."""

        def __init__(self) -> None:
            super().__init__()
            self.runs = 0

        def forward(self, x: Tensor) -> Tensor:
            self.runs += 1
            return nn.functional.scaled_dot_product_attention(x, x, x) + (self.runs == 4)

    row = judged(Changed(), {"args": (torch.randn(1, 2, 3, 4),)})
    assert row == {"state": "wrong", "told": "the output changed", "records": 0, "returned": ""}
