"""Numbers as data and as words."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from attnlens.render.numbers import percent, percent_seen, rounded, rounded_all, signed_points


def test_a_number_is_rounded_once_and_is_never_minus_zero() -> None:
    assert rounded(np.float32(0.1), 3) == 0.1
    assert math.copysign(1.0, rounded(-1e-9)) == 1.0


def test_all_floats_of_plain_data_are_rounded_and_nothing_else_is_touched() -> None:
    data = {"a": [np.float32(0.25), 1 / 3, float("nan")], "b": (True, 7, None, "0.3333333")}
    assert json.dumps(rounded_all(data, 3), allow_nan=False) == json.dumps(
        {"a": [0.25, 0.333, None], "b": [True, 7, None, "0.3333333"]}
    )


@pytest.mark.parametrize(
    ("share", "digits", "plain", "seen"),
    [
        (0.171, 0, "17%", "17%"),
        (0.001, 0, "0%", "<1%"),
        (0.0004, 1, "0.0%", "<0.1%"),
        (0.0, 0, "0%", "0%"),
    ],
)
def test_percents(share: float, digits: int, plain: str, seen: str) -> None:
    assert (percent(share, digits), percent_seen(share, digits)) == (plain, seen)
    told = [signed_points(points) for points in (4.88, -3.6, 0.04, -0.04)]
    assert told == ["+4.9", "-3.6", "0.0", "0.0"]
