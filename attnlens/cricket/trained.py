"""A trained predictor: the network, what it knows of players and venues, and its card."""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

from attnlens.cricket.calibration import calibration_beside, shipped_calibration
from attnlens.cricket.card import checked_card
from attnlens.cricket.outcomes import OUTCOMES
from attnlens.cricket.ratings import ALL_KINDS, KINDS, Ratings
from attnlens.cricket.seen import from_tensor, to_tensor
from attnlens.cricket.tensors import NODES, OVER_CLASSES, SCOREBOARD_SIZE, BaseModel, Floats
from attnlens.errors import CheckpointError
from attnlens.explanation.heatmap import UNSPECIALISED
from attnlens.models.checkpoint import read_checkpoint, write_checkpoint
from attnlens.models.predictor import FullModel, Sizes
from attnlens.models.shipped import SHIPPED, named_checkpoint
from attnlens.models.temporal import SCALES

KIND: Final = "temporal"
FORMAT: Final = 1


@dataclass
class Trained:
    """A network trained on matches, and what it knows of players, venues and sides.

    Attributes:
        name: the name it ships under, or the file's stem.
        sha256: of the file.
        card: training dates, match types, figures, as plain data.
        calibration: how often its calls came true (`attnlens.cricket.calibration`); ``None``
            where it carries no such table.
        seen: the matches it was trained and validated on, see `attnlens.cricket.seen`; ``None``
            where the file does not tell.
    """

    name: str
    sha256: str
    model: nn.Module
    base: BaseModel
    ratings: Ratings
    card: dict[str, Any] = field(default_factory=dict)
    calibration: dict[str, Any] | None = None
    seen: frozenset[int] | None = None

    def date(self, key: str) -> datetime.date | None:
        """A date of the card, such as ``trained_until``."""
        value = self.card.get(key)
        return None if value is None else datetime.date.fromisoformat(value)

    def knows_a_team(self, teams: Sequence[str]) -> bool:
        """Whether one of the teams was trained on; true where the card does not say."""
        trained = set(self.card.get("teams", []))
        return not trained or not teams or not trained.isdisjoint(teams)


@dataclass
class TrainedPredictor(Trained):
    """Everything needed to predict a ball."""

    model: FullModel

    def earned(self, scale: str) -> list[str]:
        """The name each head of a scale has earned."""
        heads = self.model.sizes.heads[scale]
        names = self.card.get("earned", {}).get(scale, [])
        return [*names, *[UNSPECIALISED] * heads][:heads]


def save_predictor(path: str | os.PathLike[str], predictor: TrainedPredictor) -> None:
    """Write a predictor to one safetensors file."""
    tensors: dict[str, Tensor] = {
        f"model.{name}": value for name, value in predictor.model.state_dict().items()
    }
    tensors |= known_tensors(predictor)
    until = predictor.ratings.until
    about = {
        "kind": KIND,
        "format": FORMAT,
        "outcomes": list(OUTCOMES),
        "sizes": predictor.model.sizes.to_dict(),
        "ratings_until": None if until is None else until.isoformat(),
        "card": predictor.card,
    }
    write_checkpoint(path, tensors, about)


def load_predictor(model: str | os.PathLike[str] | None = None) -> TrainedPredictor:
    """A predictor by name (``bundled``, ``measured``) or file; the bundled one by default.

    Raises:
        CheckpointError: the file is missing, damaged, or of another kind or version.
    """
    name, path = named_checkpoint(model)
    checkpoint = read_checkpoint(path, KIND)
    about, tensors = checkpoint.about, checkpoint.tensors
    if about.get("format") != FORMAT or tuple(about.get("outcomes", ())) != OUTCOMES:
        told = about.get("format")
        newer = isinstance(told, int) and told > FORMAT
        raise CheckpointError(
            f"has format {told}, this attnlens reads {FORMAT}",
            path=path,
            remedy="update attnlens" if newer else "train it again",
        )
    try:
        sizes = Sizes.from_dict(about["sizes"])
        if {k: dict(v) for k, v in sizes.graph.items()} != NODES:
            raise CheckpointError(
                "was trained on other features", path=path, remedy="train it again"
            )
        _check_scales(sizes, path)
        # The order of layers and nodes is ours: a JSON object need not keep it.
        network = FullModel(replace(sizes, graph=NODES))
        network.load_state_dict(
            {
                name.removeprefix("model."): value
                for name, value in tensors.items()
                if name.startswith("model.")
            }
        )
        base = base_of(tensors)
        ratings = ratings_of(tensors, about["ratings_until"])
        card = checked_card(about["card"])
        seen = from_tensor(tensors["seen"]) if "seen" in tensors else None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(
            f"is damaged ({' '.join(str(error).split())[:120]})", path=path, remedy="train it again"
        ) from error
    network.eval()
    if name in SHIPPED and path == named_checkpoint(name)[1]:
        table = shipped_calibration(path.parent, name)
    else:
        table = calibration_beside(path, checkpoint.sha256)
    return TrainedPredictor(
        name,
        checkpoint.sha256,
        network,
        base,
        ratings,
        card,
        calibration=table,
        seen=seen,
    )


def _check_scales(sizes: Sizes, path: Path) -> None:
    """A model has the four scales, whatever their numbers of heads.

    Raises:
        CheckpointError: it has others, or heads that do not divide its width.
    """
    if set(sizes.heads) != set(SCALES):
        raise CheckpointError(
            f"has the scales {', '.join(sizes.heads) or 'none'}, this attnlens reads "
            f"{', '.join(SCALES)}",
            path=path,
            remedy="train it again",
        )
    for scale, heads in sizes.heads.items():
        if not isinstance(heads, int) or heads < 1 or sizes.hidden_dim % heads:
            raise CheckpointError(
                f"is damaged ({heads!r} heads on the {scale} scale)",
                path=path,
                remedy="train it again",
            )


def known_tensors(trained: Trained) -> dict[str, Tensor]:
    """What a checkpoint holds beside its network: the base model, ratings, matches seen."""
    tensors: dict[str, Tensor] = {}
    for number, weight in enumerate(trained.base.weights):
        tensors[f"base.{number}"] = torch.from_numpy(weight)
    tensors["base.prior"] = torch.from_numpy(trained.base.prior)
    tensors["base.everything"] = torch.from_numpy(trained.base.everything)
    for name, table in trained.ratings.tables.items():
        if name not in trained.ratings.kinds:
            continue
        rows = len(table.keys)
        tensors[f"ratings.{name}.rating"] = torch.from_numpy(table.rating[:rows]).half()
        # The precision is kept as a variance: it fits sixteen bits, the precision does not.
        tensors[f"ratings.{name}.variance"] = torch.from_numpy(1 / table.precision[:rows]).half()
        tensors[f"ratings.{name}.balls"] = torch.from_numpy(table.balls[:rows]).int()
        tensors[f"ratings.{name}.keys"] = _words(list(table.keys))
    aliases = trained.ratings.aliases
    tensors["ratings.alias_names"] = _words(list(aliases))
    tensors["ratings.alias_keys"] = _words(list(aliases.values()))
    if trained.seen is not None:
        tensors["seen"] = to_tensor(trained.seen)
    return tensors


def base_of(tensors: dict[str, Tensor]) -> BaseModel:
    """The base model of a checkpoint's tensors.

    Raises:
        KeyError, ValueError: it is damaged.
    """
    weights: list[Floats] = []
    while f"base.{len(weights)}" in tensors:
        weights.append(tensors[f"base.{len(weights)}"].numpy())
    base = BaseModel(
        tuple(weights), tensors["base.prior"].numpy(), tensors["base.everything"].numpy()
    )
    _check_base(base)
    return base


def _check_base(base: BaseModel) -> None:
    if base.prior.shape != (2, OVER_CLASSES, len(OUTCOMES)):
        raise ValueError("its table of overs has another shape")
    if base.everything.shape != (len(OUTCOMES),) or not base.weights:
        raise ValueError("what the scoreboard expects is told in another shape")
    # A matrix that does not fit the next one is found by asking.
    if base.log_probabilities(np.zeros((1, SCOREBOARD_SIZE), np.float32)).shape != (
        1,
        len(OUTCOMES),
    ):
        raise ValueError("what the scoreboard expects is told in another shape")


def ratings_of(
    tensors: dict[str, Tensor], until: str | None, kinds: Sequence[str] = ALL_KINDS
) -> Ratings:
    """The ratings of a checkpoint's tensors.

    Raises:
        KeyError, ValueError: they are damaged.
    """
    ratings = Ratings(kinds=tuple(kinds))
    for kind in KINDS:
        if kind.name not in kinds:
            continue
        table = ratings.tables[kind.name]
        table.keys = {
            key: row for row, key in enumerate(_split(tensors[f"ratings.{kind.name}.keys"]))
        }
        table.rating = tensors[f"ratings.{kind.name}.rating"].float().numpy()
        variance = tensors[f"ratings.{kind.name}.variance"].float().numpy()
        table.precision = 1 / np.maximum(variance, np.float32(1e-7))
        table.balls = tensors[f"ratings.{kind.name}.balls"].float().numpy()
        if not table.rating.shape == table.precision.shape == (len(table.keys), len(OUTCOMES)) or (
            len(table.balls) != len(table.keys)
        ):
            raise ValueError(f"its ratings of the kind {kind.name} do not fit each other")
    ratings.aliases = dict(
        zip(
            _split(tensors["ratings.alias_names"]),
            _split(tensors["ratings.alias_keys"]),
            strict=True,
        )
    )
    ratings.until = None if until is None else datetime.date.fromisoformat(until)
    return ratings


def _words(words: list[str]) -> Tensor:
    """Words as the bytes of one text, a line each."""
    data = "\n".join(word.replace("\n", " ") for word in words).encode()
    return torch.tensor(list(data), dtype=torch.uint8)


def _split(data: Tensor) -> list[str]:
    text = data.numpy().tobytes().decode()
    return text.split("\n") if text else []
