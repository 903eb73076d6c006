"""Who was at the other end, from who faced and who was out, ball by ball."""

from __future__ import annotations

from collections.abc import Sequence


def non_strikers(balls: Sequence[tuple[str, str]]) -> list[str | None]:
    """The non-striker of each ball of an innings, ``None`` where it cannot be told.

    Two batters stand together until one is out. Those who faced while they stood
    together, and the one who was out at the end, are the two; where only one of
    them is seen, the other is the one who stayed in from the pair before.

    Args:
        balls: the striker, and who was out on that ball or an empty text.
    """
    spans: list[list[tuple[str, str]]] = [[]]
    for ball in balls:
        spans[-1].append(ball)
        if ball[1]:
            spans.append([])
    partners: list[str | None] = []
    stayed: str | None = None
    for span in spans:
        pair = {name for ball in span for name in ball if name}
        if len(pair) == 1 and stayed is not None:
            pair.add(stayed)
        whole = len(pair) == 2
        for striker, _ in span:
            others = pair - {striker}
            partners.append(others.pop() if whole and len(others) == 1 else None)
        if span:
            out = span[-1][1]
            left = pair - {out}
            stayed = left.pop() if whole and out in pair and len(left) == 1 else None
    return partners
