"""Records what attnlens prints, so that a refactoring can show that nothing of it has changed.

    python benchmarks/golden.py write FOLDER [--data DIR]    # every case, one text file each
    python benchmarks/golden.py compare OLD NEW              # exit status 1 if a case differs

A case is a command line, run in this process from the root of the repository, or a small model of
PyTorch whose attention is recorded. Its file holds stdout, the file that the command wrote, stderr
and the exit status; of a recording, the sites and SHA-256 of every tensor. With --data, a folder of
Cricsheet zips, ten real matches are cases too. Compare only what the same machine wrote, with the
same libraries and the same --data.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shlex
import sys
import tempfile
import time
import warnings
from contextlib import redirect_stderr, redirect_stdout
from difflib import unified_diff
from functools import partial
from itertools import pairwise, product, zip_longest
from pathlib import Path
from typing import Any

import torch
import transformers as hf
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

import attnlens
from attnlens.cli import main as attnlens_main

REPOSITORY = Path(__file__).resolve().parent.parent
# Command lines. A word such as text|json stands for a case with each; {match} is the sample, {real}
# each real match, {tmp} a temporary folder with prepared files. What --out names is written there
# and is part of the case.
COMMANDS = """
explain|story|predict|match|whatif|over|narrate|check|mcp --help
lab|text|view|audit|record|models|describe|trace|dashboard|schema --help
explain {match} --ball 47 --format text|json|heatmap|summary|prompt|markdown|html
explain {match} --ball 47 --full|--no-evidence|--clauses|--messages=openai|--out={tmp}/out.txt
explain {match} --ball 47 --scale=micro|--scale=long|--outcome=six|--outcome=W
explain {match} --ball 47 --outcome=all|--colour
explain {match} --ball 1|legal:47|7.2|-1|2:60|999|seven|next
explain {match} --ball last --innings 2 --outcome six|seven --json
explain {tmp}/part.csv|no_such_file.csv|sample_data/malformed.csv --ball next
story {match} --format text|json|markdown|html|prompt|card
story {tmp}/part.csv --format text|no_such_format
story {match} --out {tmp}/no/such/folder.txt
over {match} --over 12|2:15|45 --format text|json
over {tmp}/part.csv --over 2:7|next --temperature 1 --top-k 5 --seed 3 --samples 50
whatif {match} --ball 47 --set 'bowler=Gareth Wolverstone'|'bowler=Nobody At All' --set last=W
whatif {match} --ball 47 --set 'batter=Sefa Laumatua'|'bowler=Sefa Laumatua' --json
whatif {match} --ball 2:60 --set target=250 --set ball:50=6 --format text|json
predict|match|view|explan {match}
match {match} sample_data/malformed.csv --check|--json
models --format text|json
describe temporal|attention|tiny|seq2seq|cricket|no_such_model --format text|markdown|json|latex
trace temporal {match} --ball 47 --format text|json
trace attention '1,0,0,1;0,1,0,1' --format text|json
trace tiny 3,1,4,1,5 --format text|json
trace seq2seq 'short of a length and he pulls it away for four' --format text|json
trace cricket {match} --over 12 --format text|json
text explain seq2seq 'short of a length and he pulls it away for four' --format text|json
schema
check tests/passages/rivers.csv {tmp}/rivers.md --format text|json
check tests/explanation_example.json {tmp}/ball.md --strict
view {tmp}/run.safetensors --out|--site {tmp}/view.html
view {tmp}/run.safetensors --json --head 1 --query 2
audit golden:classifier|golden:no_such_function --target good --format text|json|md|html
record golden:classifier --out {tmp}/record.safetensors
lab heads {match} --allow-in-sample --balls 8 --format text|json
lab evaluate {match} --allow-in-sample --baselines none
lab simulate --seed 5 --out {tmp}/simulated.csv
explain {real} --ball 47 --json
story|match {real} --json
predict {real}
"""
REAL_MATCHES = """
{data}/t20_leagues_male_json.zip::1023601.json {data}/t20_leagues_male_json.zip::1252680.json
{data}/t20_leagues_male_json.zip::1185850.json {data}/t20_leagues_female_json.zip::1023679.json
{data}/t20_2025_male_json.zip::1448347.json {data}/t20_2025_male_json.zip::1471003.json
{data}/t20_2025_male_json.zip::1475258.json {data}/t20s_male_json.zip::1119501.json
{data}/t20s_female_csv2.zip::1043989.csv {data}/t20_2025_female_csv2.zip::1443571.csv
"""
RIVERS = "Alderford stands at 2.87 m. It rained for days.\nThe Tessle is a river.\n"
BALL = "A dot ball has a chance of 24%.\n\nA four is likelier than a wicket.\n"
# What differs in every run: the time an audit took, and the mark around the data of a prompt.
CHANGES = r"(?<=forwards, )[\d.]+(?= s)|(?<=\"seconds\": )[\d.]+|(?<=data-)[0-9a-f]{16}"
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 99}


class Attention(nn.Module):
    """Attention of four heads: torch's own function, or with the softmax written by hand."""

    def __init__(self, key_heads: int = 4, by_hand: bool = False, **options: Any) -> None:
        super().__init__()
        self.project = nn.Linear(32, 32 + 16 * key_heads)
        self.sizes, self.by_hand, self.options = (4, key_heads, key_heads), by_hand, options

    def forward(self, x: Tensor) -> Tensor:
        parts = self.project(x).split([8 * size for size in self.sizes], -1)
        q, k, v = (part.unflatten(-1, (-1, 8)).transpose(1, 2) for part in parts)
        if self.by_hand:
            return torch.softmax(q @ k.mT / 8**0.5, -1) @ v
        return scaled_dot_product_attention(q, k, v, **self.options)


def classifier() -> tuple[nn.Module, Tensor]:
    """A model for `attnlens audit golden:classifier`, and a text as numbers."""
    torch.manual_seed(0)
    config = hf.BertConfig(**SIZES, intermediate_size=64, id2label={0: "bad", 1: "good"})
    return hf.BertForSequenceClassification(config).eval(), torch.randint(5, 99, (1, 16))


def recordings() -> dict[str, Any]:
    """By case: a function that makes a model, its inputs, and options of `attnlens.record`."""
    torch.manual_seed(0)
    x, y = torch.randn(2, 9, 32), torch.randn(2, 5, 32)
    ids, mask = torch.randint(5, 99, (2, 9)), torch.rand(9, 9) + torch.eye(9) > 0.3
    layer = {"d_model": 32, "nhead": 4, "dim_feedforward": 48, "batch_first": True}
    t5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "vocab_size": 99}
    encoder = lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(**layer), 2)  # noqa: E731
    ends = {"bos_token_id": 1, "eos_token_id": 2}
    whole = {"outputs": True, "values": True}
    by_hand = {"adapters": attnlens.SoftmaxAdapter("0")} | whole
    return {
        "multihead": (lambda: nn.MultiheadAttention(32, 4, batch_first=True), (x, x, x), {}),
        "encoder": (encoder, (x,), {}),
        "encoder_lazy": (encoder, (x,), {"lazy": True}),
        "encoder_top": (encoder, (x,), {"top_k": 3}),
        "encoder_rows": (encoder, (x,), {"rows": [0, -1]} | whole),
        "decoder": (lambda: nn.TransformerDecoderLayer(**layer), (y, x), {}),
        "transformer": (lambda: nn.Transformer(**layer), (x, y), {}),
        "sdpa_mask": (lambda: Attention(attn_mask=mask), (x,), {}),
        "sdpa_causal": (lambda: Attention(is_causal=True, scale=0.5), (x,), whole),
        "sdpa_grouped": (lambda: Attention(2, enable_gqa=True), (x,), whole),
        "by_hand": (lambda: nn.Sequential(Attention(by_hand=True)), (x,), by_hand),
        "bert": (lambda: hf.BertModel(hf.BertConfig(**SIZES)), (ids,), {}),
        "gpt2": (lambda: hf.GPT2Model(hf.GPT2Config(**SIZES, **ends)), (ids,), {}),
        "t5": (lambda: hf.T5Model(hf.T5Config(**t5)), (ids, None, ids[:, :4]), {}),
    }


def recorded(make: Any, inputs: tuple[Any, ...], options: dict[str, Any]) -> attnlens.Recording:
    """The recording of a model with the weights of seed 0."""
    torch.manual_seed(0)
    model = make().eval()
    with attnlens.record(model, **options) as recording, torch.no_grad():
        model(*inputs)
    return recording


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def digests(recording: attnlens.Recording) -> str:
    """A recording as text: what it says of itself, then SHA-256 of each tensor of each record."""
    lines = [str(recording)]
    for record in recording.records():
        lines += [f"{record.site}, call {record.call}, notes {record.notes}"]
        for name in ("weights", "content", "bias", "keys", "residual", "values", "outputs"):
            if (tensor := getattr(record, name)) is not None:
                digest = sha256(tensor.contiguous().numpy().tobytes())
                lines.append(f"  {name} {tuple(tensor.shape)} {tensor.dtype} {digest}")
    return "\n".join(lines) + "\n"


def commands(data: Path | None, tmp: Path) -> dict[str, str]:
    """Every command line by its case, which the words of the line name."""
    lines = {}
    for line in COMMANDS.strip().replace("{real}", "|".join(REAL_MATCHES.split())).splitlines():
        words = re.findall(r"(?:'[^']*'|[^' ])+", line)  # what stands in quotes is no two words
        for chosen in map(" ".join, product(*(word.split("|") for word in words))):
            if data or "{data}" not in chosen:
                name = re.sub(r"[^\w.=+-]+", "_", chosen.replace(" {match}", "")).strip("_")
                lines[name] = chosen.format(match="sample_data/match.csv", data=data, tmp=tmp)
    return lines


def answer(words: list[str]) -> str:
    """What a command prints and writes, and its exit status."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    temporary = partial(tempfile.TemporaryFile, "w+", encoding="utf-8")  # streams with a number
    with temporary() as out, temporary() as err:
        with redirect_stdout(out), redirect_stderr(err):
            status = attnlens_main(words)
        out.seek(0)
        err.seek(0)
        text, errors = out.read(), err.read()
    path = Path(next((b for a, b in pairwise("=".join(words).split("=")) if a == "--out"), ""))
    if path.is_file():
        saved = path.suffix == ".safetensors"  # the order in its header differs
        text += f"--- {path}\n"
        text += digests(attnlens.load_recording(path)) if saved else path.read_text("utf-8")
    return f"{text}\n--- stderr\n{errors}\n--- exit status\n{status}\n"


def prepare(tmp: Path) -> None:
    """Files that cases read, and an environment in which nothing else changes an answer."""
    for name in [name for name in os.environ if name.startswith("ATTNLENS_")]:
        del os.environ[name]
    os.environ |= {"ATTNLENS_NO_CACHE": "1", "COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}
    os.environ |= {"XDG_CACHE_HOME": str(tmp), "XDG_CONFIG_HOME": str(tmp)}
    os.chdir(REPOSITORY)
    sys.argv = ["attnlens"]
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    balls = Path("sample_data/match.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    for name, text in {
        "rivers.md": RIVERS,
        "ball.md": BALL,
        "part.csv": "".join(balls[:180]),
    }.items():
        (tmp / name).write_text(text, encoding="utf-8")
    recorded(*recordings()["encoder"]).save(str(tmp / "run.safetensors"))


def write(folder: Path, data: Path | None) -> int:
    """Run every case and write its file."""
    folder, data, started = folder.resolve(), data and data.resolve(), time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.txt"):
        old.unlink()
    with tempfile.TemporaryDirectory(prefix="golden_") as name:
        tmp = Path(name).resolve()
        prepare(tmp)
        cases: dict[str, Any] = {f"recording_{key}": made for key, made in recordings().items()}
        cases |= commands(data, tmp)
        for case, made in cases.items():
            if isinstance(made, str):
                text = f"attnlens {made}\n{answer(shlex.split(made))}"
            else:
                text = digests(recorded(*made))
            for path, short in ((tmp, "<tmp>"), (data, "<data>"), (REPOSITORY, "<repository>")):
                text = text.replace(str(path), short) if path else text
            text = re.sub(CHANGES, "<differs>", text)
            (folder / f"{case}.txt").write_text(text, encoding="utf-8")
    print(f"{len(cases)} cases in {time.perf_counter() - started:.0f} s")
    return 0


def difference(old: str, new: str) -> str:
    """The first lines that differ, each from a little before the first character that does."""
    texts = [old.splitlines(), new.splitlines()]
    pairs = zip_longest(*texts, fillvalue="")
    at, (left, right) = next((n, pair) for n, pair in enumerate(pairs) if pair[0] != pair[1])
    same = next((n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), 0)
    first = max(0, same - 60)
    parts = [[line[first : first + 160] for line in text[at : at + 4]] for text in texts]
    shown = list(unified_diff(*parts, lineterm="", n=1))[3:]
    return "\n    ".join([f"    line {at + 1}, from character {first + 1}:", *shown])


def compare(old: Path, new: Path) -> int:
    """Print the cases whose files differ."""
    names = sorted({path.name for folder in (old, new) for path in folder.glob("*.txt")})
    differ = 0
    for name in names:
        files = [folder / name for folder in (old, new)]
        hashes = [sha256(file.read_bytes()) if file.is_file() else "missing" for file in files]
        if hashes[0] != hashes[1]:
            differ += 1
            print(f"{name.removesuffix('.txt')}: {hashes[0][:12]}, {hashes[1][:12]}")
            if "missing" not in hashes:
                print(difference(*(file.read_text(encoding="utf-8") for file in files)))
    print(f"{differ} of {len(names)} cases differ")
    return 1 if differ or not names else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("command", choices=["write", "compare"])
    parser.add_argument("folders", type=Path, nargs="+", help="FOLDER to write, or OLD NEW")
    parser.add_argument("--data", type=Path, help="a folder of Cricsheet zips, for write")
    options = parser.parse_args()
    if len(options.folders) != (1 if options.command == "write" else 2):
        parser.error("write takes one folder, compare two")
    if options.command == "write":
        return write(*options.folders, options.data)
    return compare(*options.folders)


if __name__ == "__main__":
    sys.exit(main())
