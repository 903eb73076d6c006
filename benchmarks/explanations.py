"""Whether sampled explanations are what they are said to be: valid, exact, and told in words.

    python benchmarks/explanations.py sampled.jsonl --draw t20s_male_json.zip --from 2024-10-24 \
        --model measured --balls 500
    python benchmarks/explanations.py sampled.jsonl

Drawn are balls of many matches, first balls, super overs and balls not yet bowled too, one in ten
asked about one outcome; the seed is fixed, lines are written as they are worked out. Each is
validated by the shipped JSON Schema and by the types, written and read again, and its narrative is
checked: two to five sentences, every fact at its pointer, "because" nowhere, and "informing" only
of a supported claim. With ``--prompts`` told instead is how long their prompts are, by
attnlens's own bound (`prompt_tokens.py` counts by tokenizers). Exit status 1 where anything fails.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.match.match import Match
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.pages.prompt import prompt_of
from attnlens.cricket.readers import read_matches
from attnlens.cricket.session import Session
from attnlens.cricket.words import facts
from attnlens.cricket.words.facts import resolve
from attnlens.cricket.words.narrative import ORDER, narrate
from attnlens.errors import AttnlensError
from attnlens.show.numbers import percent, signed_points
from attnlens.show.prompt_template import MOST_TOKENS

FEWEST, MOST = 2, 5
FORMS = (
    *(str, facts.counted, facts.outcome_words, facts.tenths, signed_points),
    *(percent, facts.fine_percent, facts.finest_percent, facts.head_number, facts.spaced),
)


def shuffled(matches: list[Match], seed: int) -> list[tuple[Match, BallReference]]:
    """Every ball once, those after the last ones included, in an order that the seed gives."""
    found = [
        (match, BallReference(side.number, index))
        for match in matches
        for side in match.innings
        for index in range(1, len(side.deliveries) + 2)
    ]
    random.Random(seed).shuffle(found)
    return found


def explained(
    matches: list[Match], *, model: str | None, balls: int, seed: int
) -> Iterator[dict[str, Any]]:
    """So many balls' explanations; a ball of which nobody can tell who plays it is passed over."""
    session = Session(model)
    number = 0
    for match, reference in shuffled(matches, seed):
        if number == balls:
            return
        try:
            match, reference = session.ball(match, reference)
        except AttnlensError as error:
            print(
                f"passed over: {match.match_id}, the ball after the last: {error}",
                file=sys.stderr,
            )
            continue
        outcome = OUTCOMES[number // 10 % len(OUTCOMES)] if number % 10 == 9 else None
        number += 1
        yield session.explain(match, ball=reference, outcome=outcome).to_dict()


def read_sample(path: str | Path) -> Iterator[dict[str, Any]]:
    """The explanations of a file of JSON lines."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


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
    parser.add_argument("--draw", metavar="SRC", help="write the sample, of these matches")
    parser.add_argument("--from", dest="first", type=datetime.date.fromisoformat)
    parser.add_argument("--model")
    parser.add_argument("--balls", type=int, default=500)
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    if options.draw:
        return draw(options)
    sample = read_sample(options.sample)
    return prompts(sample) if options.prompts else checked(sample)


def draw(options: argparse.Namespace) -> int:
    """Write a sample."""
    matches = [
        match
        for match in read_matches(options.draw, on_error="skip")
        if options.first is None or (match.date is not None and match.date >= options.first)
    ]
    balls = explained(matches, model=options.model, balls=options.balls, seed=options.seed)
    with open(options.sample, "w", encoding="utf-8") as file:
        for data in balls:
            print(json.dumps(data, ensure_ascii=False), file=file, flush=True)
    print(f"drawn from {len(matches)} matches: {options.sample}")
    return 0


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
