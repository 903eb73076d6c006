"""How often a model's answers are right: whole answers, and token by token."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from attnlens.analysis.scores import wilson
from attnlens.text.checks import WAYS
from attnlens.text.explain import explain_text
from attnlens.text.pairs import Pair, Pairs
from attnlens.text.trained import TextModel


@dataclass(frozen=True, slots=True)
class Figures:
    """Whole answers right and tokens right; ``None`` where there is no pair.

    Attributes:
        exact, exact_ci: the share of whole answers right, and Wilson's 95% interval.
        tokens: the share of tokens right.
    """

    pairs: int
    exact: float | None = None
    exact_ci: tuple[float, float] | None = None
    tokens: float | None = None


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Claims of every token of some answers, by one way of taking words away.

    Attributes:
        tokens, tested: how many claims, and how many of them could be tested; the rest are shares
            of these, ``None`` where there is none.
        strongest, strongest_by_chance: of claims that name the set of words that does most.
    """

    tokens: int
    tested: int
    supported: float | None = None
    not_better_than_chance: float | None = None
    contradicted: float | None = None
    strongest: float | None = None
    strongest_by_chance: float | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """What every token of some answers looked at, tested; by way of `WAYS`."""

    answers: int
    ways: dict[str, Verdicts]


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Which model."""

    name: str
    sha256: str
    parameters: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Figures of the pairs of a file that a model was kept from.

    Attributes:
        pairs: of the file.
        new_combinations: of those held out with their whole combination.
    """

    model: Evaluated
    pairs: int
    held_out: Figures
    new_combinations: Figures
    checked: Checked | None = None


def summary(
    held_out: Figures, new_combinations: Figures, checked: Checked | None = None
) -> list[str]:
    """What the figures say, a line each."""
    lines = [
        _figures_line(held_out, "held-out pairs"),
        _figures_line(new_combinations, "held-out pairs of combinations never trained on"),
    ]
    for way, found in checked.ways.items() if checked else ():
        if not found.tested:
            lines.append(f"{way}: no claim of {found.tokens} could be tested")
            continue
        assert checked is not None
        lines.append(
            f"taken from {way}, {checked.answers} answers, {found.tested:,} claims: "
            f"{found.supported:.1%} supported, {found.not_better_than_chance:.1%} not better "
            f"than chance, {found.contradicted:.1%} contradicted; no other words do as much: "
            f"{found.strongest:.1%} (by chance {found.strongest_by_chance:.1%})"
        )
    return lines


def figures(model: TextModel, pairs: Sequence[Pair]) -> Figures:
    """Whole answers right and tokens right among ``pairs``.

    A token is right where the answer written has it at the same place; the places are those of
    the longer of the two answers. An expected word that the vocabulary has not is never right.
    """
    if not pairs:
        return Figures(0)
    answers = model.answers([pair.source for pair in pairs])
    exact = hits = places = 0
    for pair, answer in zip(pairs, answers, strict=True):
        exact += tuple(answer) == pair.target
        hits += sum(one == other for one, other in zip(answer, pair.target, strict=False))
        places += max(len(answer), len(pair.target))
    low, high = wilson(exact, len(pairs))
    return Figures(
        len(pairs),
        round(exact / len(pairs), 6),
        (round(low, 6), round(high, 6)),
        round(hits / places, 6),
    )


def evaluate(
    model: TextModel,
    data: Pairs,
    *,
    checked: int = 0,
    seed: int = 0,
    told: Callable[[int], None] = lambda _: None,
) -> Evaluation:
    """`figures` on the pairs that the model's rule kept from training.

    Args:
        checked: on how many of those pairs to test what every token looked at as well.
        seed: of which pairs those are.
        told: called with the number of answers tested so far.
    """
    _, held_out, new = model.rule.split(data.pairs)
    tested = None
    if checked:
        pairs = [*held_out, *new]
        chosen = Random(seed).sample(pairs, min(checked, len(pairs)))
        tested = Checked(len(chosen), _verdicts(model, chosen, told))
    return Evaluation(
        Evaluated(model.name, model.sha256, model.parameters),
        len(data.pairs),
        figures(model, held_out),
        figures(model, new),
        tested,
    )


def _verdicts(
    model: TextModel, pairs: Sequence[Pair], told: Callable[[int], None]
) -> dict[str, Verdicts]:
    """Verdicts on what every token of the answers looked at, counted for each way."""
    counts: dict[str, Counter[str]] = {way: Counter() for way in WAYS}
    by_chance = dict.fromkeys(WAYS, 0.0)
    for done, pair in enumerate(pairs, 1):
        explanation = explain_text(model, " ".join(pair.source))
        for claim in explanation.evidence:
            counts[claim.removed_from][claim.verdict or "no claim"] += 1
        for one in explanation.overall:
            counts[one.removed_from]["strongest"] += one.strongest
            by_chance[one.removed_from] += round(one.strongest_by_chance, 6)
        told(done)
    ways = {}
    for way, count in counts.items():
        tested = sum(count.values()) - count["no claim"] - count["strongest"]

        def share(number: float, among: int = tested) -> float | None:
            return round(number / among, 6) if among else None

        ways[way] = Verdicts(
            tokens=tested + count["no claim"],
            tested=tested,
            supported=share(count["supported"]),
            not_better_than_chance=share(count["not better than chance"]),
            contradicted=share(count["contradicted"]),
            strongest=share(count["strongest"]),
            strongest_by_chance=share(by_chance[way]),
        )
    return ways


def _figures_line(found: Figures, words: str) -> str:
    if found.exact is None or found.exact_ci is None:
        return f"{words}: none"
    low, high = found.exact_ci
    return (
        f"{found.pairs:,} {words}: {found.exact:.1%} of the answers right "
        f"[{low:.1%}, {high:.1%}], {found.tokens:.1%} of the tokens"
    )
