"""The functions of the front door: read, explain, predict, ask what if, the next over."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from attnlens.cricket.match import Match
from attnlens.cricket.naming import find_ball, innings_numbered
from attnlens.cricket.next_ball import with_next_ball
from attnlens.cricket.readers import read_match, read_matches
from attnlens.explanation.types import Explanation
from attnlens.explanation.what_if_types import WhatIf

if TYPE_CHECKING:
    import pandas

    from attnlens.cricket.trained import TrainedPredictor
    from attnlens.cricket.trained_overs import TrainedOvers

__all__ = ["explain", "next_over", "predict", "read_match", "read_matches", "what_if"]


@lru_cache(maxsize=4)
def _loaded(model: str | None) -> TrainedPredictor:
    from attnlens.cricket.trained import load_predictor

    return load_predictor(model)


@lru_cache(maxsize=2)
def _loaded_overs(model: str | None) -> TrainedOvers:
    from attnlens.cricket.trained_overs import load_overs

    return load_overs(model)


def explain(
    match: Match | str | os.PathLike[str],
    *,
    ball: int | str,
    innings: int | None = None,
    model: str | os.PathLike[str] | None = None,
    evidence: bool = True,
    history: Iterable[Match] | None = None,
    outcome: str | None = None,
    batter: str | None = None,
    bowler: str | None = None,
) -> Explanation:
    """Why the model expects what it expects of one ball, tested against the model.

    Args:
        match: a match, or a file to read one from.
        ball: position in the innings from 1 (wides and no-balls included), ``"last"``,
            a label such as ``"7.4"``, or any other form of `find_ball`.
        innings: from 1; the first unless ``ball`` says otherwise.
        model: a checkpoint, or ``bundled`` (the default) or ``measured``.
        evidence: run the interventions; without them attention is shown, not tested.
        history: matches to bring the ratings to the match's date with.
        outcome: explain this outcome, such as ``"4"``: effects and verdicts are about its
            chance alone.
        batter: who faces ``"next"``, where the file cannot tell.
        bowler: who bowls it, likewise.

    Raises:
        AttnlensError: the file, the ball or the checkpoint cannot be used.
    """
    from attnlens.cricket.explain import explain_ball

    if not isinstance(match, Match):
        match = read_match(match)
    reference = find_ball(match, ball, innings)
    if reference.index > len(innings_numbered(match, reference.innings).deliveries):
        match = with_next_ball(match, reference.innings, batter=batter, bowler=bowler)
    predictor = _loaded(None if model is None else str(model))
    if history is not None:
        from attnlens.cricket.timeline import Timeline

        predictor = Timeline(predictor, history).predictor_for(match)
    data = explain_ball(
        match,
        reference,
        predictor,
        evidence=evidence,
        history=history is not None,
        outcome=outcome,
    )
    return Explanation.from_dict(data)


def predict(
    match: Match | str | os.PathLike[str],
    *,
    model: str | os.PathLike[str] | None = None,
) -> pandas.DataFrame:
    """Every delivery of a match with the model's probabilities, one row each.

    Columns: ``match_id, innings, index, label, batter, bowler, actual``, then
    ``p_0 p_1 p_2 p_3 p_4 p_5 p_6 p_W p_wd p_nb p_bye``.

    Raises:
        AttnlensError: the file or the checkpoint cannot be used.
    """
    import pandas

    from attnlens.cricket.predict import COLUMNS, predict_match

    if not isinstance(match, Match):
        match = read_match(match)
    predictor = _loaded(None if model is None else str(model))
    return pandas.DataFrame(predict_match(match, predictor), columns=list(COLUMNS))


def what_if(
    match: Match | str | os.PathLike[str],
    *,
    ball: int | str,
    innings: int | None = None,
    bowler: str | None = None,
    batter: str | None = None,
    target: int | None = None,
    changes: Mapping[int | str, int | str] | None = None,
    wicket_last_ball: bool = False,
    unseen: bool = False,
    model: str | os.PathLike[str] | None = None,
    history: Iterable[Match] | None = None,
) -> WhatIf:
    """What the model would have expected of one ball, had something been different.

    Args:
        match: as for `explain`.
        ball: as for `explain`; ``"next"`` may be asked about without naming anybody.
        innings: as for `explain`.
        model: as for `explain`.
        history: as for `explain`.
        bowler: who bowls instead: somebody of the match, or anybody whom the ratings know, by
            name or registry id.
        batter: who faces instead, likewise.
        target: what is chased.
        changes: past balls and the outcomes they had instead, ``{43: 6, "7.1": "W"}``;
            ``"last"`` is the ball before the one asked about.
        wicket_last_ball: the same as ``changes={"last": "W"}``.
        unseen: take a name that nobody has as a player without a record.

    Raises:
        AttnlensError: the file, the ball, the checkpoint or a change cannot be used; one
            line says why.
    """
    from attnlens.cricket.question import LAST, WICKET, Question
    from attnlens.cricket.what_if import what_if as answered

    balls = [(str(name), str(outcome)) for name, outcome in (changes or {}).items()]
    if wicket_last_ball:
        balls.append((LAST, WICKET))
    question = Question(bowler, batter, target, tuple(balls), unseen)
    if not isinstance(match, Match):
        match = read_match(match)
    reference = find_ball(match, ball, innings)
    predictor = _loaded(None if model is None else str(model))
    if history is not None:
        from attnlens.cricket.timeline import Timeline

        predictor = Timeline(predictor, history).predictor_for(match)
    data = answered(match, reference, predictor, question, history=history is not None)
    return WhatIf.from_dict(data)


def next_over(
    match: Match | str | os.PathLike[str],
    *,
    over: int | str,
    innings: int | None = None,
    model: str | os.PathLike[str] | None = None,
    samples: int = 0,
    temperature: float | None = None,
    top_k: int | None = None,
    seed: int = 0,
    evidence: bool = True,
    history: Iterable[Match] | None = None,
) -> dict[str, Any]:
    """What the encoder-decoder expects of an over, and which past balls it looked at.

    Args:
        match: a match, or a file to read one from.
        over: its label in the file, from 0; ``"last"``, or ``"next"`` for the one not yet bowled.
        innings: from 1; the first unless ``over`` says otherwise (``"2:12"``).
        model: an encoder-decoder's checkpoint, or ``cricket`` (the default).
        samples: overs to draw, for the distribution of runs and wickets.
        temperature: draw the over's tokens too, instead of taking the likeliest; 1 as it says.
        top_k: draw from so many of the likeliest tokens only.
        seed: of whatever is drawn.
        evidence: run the interventions; without them attention is shown, not tested.
        history: matches to bring the ratings to the match's date with.

    Returns:
        plain data, the document of ``attnlens over --json``.

    Raises:
        AttnlensError: the file, the over or the checkpoint cannot be used.
    """
    from attnlens.cricket.over import choice_of
    from attnlens.cricket.over import next_over as answered
    from attnlens.cricket.over_question import find_over

    if not isinstance(match, Match):
        match = read_match(match)
    question = find_over(match, over, innings)
    trained = _loaded_overs(None if model is None else str(model))
    if history is not None:
        from attnlens.cricket.timeline import Timeline

        trained = Timeline(trained, history).predictor_for(match)
    return answered(
        question,
        trained,
        choice=choice_of(temperature, top_k),
        seed=seed,
        samples=samples,
        evidence=evidence,
        history=history is not None,
    )
