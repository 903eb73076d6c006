"""One fact in many wordings: each sentence is borne out, and found once a word in it is spoilt."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_grounding import checker, data  # noqa: F401  (what its explanation says stands there)

from attnlens.explanation.grounding import Checker
from attnlens.explanation.grounding_fractions import fractions_in
from attnlens.explanation.grounding_rounded import fits
from attnlens.explanation.grounding_spelt import in_digits
from attnlens.explanation.grounding_units import numbers_in

PAIRS = (
    # Numbers in words, hedged, and once with their unit for two.
    ("A single is at forty-two per cent.", "A single is at forty-three per cent."),
    ("The Comets are fifty-two for one.", "The Comets are fifty-three for one."),
    ("A shade over 40% goes to a single.", "A shade under 40% goes to a single."),
    ("Just under 30% goes to a dot ball.", "Just under 80% goes to a dot ball."),
    ("This batter's earlier balls add 8.2 points to a single, and the scoreboard adds 3.4.",
     "This batter's earlier balls add 8.2 points to a single, and the scoreboard adds 5.4."),
    # So many in so many.
    ("Roughly two deliveries in five would bring a single.",
     "Roughly two deliveries in five would bring a wicket."),
    ("If this ball were bowled thirteen times, you would expect a four from about one of them.",
     "If this ball were bowled five times, you would expect a four from about one of them."),
    ("About a quarter of such balls would be dots.", "About half of such balls would be dots."),
    ("More than one ball in three should bring a single.",
     "Less than one ball in three should bring a single."),
    # Lists told in turn, ranks, sums and gaps.
    ("The front-runners are a single and a dot ball - 42% and 28% respectively.",
     "The front-runners are a single and a dot ball - 28% and 42% respectively."),
    ("The likeliest alternative to a single is a dot ball, at 28%.",
     "The likeliest alternative to a dot ball is a single, at 42%."),
    ("Only a single is likelier than a dot ball.", "Only a four is likelier than a dot ball."),
    ("Between them the single and the dot ball have 70% of the probability.",
     "Between them the single and the dot ball have 80% of the probability."),
    ("A dot ball is less likely than a single.", "A dot ball is more likely than a single."),
    # Directions in verbs, nouns and comparisons.
    ("Baseline 30%, forecast 42% - a gain of 12.2 points for a single.",
     "Baseline 30%, forecast 42% - a loss of 12.2 points for a single."),
    ("A dot ball sits at 28%, below the 39% of a ball without context.",
     "A dot ball sits at 28%, above the 39% of a ball without context."),
    ("8.2 points are put on a single by this batter's earlier balls.",
     "8.2 points are taken off a single by this batter's earlier balls."),
    ("3.4 points are put on a single by the scoreboard, with the venue and teams responsible for "
     "1.5 the other way.",
     "3.4 points are taken off a single by the scoreboard, with the venue and teams responsible "
     "for 1.5 the other way."),
    ("A single is likelier than most balls would have it (42%, as opposed to 30%).",
     "A single is less likely than most balls would have it (42%, as opposed to 30%)."),
    # Hiding in other words, and what was there before.
    ("Masking 4.5, 4.3, 3.6 and 3.1 leaves a single on 40%, having been on 42%.",
     "Masking 4.5, 4.3, 3.6 and 3.1 leaves a single on 42%, having been on 40%."),
    ("Blind the model to balls 4.5, 4.3, 3.6 and 3.1 and a single drops to 40%.",
     "Blind the model to balls 4.5, 4.3, 3.6 and 3.1 and a single rises to 40%."),
    ("A single is at 43% without the scoreboard, 42% with it in the picture.",
     "A single is at 42% without the scoreboard, 43% with it in the picture."),
    ("It becomes 40% - that is, a single falls - once balls 4.5, 4.3, 3.6 and 3.1 are withheld.",
     "It becomes 49% - that is, a single falls - once balls 4.5, 4.3, 3.6 and 3.1 are withheld."),
    # Attention and its even share; the shares of the prediction.
    ("On the medium scale, this batter's balls drew 49% of the weight; an indifferent model would "
     "have placed 34% there.",
     "On the medium scale, this batter's balls drew 49% of the weight; an indifferent model would "
     "have placed 31% there."),
    ("When the memories are combined, the medium scale has a share of 17%.",
     "When the memories are combined, the medium scale has a share of 13%."),
    # Verdicts in other words.
    ("Balls 4.5, 4.3, 3.6 and 3.1 were in its focus, and the check bears them out.",
     "Balls 7.1, 6.6, 6.5 and 6.4 were in its focus, and the check bears them out."),
    ("It looked at 7.1, 6.6, 6.5 and 6.4; balls picked at random would do just as well.",
     "It looked at 4.5, 4.3, 3.6 and 3.1; balls picked at random would do just as well."),
    ("There is no statistical backing for the influence of 7.1, 6.6, 6.5 and 6.4.",
     "There is statistical backing for the influence of 7.1, 6.6, 6.5 and 6.4."),
    ("Hiding 4.5, 4.3, 3.6 and 3.1 does more to the forecast than hiding an arbitrary set would.",
     "Hiding 4.5, 4.3, 3.6 and 3.1 does no more to the forecast than hiding an arbitrary set."),
    # What happened, in words of the game.
    ("Reality delivered a dot ball, a result given 28% beforehand.",
     "Reality delivered a wicket, a result given 28% beforehand."),
    ("There was a maximum at 6.6.", "There was a maximum at 6.5."),
    ("The four deliveries it kept in focus, 7.1, 6.6, 6.5 and 6.4, were looked at.",
     "The six deliveries it kept in focus, 7.1, 6.6, 6.5 and 6.4, were looked at."),
    # Sides and players.
    ("A scoring rate of 7.26 has carried the Comets to 52/1.",
     "A scoring rate of 7.26 has carried the Herons to 52/1."),
    ("The Herons are conceding 7.26 runs per over.",
     "The Comets are conceding 7.26 runs per over."),
    ("Against the Herons, the Comets have moved along to reach 52/1.",
     "Against the Comets, the Herons have moved along to reach 52/1."),
    ("The Herons have turned to Thistlemoor.", "The Herons have turned to Harrowgate."),
    ("When Harrowgate bowled 6.6, it went for six.", "When Mbekwane bowled 6.6, it went for six."),
    ("Ball 6.5 was a four, with Wetherspring on strike to Harrowgate.",
     "Ball 6.5 was a four, with Wetherspring on strike to Mbekwane."),
    ("A single has a probability of 0.42.", "A single has a probability of 0.43."),
    ("A dot ball is expected less than half the time.",
     "A dot ball is expected just over half the time."),
    ("The attention to 4.5, 4.3, 3.6 and 3.1 had a measurable influence.",
     "The attention to 4.5, 4.3, 3.6 and 3.1 had no measurable influence."),
    ("Neither 7.1, 6.6, 6.5 and 6.4 nor anything like them passed the test.",
     "Surely 7.1, 6.6, 6.5 and 6.4 passed the test."),
    # How often such calls come true.
    ("Forecasts in this range - 42% on average for a single - have come true 42% of the time.",
     "Forecasts in this range - 42% on average for a single - have come true 52% of the time."),
)  # fmt: skip


@pytest.mark.parametrize(("true", "spoilt"), PAIRS)
def test_each_wording_is_read(checker: Checker, true: str, spoilt: str) -> None:  # noqa: F811
    assert checker.check(true) == []
    found = checker.check(spoilt)
    assert found
    assert all(one.sentence == spoilt for one in found)


def test_words_that_are_found_are_shown_as_written(checker: Checker) -> None:  # noqa: F811
    (found,) = checker.check("A single is at forty-three per cent.")
    assert (found.text, found.nearest) == ("forty-three per cent", "42%")


def test_how_a_sum_is_split_is_no_cause(checker: Checker, data: dict[str, Any]) -> None:  # noqa: F811
    split = "A single is lifted by 8.2 points on account of this batter's earlier balls."
    assert checker.check(split) == []
    assert {one["verdict"] for one in data["evidence"] if one["kind"] == "the scoreboard"} != {
        "supported"
    }
    cause = "A single is likelier on account of the scoreboard."
    assert [one.kind for one in checker.check(cause)] == ["cause"]


@given(st.integers(0, 99))
def test_every_number_in_words_is_its_digits(number: int) -> None:
    ones = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    ones += "fifteen sixteen seventeen eighteen nineteen"
    tens = "twenty thirty forty fifty sixty seventy eighty ninety"
    words = ones.split()[number] if number < 20 else tens.split()[number // 10 - 2]
    if number > 20 and number % 10:
        words += f"-{ones.split()[number % 10]}"
    text, written = in_digits(f"it has {words} per cent")
    assert text == f"it has {number} per cent"
    assert written[f"{number} per cent"] == f"{words} per cent"


@given(st.floats(0.01, 99.0))
def test_a_hedge_allows_one_side_only(value: float) -> None:
    (number,) = numbers_in("50%")
    under, over = (fits(number, value, f"just {word} ", "") for word in ("under", "over"))
    assert under == (46.5 <= value <= 50.15)
    assert over == (49.85 <= value <= 53.5)


@given(st.integers(1, 9), st.integers(2, 60))
def test_a_fraction_fits_its_own_value(some: int, many: int) -> None:
    if some < many:
        (told,) = fractions_in(f"about {some} balls in {many} bring a single")
        assert (told.some, told.many) == (some, many)
        assert told.fits(some / many)
        assert not told.fits(some / many / 3)
