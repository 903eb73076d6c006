"""A small language whose answers are known, and a model trained on it."""

from __future__ import annotations

import csv
import functools
import itertools
from pathlib import Path
from random import Random

from attnlens.reference.text_model import (
    HeldOutRule,
    TextModel,
    TextRecipe,
    TextSizes,
    read_pairs,
    train_text,
)

COLOURS = {"red": "r", "green": "g", "blue": "b", "white": "w", "black": "k"}
THINGS = {"box": "B", "cup": "C", "hat": "H", "key": "K", "map": "M"}
FILLERS = ("please", "now", "then", "slowly", "again", "quietly", "friend", "today", "there")


def toy_rows(count: int = 600) -> list[tuple[str, str]]:
    """ "take the red box, not the blue one" -> "r b": many words, of which two count."""
    random = Random(5)
    rows = []
    for colour, thing in itertools.islice(
        itertools.cycle(itertools.product(COLOURS, THINGS)), count
    ):
        other = random.choice([one for one in COLOURS if one != colour])
        before = " ".join(random.choices(FILLERS, k=random.randint(5, 9)))
        after = " ".join(random.choices(FILLERS, k=random.randint(5, 9)))
        text = f"{before} take the {colour} {thing}, not the {other} one, {after}."
        rows.append((text.capitalize(), f"{COLOURS[colour]} {THINGS[thing]}"))
    return rows


def write_csv(
    path: Path, rows: list[tuple[str, str]], header: tuple[str, str] = ("a", "b")
) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


RECIPE = TextRecipe(epochs=12, batch=32, learning_rate=0.005, word_dropout=0.1, seed=1)
SIZES = TextSizes(width=32, heads=2, d_ff=32)


@functools.cache
def toy_model(folder: Path) -> TextModel:
    """Trained once in a run of the tests."""
    pairs = read_pairs(write_csv(folder / "toy.csv", toy_rows()))
    return train_text(pairs, recipe=RECIPE, sizes=SIZES, rule=HeldOutRule.of(pairs.pairs, new=0.1))
