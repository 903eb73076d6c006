"""An over as the words of the encoder-decoder, and what overs that it draws bring.

There is one token for each delivery.

What a token does not say, and nothing brings back: who was out, how, and the runs of a ball on
which a wicket fell (`W` whatever else ran); how many byes or leg byes ran (`b`, `lb`); whether
runs off a no-ball came off the bat; more than six off the bat, more than four beside a wide;
whether four or six were all run; penalty runs.

Drawn overs bring runs too. A token does not tell all of them: they are drawn from how often such a
delivery brought 0, 1, ... in training. The innings ends where its rules end it, which the tokens
alone do not: with the target reached, or with nobody left to bat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from attnlens.arrays import Floats, Integers
from attnlens.cricket.match.match import Delivery, Innings
from attnlens.cricket.match.next_ball import ALL_OUT
from attnlens.show.numbers import rounded

SPECIAL: Final[tuple[str, ...]] = ("<pad>", "<start>", "<end>")
MOST_WIDE: Final = 4
OFF_NO_BALL: Final[tuple[int, ...]] = (0, 1, 2, 3, 4, 6)

TOKENS: Final[tuple[str, ...]] = (
    *SPECIAL,
    *map(str, range(7)),
    "W",
    "wd",
    *(f"wd+{runs}" for runs in range(1, MOST_WIDE + 1)),
    *("nb" if not runs else f"nb+{runs}" for runs in OFF_NO_BALL),
    "lb",
    "b",
)
"""The vocabulary, in the order of every vector of probabilities: 24 tokens."""

TOKEN_INDEX: Final[dict[str, int]] = {token: number for number, token in enumerate(TOKENS)}
END: Final = "<end>"


def token_of(ball: Delivery) -> str:
    """The token of one delivery.

    A counted wicket is ``W`` whatever else ran; then a wide, by the runs beside the wide itself;
    a no-ball, by the runs beside the no-ball, bat, byes or leg byes; then runs off the bat; leg
    byes; byes; else ``0``. What is more than the largest token of its kind is that token, and
    five beside a no-ball are ``nb+6``.
    """
    if ball.outcome == "W":
        return "W"
    extras = ball.extras
    ran = ball.runs_total - extras.get("penalty", 0) - 1
    if extras.get("wides"):
        return "wd" if ran <= 0 else f"wd+{min(ran, MOST_WIDE)}"
    if extras.get("noballs"):
        if ran <= 0:
            return "nb"
        return f"nb+{ran if ran in OFF_NO_BALL else OFF_NO_BALL[-1]}"
    if ball.runs_batter:
        return str(min(ball.runs_batter, 6))
    if extras.get("legbyes"):
        return "lb"
    return "b" if extras.get("byes") else "0"


def legal(token: str) -> bool:
    """Whether a ball with this token counts towards the over, as far as the token tells.

    ``W`` does, though a wicket may fall on a wide or a no-ball.
    """
    return token not in SPECIAL and not token.startswith(("wd", "nb"))


def overs_of(innings: Innings) -> dict[int, tuple[Delivery, ...]]:
    """The deliveries of each over, by the over's number as the file labels it, in file order."""
    found: dict[int, list[Delivery]] = {}
    for ball in innings.deliveries:
        found.setdefault(ball.over, []).append(ball)
    return {over: tuple(balls) for over, balls in found.items()}


def fewer_balls(innings: Innings) -> int | None:
    """The balls of an over that count, where they are fewer than six; else ``None``."""
    return innings.balls_per_over if innings.balls_per_over < 6 else None


def written(tokens: Sequence[int], balls: int | None = None) -> list[str]:
    """Token numbers as words, up to and with ``<end>``; padding is left out.

    Where ``balls`` is given, the over ends with that many balls that count.
    """
    words: list[str] = []
    for number in tokens:
        word = TOKENS[number]
        if word == SPECIAL[0] or (word != END and sum(map(legal, words)) == balls):
            break
        words.append(word)
        if word == END:
            break
    return words


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends an innings inside an over.

    Attributes:
        runs: needed to reach the target; ``None`` without one.
        wickets: left.
        balls: that count, of the over, where they are fewer than six; else ``None``.
    """

    runs: int | None
    wickets: int
    balls: int | None = None

    @classmethod
    def of(cls, innings: Innings, score: int, wickets: int) -> Limits:
        """As they stand at a score; a target that was passed before is none."""
        target = innings.target
        needed = None if target is None or score >= target else target - score
        out = 2 if innings.super_over else ALL_OUT
        return cls(needed, max(out - wickets, 1), fewer_balls(innings))


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Overs drawn, a row each.

    Attributes:
        runs, wickets: of each, as far as the innings went ``(over,)``.
        finished: whether it came to an end within the model's length ``(over,)``.
    """

    runs: Integers
    wickets: Integers
    finished: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.runs)


def brought(
    tokens: Integers, token_runs: Floats, limits: Limits, generator: np.random.Generator
) -> Drawn:
    """What overs written as tokens ``(over, place)`` bring; ``<end>`` or padding ends each."""
    deliveries = tokens >= len(SPECIAL)
    edges = token_runs.cumsum(1)[tokens]
    runs = (generator.random(tokens.shape)[..., None] >= edges[..., :-1]).sum(-1) * deliveries
    wickets = (tokens == TOKEN_INDEX["W"]) & deliveries
    before_runs = runs.cumsum(1) - runs
    before_wickets = wickets.cumsum(1) - wickets
    played = deliveries & (before_wickets < limits.wickets)
    if limits.runs is not None:
        played &= before_runs < limits.runs
    if limits.balls is not None:
        counted = np.array([legal(token) for token in TOKENS], np.int64)[tokens]
        played &= counted.cumsum(1) - counted < limits.balls
    stopped = (deliveries & ~played).any(1)
    finished = (tokens == TOKEN_INDEX[END]).any(1) | stopped
    return Drawn((runs * played).sum(1), (wickets & played).sum(1), finished)


@dataclass(frozen=True, slots=True)
class RunsDrawn:
    """How many runs the overs brought, and how often each number."""

    mean: float
    median: int
    from_tenth_to_ninth: list[int]
    shares: list[dict[str, float]]


@dataclass(frozen=True, slots=True)
class WicketsDrawn:
    """How many wickets fell in the overs, and how often each number."""

    mean: float
    at_least_one: float
    shares: list[dict[str, float]]


@dataclass(frozen=True, slots=True)
class Samples:
    """Overs that were drawn, as distributions of what they bring."""

    count: int
    seed: int
    runs: RunsDrawn
    wickets: WicketsDrawn
    unfinished: float


def samples_of(drawn: Drawn, *, seed: int) -> Samples:
    """Overs drawn, described."""
    low, middle, high = np.quantile(drawn.runs, [0.1, 0.5, 0.9], method="inverted_cdf").tolist()
    runs, fell = drawn.runs, drawn.wickets
    tenths = [int(low), int(high)]
    return Samples(
        len(runs),
        seed,
        RunsDrawn(rounded(runs.mean()), int(middle), tenths, _shares(runs, "runs")),
        WicketsDrawn(rounded(fell.mean()), rounded((fell > 0).mean()), _shares(fell, "wickets")),
        rounded((~drawn.finished).mean()),
    )


def _shares(values: Integers, name: str) -> list[dict[str, float]]:
    """How often each number came, from 0 to the largest."""
    counts = np.bincount(values).tolist()
    return [
        {name: number, "share": rounded(count / len(values))} for number, count in enumerate(counts)
    ]
