"""An over as the words of the encoder-decoder.

There is one token for each delivery.

What a token does not say, and nothing brings back: who was out, how, and the runs of a ball on
which a wicket fell (`W` whatever else ran); how many byes or leg byes ran (`b`, `lb`); whether
runs off a no-ball came off the bat; more than six off the bat, more than four beside a wide;
whether four or six were all run; penalty runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attnlens.cricket.match.match import Delivery, Innings

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
