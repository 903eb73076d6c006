"""The predictor as a reference model: how one ball of a match becomes its input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from attnlens.cricket.naming import (
    GRAMMAR,
    BallReference,
    balls_of,
    echo,
    find_ball,
    innings_numbered,
)
from attnlens.cricket.next_ball import with_next_ball
from attnlens.cricket.outcomes import OUTCOMES
from attnlens.cricket.readers import read_match
from attnlens.cricket.simulate import simulate_match
from attnlens.cricket.trained import TrainedPredictor, load_predictor
from attnlens.cricket.window import window_for
from attnlens.errors import InputError
from attnlens.models.catalogue import Loaded, Reading
from attnlens.models.relations import Balls

EXAMPLE: Final = (7, BallReference(1, 47))
"""Seed and ball of the simulated match that the model is described with."""


def loaded(path: Path | None = None) -> Loaded:
    """The bundled predictor, or a checkpoint's."""
    predictor = load_predictor(path)
    return Loaded(predictor.model, predictor)


def read_ball(model: Loaded, text: str | None, options: Mapping[str, Any]) -> Reading:
    """The ball ``--ball`` of a match file; of a simulated match where there is no file.

    The ball not yet bowled is faced and bowled by the file's last pair, as far as it tells.

    Raises:
        InputError: the file cannot be read, or no ball is named.
        BallNotFoundError: the match does not have the ball.
    """
    predictor = model.beside
    assert isinstance(predictor, TrainedPredictor)
    if text is None:
        seed, reference = EXAMPLE
        match = simulate_match(seed)
    else:
        match = read_match(text)
        if options.get("ball") is None:
            raise InputError("which ball is not said", path=text, remedy=f"add --ball: {GRAMMAR}")
        with balls_of(text):
            reference = find_ball(match, options["ball"], options.get("innings"))
        if reference.index > len(innings_numbered(match, reference.innings).deliveries):
            pair = {who: options.get(who) for who in ("batter", "bowler")}
            match = with_next_ball(match, reference.innings, **pair)
    window = window_for(match, reference, predictor)
    names = tuple(_names(window.batch))
    return Reading(
        inputs=(window.batch,),
        names=names,
        axes={name: _axes(name) for name in names} | {"to_outcome.weight": ("outcome", None)},
        labels={
            "ball": window.labels,
            "query": (window.delivery.label or "next",),
            "outcome": tuple(OUTCOMES),
        },
        about=echo(match, reference),
    )


def _axes(name: str) -> tuple[str | None, ...]:
    """What the axes of a tensor of the batch are."""
    letter, _, kind = name.partition("_")
    if name == "visible":
        return ("batch", "query", "ball")
    if letter in ("now", "then"):
        return ("batch", "query" if letter == "now" else "ball")
    who = "query" if letter.islower() else "ball"
    outcomes = letter.lower() == "r" or kind == "{board}"
    return ("batch", who, "outcome" if outcomes else None)


def _names(batch: Mapping[str, Any]) -> Iterator[str]:
    """A symbol for every tensor of the batch, in its order."""
    graph, sequence = batch["graph_data"], batch["sequence"]
    for name in graph["nodes"]:
        yield f"f_{{{name}}}"
    yield "p_{board}"
    for name in graph["ratings"]:
        yield f"r_{{{name}}}"
    for who, symbol in (("now", "now"), ("balls", "then")):
        for name, value in ((name, getattr(sequence[who], name)) for name in Balls.__slots__):
            if value is not None:
                yield f"{symbol}_{{{name}}}"
    for name in sequence["past"]["nodes"]:
        yield f"F_{{{name}}}"
    yield "O"
    yield "P_{board}"
    for name in sequence["past"]["ratings"]:
        yield f"R_{{{name}}}"
    yield "visible"
