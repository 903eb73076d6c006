"""How well `attnlens check` tells true sentences from spoilt ones.

    python benchmarks/sample_explanations.py t20s_male_json.zip --from 2024-10-24 \
        --model measured --balls 700 --out sampled.jsonl
    python benchmarks/grounding.py sampled.jsonl --balls 100

Sets of sentences about each explanation: our own narrative; paraphrases that the checker was made
with; five sets, and six of passages as a language model would write them, each written before it
was measured and measured once. All but the sixth passages have been used since; their figures when
new are in `docs/check.md`. The later sets have balls of their own where 700 were sampled.

Each true sentence is also spoilt
in one place in every way that fits it. Recall is the share of spoilt sentences that are found,
precision the share of spoilt ones among those found, where as many true as spoilt sentences are
asked about (spoilt ones are drawn). ``--own`` checks our narrative and summary alone.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from grounding_passages import drawn
from grounding_passages_blind import FIFTH_PASSAGES, SIXTH_PASSAGES
from grounding_passages_later import FOURTH_PASSAGES, THIRD_PASSAGES
from grounding_passages_text import FIRST_PASSAGES, SECOND_PASSAGES
from grounding_sentences import Sentence, sentences_about, spoilt_facts
from grounding_templates import (
    FIRST_ROUND,
    FOURTH_ROUND,
    HELD_OUT,
    SECOND_ROUND,
    THIRD_ROUND,
    TUNED,
)
from sample_explanations import read_sample

from attnlens.explanation.grounding import Checker

OWN = "our own words"
PASSAGES = {
    "first passages": FIRST_PASSAGES,
    "second passages": SECOND_PASSAGES,
    "third passages": THIRD_PASSAGES,
    "fourth passages": FOURTH_PASSAGES,
    "fifth passages": FIFTH_PASSAGES,
    "sixth passages": SIXTH_PASSAGES,
}
SETS = {
    "tuned": TUNED,
    "first round": FIRST_ROUND,
    "second round": SECOND_ROUND,
    "third round": THIRD_ROUND,
    "fourth round": FOURTH_ROUND,
    "held out": HELD_OUT,
}


def asked(
    data: Mapping[str, Any], which: str, chance: random.Random
) -> Iterator[tuple[Sentence, bool]]:
    """Sentences about one explanation, and whether anything unsupported is found in each."""
    checker = Checker(data)
    if which != OWN:
        templates = SETS[which]
        for sentence in sentences_about(data, templates, chance):
            yield sentence, bool(checker.check(sentence.text))
        return
    texts = [sentence["text"] for sentence in data["narrative"]]
    for place, found in enumerate(found_in(checker, texts)):
        yield Sentence(texts[place], "own", None), found
    for place, text, kind in spoilt_facts(data, chance):
        changed = [*texts[:place], text, *texts[place + 1 :]]
        yield Sentence(text, "own", kind), found_in(checker, changed)[place]


def found_in(checker: Checker, texts: list[str]) -> list[bool]:
    """Whether anything is found in each sentence of a narrative; a line each."""
    lines = "\n\n".join(texts)
    found = [False] * len(texts)
    for sentence, several in checker.sentences(lines):
        if several:
            place = next((at for at, text in enumerate(texts) if sentence in text), None)
            if place is not None:
                found[place] = True
    return found


def passages(
    path: str, which: str, balls: int, chance: random.Random
) -> list[tuple[Sentence, bool]]:
    """Passages about balls of a sample, true and spoilt, and whether each is found.

    A spoilt one is found where something is found that the true one did not have.
    """
    first = 100 * (1 + list(PASSAGES).index(which))
    every = list(read_sample(path))
    sample = every[first : first + balls] or every[:balls]
    checkers = {id(data): Checker(data) for data in sample}
    results: list[tuple[Sentence, bool]] = []
    for data, passage in drawn(sample, PASSAGES[which], chance, each=6):
        found = checkers[id(data)].check(passage.true)
        results.append((Sentence(passage.true, passage.about, None), bool(found)))
        if passage.wrong is not None:
            alarms = {(one.text, one.kind, one.problem) for one in found}
            new = [
                one
                for one in checkers[id(data)].check(passage.wrong)
                if (one.text, one.kind, one.problem) not in alarms
            ]
            results.append((Sentence(passage.wrong, passage.about, passage.kind), bool(new)))
    return results


def report(
    which: str, results: list[tuple[Sentence, bool]], chance: random.Random, show: int
) -> None:
    true = [found for sentence, found in results if sentence.spoilt is None]
    wrong: dict[str, list[bool]] = defaultdict(list)
    for sentence, found in results:
        if sentence.spoilt is not None:
            wrong[sentence.spoilt].append(found)
    every = [found for several in wrong.values() for found in several]
    recall = sum(every) / len(every)
    alarms = sum(true) / len(true)
    precision = recall / (recall + alarms)
    print(f"\n{which}: {len(true)} true, {len(every)} spoilt sentences")
    print(f"  recall {recall:.3f}   precision {precision:.3f}")
    print(f"  true sentences found fault with: {alarms:.3f}")
    for kind in sorted(wrong):
        hits, count = sum(wrong[kind]), len(wrong[kind])
        print(f"    {kind:<26} {hits:>5} of {count:>5}   {hits / count:.3f}")
    if show:
        missed = [s for s, found in results if (s.spoilt is not None) != found]
        chance.shuffle(missed)
        for sentence in missed[:show]:
            print(f"    [{sentence.spoilt or 'TRUE'}] {sentence.text}")


def own_words(path: str, balls: int) -> int:
    """Our narrative and summary: how many have something that the check finds."""
    kinds: Counter[str] = Counter()
    count = faults = 0
    for data in read_sample(path):
        if count == balls:
            break
        count += 1
        texts = [sentence["text"] for sentence in data["narrative"]]
        found = Checker(data).check("\n\n".join([" ".join(texts), data["summary"]]))
        faults += bool(found)
        kinds.update(one.kind for one in found)
        for one in found:
            print(f"  {one.text!r} {one.problem}: {one.sentence}")
    told = f"{faults} with something not in the explanation {dict(kinds) or ''}"
    print(f"our narrative and summary of {count} balls: {told}")
    return 1 if faults else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sample", help="explanations, JSON lines")
    parser.add_argument("--balls", type=int, default=100)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--only", choices=(OWN, *SETS, *PASSAGES))
    parser.add_argument("--show", type=int, default=0, help="print so many wrong answers")
    parser.add_argument("--own", action="store_true", help="our narrative and summary alone")
    options = parser.parse_args()
    if options.own:
        return own_words(options.sample, options.balls)
    for which in (OWN, *SETS):
        if options.only not in (None, which):
            continue
        chance = random.Random(options.seed)
        results: list[tuple[Sentence, bool]] = []
        for number, data in enumerate(read_sample(options.sample)):
            if number == options.balls:
                break
            results += asked(data, which, chance)
        report(which, results, chance, options.show)
    for which in PASSAGES:
        if options.only in (None, which):
            chance = random.Random(options.seed)
            found = passages(options.sample, which, options.balls, chance)
            report(which, found, chance, options.show)
    return 0


if __name__ == "__main__":
    sys.exit(main())
