"""Score known attribution methods on PlantedBalls.

::

    python benchmarks/planted_balls/methods.py scores/      # about 20 minutes on one slow core

This script writes one Parquet file for each method into the folder, and scores the files. The
README describes the methods. Two methods need Captum. If it is not installed, they are left out,
and a message says so.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import score
import torch
from ask import Question, questions
from torch import Tensor

from attnlens.cricket.explain.claims import BallClaim, trial_of
from attnlens.cricket.explain.reading import predict_paths, read_ball
from attnlens.cricket.lab.attention_faithfulness import (
    STRUCTURE,
    StructureError,
    attributions,
    structure_of,
    structure_scores,
)
from attnlens.cricket.lab.planted_truth import replacement_effects
from attnlens.cricket.predictor.window import cut_window, one_thread
from attnlens.evidence.claim import MODEL
from attnlens.evidence.faithfulness import remove_each
from attnlens.evidence.scores import divergence
from attnlens.files import Floats

CAPTUM: Final = ("integrated_gradients", "shapley_sampling")
METHODS: Final = (
    *("mean_head", "attention", "content_only", "value_norm", "rollout"),
    *("gradient_x_input", "kl_jacobian", *CAPTUM),
    *("hiding", "replacing", "claims"),
    *(STRUCTURE, "recency", "even", "random"),
)
"""The methods, in the order in which the table shows them. The last four are controls."""

STEPS: Final = 16
PERMUTATIONS: Final = 16
SEED: Final = 5


def from_one_pass(question: Question) -> dict[str, Floats]:
    """Return the scores that attnlens computes in one pass, and the mean attention over heads."""
    model, batch = question.predictor.model, question.batch
    found = attributions(model, batch)
    found["even"] = found.pop("uniform")
    with torch.no_grad():
        _, paths = predict_paths(model, batch)
    heads = [paths.over_balls(scale, rows).mean(0) for scale, rows in paths.scales.items()]
    return found | {"mean_head": np.mean(heads, 0)}


def by_asking_again(question: Question) -> dict[str, Floats]:
    """Return the scores of the methods that ask the model again with changed past balls.

    They are the effects of hiding each past ball, the effects of replacing each past ball, and the
    statistic on which the tests of claims are based.
    """
    one, past, predictor = question.one, question.past, question.predictor
    window = cut_window(one.match, one.side, one.arrays, past + 1)
    trial = trial_of(predictor, window, read_ball(predictor, window), outcome="all")
    every = tuple(range(1, past + 1))
    moves = trial.item_statistics(
        MODEL, BallClaim(text="", kind="attended", removed=(), window=every)
    )
    return {
        "hiding": remove_each(question.predict, past).effects,
        "replacing": replacement_effects(predictor.model, question.batch, past),
        "claims": np.array([moves[index] for index in every]),
    }


def by_captum(question: Question, seed: int) -> dict[str, Floats]:
    """Return the attributions of two methods of Captum."""
    from captum.attr import IntegratedGradients, ShapleyValueSampling

    full = question.predict(np.ones((1, question.past), bool))[0]

    def logs(vectors: Tensor) -> Tensor:
        return question.logits(vectors).log_softmax(-1)

    def nearness(shown: Tensor) -> Tensor:
        return -torch.from_numpy(divergence(full, question.predict(shown.bool().numpy())))

    vectors, shown = question.vectors[None], torch.ones(1, question.past)
    likeliest = int(full.argmax())
    slopes = IntegratedGradients(logs).attribute(vectors, target=likeliest, n_steps=STEPS)
    torch.manual_seed(seed)
    shares = ShapleyValueSampling(nearness).attribute(
        shown, n_samples=PERMUTATIONS, perturbations_per_eval=256
    )
    found = slopes[0].sum(-1).abs(), shares[0]
    return {name: part.detach().double().numpy() for name, part in zip(CAPTUM, found, strict=True)}


@one_thread()
def write(folder: Path, some: Iterable[Question]) -> list[Path]:
    """Write one Parquet file for each method, and return the paths of the files."""
    parts: list[pd.DataFrame] = []
    structures: dict[str, list[tuple[int, Floats, str]]] = {}
    captum = importlib.util.find_spec("captum") is not None
    if not captum:
        print(f"Captum is not installed: without {' and '.join(CAPTUM)}", file=sys.stderr)
    for number, question in enumerate(some):
        if number % 25 == 0:
            print(f"example {number + 1}", file=sys.stderr)
        generator = np.random.default_rng([SEED, number])
        seed = int(generator.integers(2**31))
        found = from_one_pass(question) | by_asking_again(question)
        if captum:
            found |= by_captum(question, seed)
        found["random"] = generator.random(question.past)
        past = np.arange(1, question.past + 1)
        parts.append(pd.DataFrame({"example": question.example, "past": past} | found))
        model, match, *_ = question.example.split("/")
        seen = structure_of(question.one.arrays, question.past)
        structures.setdefault(model, []).append((number, seen, match))
    for numbers, seen, matches in (zip(*rows, strict=True) for rows in structures.values()):
        effects = [parts[number]["hiding"].to_numpy(float) for number in numbers]
        try:
            scores = structure_scores(seen, effects, matches, SEED)
        except StructureError as error:
            print(f"without {STRUCTURE}: {error}", file=sys.stderr)
            continue
        for number, values in zip(numbers, scores, strict=True):
            parts[number][STRUCTURE] = values
    table, files = pd.concat(parts), []
    folder.mkdir(parents=True, exist_ok=True)
    for name in METHODS:
        if name in table:
            files.append(folder / f"{name}.parquet")
            table[["example", "past", name]].rename(columns={name: "score"}).to_parquet(files[-1])
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the files go")
    files = write(parser.parse_args().folder, questions())
    return score.main([str(path) for path in files])


if __name__ == "__main__":
    sys.exit(main())
