"""Build the inputs of the cricket reference models: the tensors for one ball or one over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from attnlens.cricket.errors import BallNotFoundError
from attnlens.cricket.match.match import OUTCOMES, Match
from attnlens.cricket.match.naming import GRAMMAR, BallReference, balls_of, echo
from attnlens.cricket.over.encoder_decoder import PAD, START, Choice, decode
from attnlens.cricket.over.features import (
    CONTEXT_FEATURES,
    PAST_FEATURES,
    TOKENS,
    encode_overs,
    over_batch,
)
from attnlens.cricket.over.next_over import (
    OVER_GRAMMAR,
    OVER_REMEDY,
    TrainedOvers,
    find_over,
    load_overs,
)
from attnlens.cricket.predictor.relations import Balls, Batch
from attnlens.cricket.predictor.window import window_for
from attnlens.cricket.readers import read_match
from attnlens.cricket.session import Session
from attnlens.errors import InputError
from attnlens.reference.catalogue import LoadedModel, ModelInput

_BALL: Final = BallReference(1, 47)
_OVER: Final = "2"


def sample_match() -> Match:
    """Return the simulated match for examples, which `attnlens lab simulate --seed 7` writes."""
    match = read_match(Path(__file__).with_name("simulated-7.json"))
    return replace(match, source="simulated with seed 7")


def predictor(path: Path | None = None) -> LoadedModel:
    """Load a model that predicts the next ball. The default checkpoint is ``bundled``."""
    session = Session(path)
    return LoadedModel(session.predictor.model, session)


def overs(path: Path | None = None) -> LoadedModel:
    """Load the encoder-decoder of overs. The default checkpoint is part of the package."""
    trained = load_overs(path)
    return LoadedModel(trained.model, trained)


def read_ball(
    model: LoadedModel, text: str | None, *, ball: str | None = None, innings: int | None = None
) -> ModelInput:
    """Return the model's input for one ball.

    Args:
        text: the path of a match file, or ``None`` for the simulated match.
        ball: the name of the ball, as in `find_ball`.

    Raises:
        InputError: the file cannot be read, ``ball`` is missing, or the match has no such ball.
    """
    session = model.context
    assert isinstance(session, Session)
    if text is None:
        match, reference = sample_match(), _BALL
    else:
        match = session.read(text)
        if ball is None:
            raise InputError("no ball was named", path=text, remedy=f"add --ball: {GRAMMAR}")
        with balls_of(text):
            match, reference = session.ball(match, ball, innings)
    window = window_for(match, reference, session.predictor)
    names = tuple(_names(window.batch))
    return ModelInput(
        inputs=(window.batch,),
        names=names,
        axes={name: _axes(name) for name in names} | {"to_outcome.weight": ("outcome", None)},
        labels={
            "ball": window.labels,
            "query": (window.delivery.label or "next",),
            "outcome": tuple(OUTCOMES),
        },
        caption=echo(match, reference),
    )


def _axes(name: str) -> tuple[str | None, ...]:
    letter, _, kind = name.partition("_")
    if name == "visible":
        return ("batch", "query", "ball")
    if letter in ("now", "then"):
        return ("batch", "query" if letter == "now" else "ball")
    ball_axis = "query" if letter.islower() else "ball"
    outcomes = letter.lower() == "r" or kind == "{board}"
    return ("batch", ball_axis, "outcome" if outcomes else None)


def _names(batch: Batch) -> Iterator[str]:
    """Yield a symbol for every tensor of the batch, in the order of the batch."""
    graph, sequence = batch["graph_data"], batch["sequence"]
    for name in graph["nodes"]:
        yield f"f_{{{name}}}"
    yield "p_{board}"
    for name in graph["ratings"]:
        yield f"r_{{{name}}}"
    for role, symbol in (("now", "now"), ("balls", "then")):
        for name in Balls.__slots__:
            if getattr(sequence[role], name) is not None:
                yield f"{symbol}_{{{name}}}"
    for name in sequence["past"]["nodes"]:
        yield f"F_{{{name}}}"
    yield "O"
    yield "P_{board}"
    for name in sequence["past"]["ratings"]:
        yield f"R_{{{name}}}"
    yield "visible"


def read_over(
    model: LoadedModel, text: str | None, *, over: str | None = None, innings: int | None = None
) -> ModelInput:
    """Return the model's input for one over, with the most likely tokens of the over.

    Args:
        text: the path of a match file, or ``None`` for the simulated match.
        over: the name of the over, as in `find_over`.

    Raises:
        InputError: the file cannot be read, ``over`` is missing, the match has no such over, or no
            ball was bowled before the over.
    """
    trained = model.context
    assert isinstance(trained, TrainedOvers)
    if text is None:
        match, over = sample_match(), _OVER
    else:
        match = read_match(text)
        if over is None:
            raise InputError("no over was named", path=text, remedy=f"add --over: {OVER_GRAMMAR}")
    with balls_of(text, OVER_REMEDY):
        question = find_over(match, over, innings)
    if not question.before:
        raise BallNotFoundError(
            "no ball was bowled before this over, so there is no attention to show",
            path=text,
            remedy="name a later over",
        )
    side = question.innings
    arrays = encode_overs(match, side, trained.ratings, trained.base, over=question.over)
    batch = over_batch([(arrays, 0)], trained.model.sizes)
    parts = batch.history, batch.padded, batch.context
    decoded = decode(trained.model, *parts, Choice())[0].tolist()
    inputs = [START, *[number for number in decoded if number != PAD][:-1]]
    tokens = batch.inputs.new_tensor([inputs])
    past = question.past[-batch.history.shape[1] :]
    return ModelInput(
        inputs=(*parts, tokens),
        names=("X", "padded", "c", "y"),
        axes={
            "X": ("batch", "ball", "feature"),
            "padded": ("batch", "ball"),
            "c": ("batch", "context"),
            "y": ("batch", "token"),
            "encoder.W_in": ("feature", None),
            "decoder.W_ctx": ("context", None),
            "decoder.E": ("word", None),
            "decoder.W_out": (None, "word"),
            "decoder.b": ("word",),
        },
        labels={
            "ball": tuple(ball.label for ball in past),
            "feature": tuple(PAST_FEATURES),
            "context": tuple(CONTEXT_FEATURES),
            "token": tuple(TOKENS[number] for number in inputs),
            "word": TOKENS,
        },
        caption=question.echo,
    )
