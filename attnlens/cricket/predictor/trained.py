"""A trained predictor: the network, what it knows of players and venues, its card, what it saw.

Which matches a checkpoint has seen is kept in eight bytes each. Dates alone cannot tell whether
a model was trained on a match: what its collection lacked, or a league played in the same
months, would be suspected too.
"""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

from attnlens.arrays import Floats32
from attnlens.cricket.match.competition import TABLES
from attnlens.cricket.match.match import Match
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.predictor.calibration import CalibrationTable, calibration_beside
from attnlens.cricket.predictor.heads import SCALES, UNSPECIALISED
from attnlens.cricket.predictor.predictor import FullModel, Sizes
from attnlens.cricket.predictor.ratings import ALL_KINDS, Ratings
from attnlens.cricket.predictor.shipped import SHIPPED, named_checkpoint
from attnlens.cricket.predictor.tensors import BASE_SIZE, NODES, OVER_CLASSES, BaseModel
from attnlens.cricket.predictor.win import WinModel
from attnlens.errors import CheckpointError
from attnlens.files import Json
from attnlens.reference.checkpoint import Checkpoint, read_checkpoint, write_checkpoint

KIND: Final = "temporal"
FORMAT: Final = 1
DATES: Final = ("trained_from", "trained_until", "weights_until", "ratings_until")
LISTS: Final[Mapping[str, type]] = {
    "match_types": str,
    "teams": str,
    "overs": int,
    "balls_per_over": int,
    "ratings_added": dict,
}


@dataclass
class Trained:
    """A network trained on matches, and what it knows of players, venues and sides.

    Attributes:
        name: the name it ships under, or the file's stem.
        sha256: of the file.
        card: training dates, match types, figures, as plain data.
        calibration: how often its calls came true (`attnlens.cricket.predictor.calibration`);
            ``None`` where it carries no such table.
        win: the value of states of a match; ``None`` where it carries none.
        seen: the matches it was trained and validated on, see `identity_of`;
            ``None`` where the file does not tell.
    """

    name: str
    sha256: str
    model: nn.Module
    base: BaseModel
    ratings: Ratings
    card: Json = field(default_factory=dict)
    calibration: CalibrationTable | None = None
    win: WinModel | None = None
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
    about = {"kind": KIND, "format": FORMAT, "outcomes": list(OUTCOMES)}
    save_trained(path, predictor, about, predictor.model.sizes.to_dict())


def save_trained(path: str | os.PathLike[str], trained: Trained, about: Json, sizes: Json) -> None:
    """Write a network and all that it knows to one safetensors file.

    Args:
        about: what whoever reads it checks first: its kind, its format and so on.
        sizes: of the network.
    """
    until = trained.ratings.until
    network = {f"model.{name}": value for name, value in trained.model.state_dict().items()}
    more = {
        "sizes": sizes,
        "ratings_until": None if until is None else until.isoformat(),
        "card": trained.card,
    }
    write_checkpoint(path, network | known_tensors(trained), about | more)


def load_predictor(model: str | os.PathLike[str] | None = None) -> TrainedPredictor:
    """A predictor by name (``bundled``, ``measured``) or file; the bundled one by default.

    Raises:
        CheckpointError: the file is missing, damaged, or of another kind or version.
    """
    name, path = named_checkpoint(model)
    checkpoint = read_checkpoint(path, KIND)
    about, tensors = checkpoint.about, checkpoint.tensors
    check_format(about, FORMAT, {"outcomes": list(OUTCOMES)}, path)
    with damage_told(path):
        sizes = Sizes.from_dict(about["sizes"])
        if {k: dict(v) for k, v in sizes.graph.items()} != NODES:
            raise other_features(path)
        if set(sizes.heads) != set(SCALES) or not all(
            isinstance(heads, int) and heads >= 1 and sizes.hidden_dim % heads == 0
            for heads in sizes.heads.values()
        ):
            raise ValueError("its scales and their heads are others")
        # The order of layers and nodes is ours: a JSON object need not keep it.
        network = FullModel(replace(sizes, graph=NODES))
        network.load_state_dict(network_of(tensors))
        predictor = TrainedPredictor(
            name=name, model=network.eval(), **knowledge_of(checkpoint, ALL_KINDS)
        )
    shipped = name in SHIPPED and path == named_checkpoint(name)[1]
    table = calibration_beside(path, checkpoint.sha256, shipped=shipped)
    return replace(predictor, calibration=table)


def check_format(about: Json, number: int, names: Mapping[str, list[str]], path: Path) -> None:
    """Whether a checkpoint is one that this attnlens reads.

    Args:
        number: of the format that is read.
        names: what it was trained on.

    Raises:
        CheckpointError: it is another.
    """
    told = about.get("format")
    if told != number:
        newer = isinstance(told, int) and told > number
        raise CheckpointError(
            f"has format {told}, this attnlens reads {number}",
            path=path,
            remedy="update attnlens" if newer else "train it again",
        )
    if any(about.get(name) != value for name, value in names.items()):
        raise other_features(path)


def other_features(path: Path) -> CheckpointError:
    """What is said of a checkpoint that was told other things."""
    return CheckpointError("was trained on other features", path=path, remedy="train it again")


@contextmanager
def damage_told(path: Path) -> Iterator[None]:
    """Whatever goes wrong while a checkpoint is put together is the file's fault.

    Raises:
        CheckpointError: something did.
    """
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(
            f"is damaged ({' '.join(str(error).split())[:120]})", path=path, remedy="train it again"
        ) from error


def network_of(tensors: Mapping[str, Tensor], prefix: str = "model.") -> dict[str, Tensor]:
    """The weights of a checkpoint's network, by their names in it."""
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }


def knowledge_of(checkpoint: Checkpoint, kinds: Sequence[str]) -> dict[str, Any]:
    """The fields of `Trained` that a checkpoint holds beside its network.

    Args:
        kinds: of ratings that it holds.

    Raises:
        KeyError, ValueError: they are damaged.
    """
    tensors, about = checkpoint.tensors, checkpoint.about
    win = None
    if any(name.startswith("win.") for name in tensors):
        win = WinModel()
        win.load_state_dict(network_of(tensors, "win."))
    seen = tensors.get("seen")
    if seen is not None and (seen.dtype != torch.int64 or seen.dim() != 1):
        raise ValueError("the matches it has seen are told in another shape")
    return {
        "sha256": checkpoint.sha256,
        "base": base_of(tensors),
        "ratings": ratings_of(tensors, about["ratings_until"], kinds),
        "card": checked_card(about["card"]),
        "win": None if win is None else win.eval(),
        "seen": None if seen is None else frozenset(seen.tolist()),
    }


def checked_card(told: Any) -> Json:
    """The card, as it stands.

    Raises:
        AttributeError, TypeError, ValueError: what is read of it is not what it has to be.
    """
    if not isinstance(told, dict):
        raise ValueError("its card is no table")
    for name in DATES:
        datetime.date.fromisoformat(told.get(name) or "2000-01-01")
    lists = [(name, told.get(name, []), kind) for name, kind in LISTS.items()]
    lists += [(f"earned {scale}", names, str) for scale, names in told.get("earned", {}).items()]
    for name, value, kind in lists:
        if not isinstance(value, list) or not all(isinstance(one, kind) for one in value):
            raise ValueError(f"its {name} are no list of the kind {kind.__name__}")
    return dict(told)


def identity_of(match: Match) -> int | None:
    """A number for the match, the same whatever file tells of it.

    It is made from the first day and the two sides. The ground is left out: collections
    spell it differently, and two sides that meet twice on one day are both suspected rather
    than both missed.

    Returns:
        a signed 64-bit number; ``None`` where the file tells no date or no teams.
    """
    if match.date is None or not match.teams:
        return None
    teams = sorted(" ".join(team.split()).casefold() for team in match.teams)
    teams += ["women"] * (match.gender == "female")
    told = "\n".join([match.date.isoformat(), *teams])
    return int.from_bytes(hashlib.sha256(told.encode()).digest()[:8], "little", signed=True)


def identities(matches: Iterable[Match]) -> frozenset[int]:
    """Of all matches that have one."""
    found = (identity_of(match) for match in matches)
    return frozenset(one for one in found if one is not None)


def once(matches: Iterable[Match]) -> Iterator[Match]:
    """Each match once: what tells the same balls of the same day and sides is the same match,
    whatever its file is called.
    """
    known: set[int] = set()
    for match in matches:
        balls = tuple(
            (side.number, tuple((ball.outcome, ball.runs_total) for ball in side.deliveries))
            for side in match.innings
        )
        told = hash((identity_of(match) or match.match_id, balls))
        if told not in known:
            known.add(told)
            yield match


def known_tensors(trained: Trained) -> dict[str, Tensor]:
    """What a checkpoint holds beside its network: the base model, ratings, matches seen."""
    tensors: dict[str, Tensor] = {}
    for number, weight in enumerate(trained.base.weights):
        tensors[f"base.{number}"] = torch.from_numpy(weight)
    tensors["base.prior"] = torch.from_numpy(trained.base.prior)
    tensors["base.everything"] = torch.from_numpy(trained.base.everything)
    for name in trained.ratings.kinds:
        table = trained.ratings.tables[name]
        rows = len(table.keys)
        tensors[f"ratings.{name}.rating"] = torch.from_numpy(table.rating[:rows]).half()
        # The precision is kept as a variance: it fits sixteen bits, the precision does not.
        tensors[f"ratings.{name}.variance"] = torch.from_numpy(1 / table.precision[:rows]).half()
        tensors[f"ratings.{name}.balls"] = torch.from_numpy(table.balls[:rows]).int()
        tensors[f"ratings.{name}.keys"] = _words(list(table.keys))
    aliases = trained.ratings.aliases
    tensors["ratings.alias_names"] = _words(list(aliases))
    tensors["ratings.alias_keys"] = _words(list(aliases.values()))
    if trained.win is not None:
        tensors |= {f"win.{name}": value for name, value in trained.win.state_dict().items()}
    if trained.seen is not None:
        tensors["seen"] = torch.tensor(sorted(trained.seen), dtype=torch.int64)
    return tensors


def base_of(tensors: dict[str, Tensor]) -> BaseModel:
    """The base model of a checkpoint's tensors.

    Raises:
        KeyError, ValueError: it is damaged.
    """
    weights: list[Floats32] = []
    while f"base.{len(weights)}" in tensors:
        weights.append(tensors[f"base.{len(weights)}"].numpy())
    base = BaseModel(
        tuple(weights), tensors["base.prior"].numpy(), tensors["base.everything"].numpy()
    )
    if base.prior.shape != (TABLES, 2, OVER_CLASSES, len(OUTCOMES)):
        raise ValueError("its table of overs has another shape")
    # A matrix that does not fit the next one is found by asking.
    told = base.log_probabilities(np.zeros((1, BASE_SIZE), np.float32))
    if base.everything.shape != (len(OUTCOMES),) or told.shape != (1, len(OUTCOMES)):
        raise ValueError("what the scoreboard expects is told in another shape")
    return base


def ratings_of(tensors: dict[str, Tensor], until: str | None, kinds: Sequence[str]) -> Ratings:
    """The ratings of a checkpoint's tensors.

    Raises:
        KeyError, ValueError: they are damaged.
    """
    ratings = Ratings(kinds=tuple(kinds))
    for name in kinds:
        table = ratings.tables[name]
        table.keys = {key: row for row, key in enumerate(_split(tensors[f"ratings.{name}.keys"]))}
        table.rating = _single(tensors[f"ratings.{name}.rating"])
        variance = _single(tensors[f"ratings.{name}.variance"])
        table.precision = np.reciprocal(np.maximum(variance, np.float32(1e-7)))
        table.balls = _single(tensors[f"ratings.{name}.balls"])
        if not table.rating.shape == table.precision.shape == (len(table.keys), len(OUTCOMES)) or (
            len(table.balls) != len(table.keys)
        ):
            raise ValueError(f"its ratings of the kind {name} do not fit each other")
    names, keys = (_split(tensors[f"ratings.alias_{part}"]) for part in ("names", "keys"))
    ratings.aliases = dict(zip(names, keys, strict=True))
    ratings.until = None if until is None else datetime.date.fromisoformat(until)
    return ratings


def _single(stored: Tensor) -> Floats32:
    """In single precision; by numpy, since torch would wake its threads for it."""
    return stored.numpy().astype(np.float32)


def _words(words: list[str]) -> Tensor:
    """Words as the bytes of one text, a line each."""
    data = "\n".join(word.replace("\n", " ") for word in words).encode()
    return torch.tensor(list(data), dtype=torch.uint8)


def _split(data: Tensor) -> list[str]:
    text = data.numpy().tobytes().decode()
    return text.split("\n") if text else []
