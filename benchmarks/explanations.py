"""Whether sampled explanations are what they are said to be: valid, exact, and told in words.

    python benchmarks/sample_explanations.py t20s_male_json.zip --from 2024-10-24 \
        --model measured --balls 500 --out sampled.jsonl
    python benchmarks/explanations.py sampled.jsonl

Each is validated by the shipped JSON Schema and by the types, written and read again, and its
narrative is checked: two to five sentences, every fact at its pointer, "because" nowhere, and
"informing" only of a supported claim. With ``--prompts`` told instead is how long their prompts
are, by the bound ceil(characters / 2.1) of all that `explain --format prompt` prints, which no
tokenizer in use exceeds. Exit status 1 where anything fails.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib.resources import files
from typing import Any

import jsonschema
from sample_explanations import read_sample

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.pages.prompt import prompt_of
from attnlens.cricket.words import facts
from attnlens.cricket.words.facts import resolve
from attnlens.cricket.words.narrative import ORDER, narrate
from attnlens.show.numbers import percent, signed_points
from attnlens.show.prompt_template import MOST_TOKENS

FEWEST, MOST = 2, 5
FORMS = (
    *(str, facts.counted, facts.outcome_words, facts.tenths, signed_points),
    *(percent, facts.fine_percent, facts.finest_percent, facts.head_number, facts.spaced),
)


def written(value: Any) -> set[str]:
    """Every way in which a value can be a fact's text."""
    texts = set()
    for form in FORMS:
        try:
            texts.add(form(value))
        except (TypeError, ValueError, LookupError, AttributeError):
            continue
    return texts


def faults(data: dict[str, Any], validator: jsonschema.Draft202012Validator) -> Iterator[str]:
    """What is wrong with one explanation, a few words each."""
    if not validator.is_valid(data):
        yield "refused by the schema"
    read = Explanation.from_dict(data)
    text = read.to_json()
    if json.loads(text) != data or read.to_dict() != data:
        yield "changed by the types"
    if Explanation.from_json(text).to_json() != text:
        yield "changed by a round trip"
    if narrate(read) != read.narrative:
        yield "narrative is not what it holds"
    if not FEWEST <= len(data["narrative"]) <= MOST:
        yield "too few or too many sentences"
    for sentence in data["narrative"]:
        rest = sentence["text"]
        for fact in sentence["facts"]:
            _, found, rest = rest.partition(fact["text"])
            if not found or fact["text"] not in written(resolve(data, fact["pointer"])):
                yield f"a fact that does not hold: {fact}"
        if "because" in sentence["text"]:
            yield "a because"
        if "informing" in sentence["text"] and "which is supported" not in sentence["text"]:
            yield "informing without support"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sample", help="explanations, one JSON line each")
    parser.add_argument("--prompts", action="store_true", help="how long their prompts are")
    options = parser.parse_args()
    sample = read_sample(options.sample)
    return prompts(sample) if options.prompts else checked(sample)


def prompts(sample: Iterable[dict[str, Any]]) -> int:
    """How long prompts are; 1 where one is too long."""
    tokens: list[int] = []
    for data in sample:
        tokens.append(prompt_of(Explanation.from_dict(data)).tokens)
    over = sum(count > MOST_TOKENS for count in tokens)
    print(f"prompts {len(tokens)}, longer than {MOST_TOKENS:,} tokens by the bound: {over}")
    print(f"tokens by the bound: median {statistics.median(tokens):,.0f}, most {max(tokens):,}")
    return 1 if over else 0


def checked(sample: Iterable[dict[str, Any]]) -> int:
    """What is wrong with the explanations; 1 where anything is."""
    schema = json.loads(
        files("attnlens.cricket.explain").joinpath("schema.json").read_text("utf-8")
    )
    validator = jsonschema.Draft202012Validator(schema)
    count, sentences, told = 0, Counter[int](), 0
    leading: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for data in sample:
        count += 1
        wrong.update(faults(data, validator))
        sentences[len(data["narrative"])] += 1
        told += sum(len(one["facts"]) for one in data["narrative"])
        verdicts = {
            claim["verdict"]
            for claim in data["evidence"]
            if claim["removed"] and claim["removed_from"] == "model" and not claim["reference"]
        }
        leading[next((str(one) for one in ORDER if one in verdicts), "no claim")] += 1
    print(f"{count} explanations, {told} facts; sentences: {dict(sorted(sentences.items()))}")
    print(f"best verdict of a claim that past balls mattered: {dict(leading.most_common())}")
    print(f"faults: {dict(wrong) or 'none'}")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
