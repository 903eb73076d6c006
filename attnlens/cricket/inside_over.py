"""The encoder-decoder as a reference model: how one over of a match becomes its input."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch

from attnlens.cricket.over_batch import over_batch
from attnlens.cricket.over_features import CONTEXT_FEATURES, PAST_FEATURES, encode_overs
from attnlens.cricket.over_question import GRAMMAR, find_over
from attnlens.cricket.over_tokens import TOKENS
from attnlens.cricket.readers import read_match
from attnlens.cricket.simulate import simulate_match
from attnlens.cricket.trained_overs import TrainedOvers, load_overs
from attnlens.errors import BallNotFoundError, InputError
from attnlens.models.catalogue import Loaded, Reading
from attnlens.models.cricket import PAD, START, Choice, decode

EXAMPLE: Final = (7, "2")
"""Seed and over of the simulated match that the model is described with."""


def loaded(path: Path | None = None) -> Loaded:
    """The bundled encoder-decoder, or a checkpoint's."""
    trained = load_overs(path)
    return Loaded(trained.model, trained)


def read_over(model: Loaded, text: str | None, options: Mapping[str, Any]) -> Reading:
    """The over ``--over`` of a match file; of a simulated match where there is no file.

    The tokens given are the likeliest ones, as ``attnlens over`` writes them.

    Raises:
        InputError: the file cannot be read, or no over is named.
        BallNotFoundError: the match does not have the over, or no ball was bowled before it.
    """
    trained = model.beside
    assert isinstance(trained, TrainedOvers)
    over = options.get("over")
    if text is None:
        seed, over = EXAMPLE
        match = simulate_match(seed)
    else:
        match = read_match(text)
        if over is None:
            raise InputError("which over is not said", path=text, remedy=f"add --over: {GRAMMAR}")
    try:
        question = find_over(match, over, options.get("innings"))
    except BallNotFoundError as error:
        raise BallNotFoundError(error.problem, path=text, remedy=error.remedy) from None
    if not question.before:
        raise BallNotFoundError(
            "no ball was bowled before this over, so there is no attention to show",
            path=text,
            remedy="name a later one",
        )
    side = question.innings
    arrays = encode_overs(match, side, trained.ratings, trained.base, over=question.over)
    batch = over_batch([(arrays, 0)], trained.model.sizes)
    with torch.no_grad():
        memory = trained.model.remember(batch.history, batch.padded, batch.context)
    told = decode(trained.model, memory, Choice())[0, 0].tolist()
    given = [START, *[number for number in told if number != PAD][:-1]]
    tokens = batch.given.new_tensor([given])
    past = question.past[-batch.history.shape[1] :]
    return Reading(
        inputs=(batch.history, batch.padded, batch.context, tokens),
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
            "token": tuple(TOKENS[number] for number in given),
            "word": TOKENS,
        },
        about=question.echo,
    )
