"""How long prompts are, over a sample of balls.

    python benchmarks/sample_explanations.py t20s_male_json.zip --from 2024-10-24 \
        --model measured --balls 500 --out sampled.jsonl
    python benchmarks/prompt_tokens.py sampled.jsonl

The bound is ceil(characters / 2.1) of all that `explain --format prompt` prints, which no tokenizer
in use exceeds. Exits with 1 where a prompt passes it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import defaultdict

from sample_explanations import read_sample

from attnlens.render.prompt import MOST_TOKENS, prompt_of


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sample", help="explanations, JSON lines")
    options = parser.parse_args()
    tokens: list[int] = []
    lost: dict[str, list[int]] = defaultdict(list)
    for data in read_sample(options.sample):
        prompt = prompt_of(data)
        tokens.append(prompt.tokens)
        for name, count in prompt.left_out.items():
            lost[name].append(count)
    over = sum(count > MOST_TOKENS for count in tokens)
    print(f"prompts {len(tokens)}, longer than {MOST_TOKENS:,} tokens by the bound: {over}")
    print(f"tokens by the bound: median {statistics.median(tokens):,.0f}, most {max(tokens):,}")
    for name, counts in sorted(lost.items()):
        print(
            f"rows of {name} left out: in {len(counts)} prompts, median "
            f"{statistics.median(counts):.0f}, most {max(counts)}"
        )
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
