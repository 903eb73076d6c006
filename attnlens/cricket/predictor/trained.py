"""Save and load trained predictors, look up players, and update ratings."""

from __future__ import annotations

import datetime
import difflib
import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from attnlens.cricket.match.competition import TABLES
from attnlens.cricket.match.match import OUTCOME_INDEX, OUTCOMES, Innings, Match, Player
from attnlens.cricket.match.naming import find_players, people_of
from attnlens.cricket.predictor.calibration import (
    SHIPPED,
    CalibrationTable,
    calibration_beside,
    named_checkpoint,
)
from attnlens.cricket.predictor.day_tables import (
    saved_table,
    text_tensor,
    words_of,
)
from attnlens.cricket.predictor.predictor import FullModel, Sizes
from attnlens.cricket.predictor.ratings import ALL_KINDS, DAY_TABLES, MatchUpdate, Ratings, by_date
from attnlens.cricket.predictor.scales import SCALES, UNSPECIALISED
from attnlens.cricket.predictor.tensors import BASE_SIZE, NODES, OVER_CLASSES, BaseModel
from attnlens.cricket.predictor.win import WinModel
from attnlens.errors import CheckpointError, InputError
from attnlens.files import Floats32, Integers, Json
from attnlens.reference.checkpoint import Checkpoint, read_checkpoint, write_checkpoint

_KIND: Final = "temporal"
_FORMAT: Final = 1
_DATES: Final = ("trained_from", "trained_until", "weights_until", "win_until", "ratings_until")
_LISTS: Final[Mapping[str, type]] = {
    "match_types": str,
    "teams": str,
    "overs": int,
    "balls_per_over": int,
    "ratings_added": dict,
}


@dataclass
class Trained:
    """A trained network, and its ratings of players, venues and sides.

    Attributes:
        name: the name of a shipped checkpoint, or the stem of the file.
        sha256: the digest of the file.
        card: the model card: training dates, match types and accuracy figures.
        win: the model of win probabilities, fitted on matches up to the date ``win_until``.
        trained_on: `identity_of` for the training and validation matches; ``None`` if unknown.
    """

    name: str
    sha256: str
    model: nn.Module
    base: BaseModel
    ratings: Ratings
    card: Json = field(default_factory=dict)
    calibration: CalibrationTable | None = None
    win: WinModel | None = None
    trained_on: frozenset[int] | None = None

    def date(self, key: str) -> datetime.date | None:
        """Return a date from the card, such as ``trained_until``, or ``None`` if missing."""
        value = self.card.get(key)
        return None if value is None else datetime.date.fromisoformat(value)

    def knows_a_team(self, teams: Sequence[str]) -> bool:
        """Return whether training included any of ``teams``; true if no teams are listed."""
        trained = set(self.card.get("teams", []))
        return not trained or not teams or not trained.isdisjoint(teams)


@dataclass
class TrainedPredictor(Trained):
    """A trained predictor of ball outcomes."""

    model: FullModel

    def earned(self, scale: str) -> list[str]:
        """Return the relation that describes each head of a scale."""
        heads = self.model.sizes.heads[scale]
        names = self.card.get("earned", {}).get(scale, [])
        return [*names, *[UNSPECIALISED] * heads][:heads]


def save_predictor(path: str | os.PathLike[str], predictor: TrainedPredictor) -> None:
    """Write a predictor to one safetensors file."""
    metadata = {"kind": _KIND, "format": _FORMAT, "outcomes": list(OUTCOMES)}
    save_trained(path, predictor, metadata, predictor.model.sizes.to_dict())


def save_trained(
    path: str | os.PathLike[str], trained: Trained, metadata: Json, sizes: Json
) -> None:
    """Write a trained network and its ratings to one safetensors file."""
    until = trained.ratings.until
    network = {f"model.{name}": value for name, value in trained.model.state_dict().items()}
    more = {
        "sizes": sizes,
        "ratings_until": None if until is None else until.isoformat(),
        "card": trained.card,
    }
    write_checkpoint(path, network | known_tensors(trained), metadata | more)


def load_predictor(model: str | os.PathLike[str] | None = None) -> TrainedPredictor:
    """Load a predictor from a file or by name; the default is ``bundled``.

    Raises:
        CheckpointError: the file is missing or damaged, or its kind or version is not supported.
    """
    name, path = named_checkpoint(model)
    checkpoint = read_checkpoint(path, _KIND)
    metadata = checkpoint.metadata
    with checked_checkpoint(metadata, _FORMAT, {"outcomes": list(OUTCOMES)}, path):
        sizes = Sizes.from_dict(metadata["sizes"])
        if {layer: dict(nodes) for layer, nodes in sizes.graph.items()} != NODES:
            raise _other_features(path)
        if set(sizes.heads) != set(SCALES) or not all(
            isinstance(heads, int)
            and heads >= 1
            and (scale == "whole" or sizes.hidden_dim % heads == 0)
            for scale, heads in sizes.heads.items()
        ):
            raise ValueError("its scales or heads are not supported by this model")
        # JSON may not preserve the order of layers and nodes, so the order of NODES is used.
        network = FullModel(replace(sizes, graph=NODES))
        network.load_state_dict(tensors_under("model.", checkpoint.tensors))
        predictor = TrainedPredictor(
            name=name, model=network.eval(), **knowledge_of(checkpoint, ALL_KINDS)
        )
    shipped = name in SHIPPED and path == named_checkpoint(name)[1]
    table = calibration_beside(path, checkpoint.sha256, shipped=shipped)
    return replace(predictor, calibration=table)


@contextmanager
def checked_checkpoint(
    metadata: Json, number: int, names: Mapping[str, list[str]], path: Path
) -> Iterator[None]:
    """Convert errors to a `CheckpointError` while a checkpoint is loaded.

    Args:
        number: the only supported format number.
        names: the feature and outcome names that the metadata must contain.

    Raises:
        CheckpointError: the checkpoint is damaged, or its format or features are not supported.
    """
    format_number = metadata.get("format")
    if format_number != number:
        newer = isinstance(format_number, int) and format_number > number
        raise CheckpointError(
            f"has format {format_number}, but this attnlens reads only format {number}",
            path=path,
            remedy="update attnlens" if newer else "train it again",
        )
    if any(metadata.get(name) != value for name, value in names.items()):
        raise _other_features(path)
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(
            f"is damaged ({' '.join(str(error).split())[:120]})", path=path, remedy="train it again"
        ) from error


def _other_features(path: Path) -> CheckpointError:
    return CheckpointError(
        "was trained on features that this version does not compute",
        path=path,
        remedy="train it again",
    )


def tensors_under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Select the tensors whose names begin with the prefix, and remove the prefix."""
    return {k.removeprefix(prefix): value for k, value in tensors.items() if k.startswith(prefix)}


def knowledge_of(checkpoint: Checkpoint, kinds: Sequence[str]) -> dict[str, Any]:
    """Return the fields of `Trained` from a checkpoint, except the name and the network.

    Raises:
        AttributeError, KeyError, TypeError, ValueError: the fields are damaged.
    """
    tensors, metadata = checkpoint.tensors, checkpoint.metadata
    identities = tensors.get("seen")
    if identities is not None and (identities.dtype != torch.int64 or identities.dim() != 1):
        raise ValueError("the list of its training matches has the wrong shape")
    base = base_of(tensors)
    return {
        "sha256": checkpoint.sha256,
        "base": base,
        "ratings": ratings_of(tensors, metadata["ratings_until"], kinds),
        "card": check_card(metadata["card"]),
        "win": WinModel.from_tensors(tensors_under("win.", tensors), base.last_over),
        "trained_on": None if identities is None else frozenset(identities.tolist()),
    }


def check_card(card: Any) -> Json:
    """Return the card after a check of its types.

    Raises:
        AttributeError, TypeError, ValueError: a member has the wrong type.
    """
    if not isinstance(card, dict):
        raise ValueError("its card is not a JSON object")
    for name in _DATES:
        datetime.date.fromisoformat(card.get(name) or "2000-01-01")
    lists = [(name, card.get(name, []), kind) for name, kind in _LISTS.items()]
    lists += [(f"earned {scale}", names, str) for scale, names in card.get("earned", {}).items()]
    for name, value, kind in lists:
        if not isinstance(value, list) or not all(isinstance(member, kind) for member in value):
            raise ValueError(f"its {name} are not a list of {kind.__name__} values")
    return dict(card)


def identity_of(match: Match) -> int | None:
    """Return a signed 64-bit number that identifies a match by first day, sides and gender.

    The ground is not used, because sources spell grounds differently. The result is ``None`` if the
    match has no date or no teams.
    """
    if match.date is None or not match.teams:
        return None
    teams = sorted(" ".join(team.split()).casefold() for team in match.teams)
    teams += ["women"] * (match.gender == "female")
    text = "\n".join([match.date.isoformat(), *teams])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little", signed=True)


def identities(matches: Iterable[Match]) -> frozenset[int]:
    """Return the results of `identity_of`, without ``None``."""
    return frozenset(filter(None, map(identity_of, matches)))


def distinct_matches(matches: Iterable[Match]) -> Iterator[Match]:
    """Yield each match once. Matches with the same day, sides and balls count as one match."""
    hashes: set[int] = set()
    for match in matches:
        balls = tuple(
            (side.number, tuple((ball.outcome, ball.runs_total) for ball in side.deliveries))
            for side in match.innings
        )
        content_hash = hash((identity_of(match) or match.match_id, balls))
        if content_hash not in hashes:
            hashes.add(content_hash)
            yield match


def known_tensors(trained: Trained) -> dict[str, Tensor]:
    """Return all tensors of a checkpoint, by name, except the network's weights."""
    base, ratings = trained.base, trained.ratings
    arrays = {f"base.{number}": weight for number, weight in enumerate(base.weights)}
    arrays |= {"base.prior": base.prior, "base.everything": base.everything}
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    for name in ratings.kinds:
        table = ratings.tables[name]
        rows = len(table.keys)
        tensors[f"ratings.{name}.rating"] = torch.from_numpy(table.rating[:rows]).half()
        # The variance is stored instead of the precision, because variances fit into 16 bits.
        tensors[f"ratings.{name}.variance"] = torch.from_numpy(1 / table.precision[:rows]).half()
        tensors[f"ratings.{name}.balls"] = torch.from_numpy(table.balls[:rows]).int()
        tensors[f"ratings.{name}.keys"] = text_tensor(list(table.keys))
    tensors["ratings.alias_names"] = text_tensor(list(ratings.aliases))
    tensors["ratings.alias_keys"] = text_tensor(list(ratings.aliases.values()))
    for name, day_table in ratings.day_tables.items():
        parts = saved_table(day_table).items()
        tensors |= {f"ratings.{name}.{part}": tensor for part, tensor in parts}
    if trained.win is not None:
        tensors |= {f"win.{name}": value for name, value in trained.win.to_tensors().items()}
    if trained.trained_on is not None:
        tensors["seen"] = torch.tensor(sorted(trained.trained_on), dtype=torch.int64)
    return tensors


def base_of(tensors: dict[str, Tensor]) -> BaseModel:
    """Build the base model from a checkpoint's tensors.

    Raises:
        KeyError, ValueError: the tensors are damaged.
    """
    arrays = {name: tensor.numpy() for name, tensor in tensors_under("base.", tensors).items()}
    prior, everything = arrays.pop("prior"), arrays.pop("everything")
    base = BaseModel(tuple(arrays[str(n)] for n in range(len(arrays))), prior, everything)
    if base.prior.shape != (TABLES, 2, OVER_CLASSES, len(OUTCOMES)):
        raise ValueError("its table of overs has the wrong shape")
    # This forward pass fails if the shapes of the matrices do not match.
    log_probs = base.log_probabilities(np.zeros((1, BASE_SIZE), np.float32))
    if base.everything.shape != (len(OUTCOMES),) or log_probs.shape != (1, len(OUTCOMES)):
        raise ValueError("its scoreboard model has the wrong shape")
    return base


def ratings_of(tensors: dict[str, Tensor], until: str | None, kinds: Sequence[str]) -> Ratings:
    """Build the ratings from a checkpoint's tensors.

    Raises:
        KeyError, ValueError: the tensors are damaged.
    """
    ratings = Ratings(kinds=tuple(kinds))
    for name in kinds:
        table = ratings.tables[name]
        table.keys = {key: row for row, key in enumerate(words_of(tensors[f"ratings.{name}.keys"]))}
        table.rating = _single(tensors[f"ratings.{name}.rating"])
        variance = _single(tensors[f"ratings.{name}.variance"])
        table.precision = np.reciprocal(np.maximum(variance, np.float32(1e-7)))
        table.balls = _single(tensors[f"ratings.{name}.balls"])
        if not table.rating.shape == table.precision.shape == (len(table.keys), len(OUTCOMES)) or (
            len(table.balls) != len(table.keys)
        ):
            raise ValueError(f"its {name} ratings have shapes that do not fit together")
    names, keys = (words_of(tensors[f"ratings.alias_{part}"]) for part in ("names", "keys"))
    ratings.aliases = dict(zip(names, keys, strict=True))
    ratings.until = None if until is None else datetime.date.fromisoformat(until)
    for name, kind in DAY_TABLES.items():
        parts = tensors_under(f"ratings.{name}.", tensors)
        setattr(ratings, name, kind.from_tensors(parts) if parts else kind())
    return ratings


def _single(stored: Tensor) -> Floats32:
    """A conversion in torch would start threads."""
    return stored.numpy().astype(np.float32)


_MAX_LISTED_NAMES: Final = 8
_MAX_SUGGESTIONS: Final = 5
_NEW: Final = "new:"
"""Marks the name of a player who has not played yet."""


def person_called(name: str, match: Match, predictor: TrainedPredictor, option: str) -> Player:
    """Return the player with a given name, part of a name, or registry id.

    Players of the match are searched before other rated players.

    Args:
        name: a name or an id. The prefix ``new:`` marks the name of a new player.
        option: the command-line option that error messages mention.

    Raises:
        InputError: the name is empty, or matches no player or several players.
    """
    written = " ".join(name.split())
    if written.lower().startswith(_NEW) and written[len(_NEW) :].strip():
        return Player(written[len(_NEW) :].strip())
    if not written:
        raise InputError(f"{option} is empty", remedy="give the name of a player")
    players, rated = people_of(match), rated_players(predictor)
    called = find_players(written, players, rated)
    if len(called) == 1:
        return called[0]
    if called:
        names = sorted({player.name for player in called})
        if len(names) == 1:
            names = sorted(f"{player.name} ({player.key})" for player in called)
        rest = len(names) - _MAX_LISTED_NAMES
        more = f" and {rest} more" if rest > 0 else ""
        raise InputError(
            f"{option} {written!r} matches several players: "
            f"{', '.join(names[:_MAX_LISTED_NAMES])}{more}",
            remedy="write the full name or the registry id",
        )
    similar = _nearest(written.casefold(), {player.name for player in (*players, *rated)})
    phrase = "the nearest known name is" if len(similar) == 1 else "the nearest known names are"
    suggestion = f"{phrase} {', '.join(similar)}" if similar else "no known name is similar"
    raise InputError(
        f"{option}: nobody in the match or the ratings is called {written!r}; {suggestion}",
        remedy="write the name as in the match files; for a debutant, write new:NAME",
    )


def _nearest(sought: str, names: set[str]) -> list[str]:
    forms: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        words = name.casefold().split()
        for form in {name.casefold(), *(word for word in words if len(word) > 2)}:
            forms[form].append(name)
    close = [
        form
        for part in (sought, sought.split()[-1])
        for form in difflib.get_close_matches(part, forms, _MAX_SUGGESTIONS, 0.75)
    ]
    return list(dict.fromkeys(name for form in close for name in forms[form]))[:_MAX_SUGGESTIONS]


def sides_of(match: Match, player: Player) -> set[str]:
    """Return the teams for which a player bats, bowls or is listed in this match."""
    teams = {team for team, squad in match.players.items() if player.name in squad}
    for side in match.innings:
        for ball in side.deliveries:
            if player.key in (ball.batter.key, ball.non_striker.key):
                teams.add(side.batting_team)
            if player.key == ball.bowler.key:
                teams.add(side.bowling_team)
    return teams


def refuse_wrong_side(match: Match, innings: Innings, player: Player, option: str) -> None:
    """Raise an error if a player chosen to bat or bowl belongs to the other side.

    Raises:
        InputError: the player belongs only to the other side of this match.
    """
    bats = option.endswith("batter")
    own, does = (innings.batting_team, "bat") if bats else (innings.bowling_team, "bowl")
    teams = sides_of(match, player)
    if teams and own not in teams:
        raise InputError(
            f"{player} plays for {' and '.join(sorted(teams))}, but {own} {does} in "
            f"innings {innings.number}",
            remedy="name another player",
        )


def rated_players(predictor: TrainedPredictor) -> list[Player]:
    """Return every rated player. If the name is unknown, the key is used as the name."""
    ratings = predictor.ratings
    rated = {
        key
        for kind in ("striker", "bowler")
        for key, row in ratings.tables[kind].keys.items()
        if ratings.tables[kind].balls[row] > 0
    }
    with_names = [Player(name, key) for name, key in ratings.aliases.items() if key in rated]
    without_names = rated - {player.key for player in with_names}
    return [*with_names, *(Player(key, key) for key in without_names)]


T = TypeVar("T", bound=Trained)


class Timeline(Generic[T]):
    """A predictor whose ratings can be computed for any date.

    For a date after the last rated day, the history's matches in between are added to the ratings.
    For other dates, the ratings come from only the history. If the history is ``None``, the
    predictor does not change.
    """

    def __init__(self, predictor: T, history: Iterable[Match] | None) -> None:
        self.predictor = predictor
        self._is_dated = history is not None
        self._names = predictor.ratings.copy() if self._is_dated else predictor.ratings
        # The history may have thousands of matches, so only their updates are kept in memory.
        taught: dict[datetime.date, list[MatchUpdate]] = defaultdict(list)
        for match in distinct_matches(history or ()):
            if match.dates and (innings := _lessons_of(match, predictor.base)):
                taught[max(match.dates)].append(self._names.update_of(match, innings))
        self._days = [
            (day, sorted(taught[day], key=lambda update: update.summary.match_id))
            for day in sorted(taught)
        ]
        self._now: Ratings | None = None
        self._next = 0
        self._started: str | None = None

    def predictor_for(self, match: Match) -> T:
        """Return the predictor with ratings up to the day before ``match``.

        For a match without a date, the predictor does not change. Calls in order of date are
        fastest.
        """
        day = match.date
        if day is None or not self._is_dated:
            return self.predictor
        until = self.predictor.ratings.until
        start = "scratch" if until is not None and day <= until else "checkpoint"
        ratings = self._now
        behind = ratings is not None and ratings.until is not None and ratings.until >= day
        if ratings is None or start != self._started or behind:
            ratings = self._begin(start)
        self._advance(ratings, day)
        return replace(self.predictor, ratings=ratings.copy())

    def _begin(self, start: str) -> Ratings:
        ratings = self._names.copy(blank=start == "scratch")
        until = ratings.complete_until
        self._next = sum(until is not None and day <= until for day, _ in self._days)
        self._now, self._started = ratings, start
        return ratings

    def _advance(self, ratings: Ratings, day: datetime.date) -> None:
        while self._next < len(self._days) and self._days[self._next][0] < day:
            ratings.learn_day(*self._days[self._next])
            self._next += 1


def _lessons_of(match: Match, base: BaseModel) -> list[tuple[Innings, Floats32, Integers]]:
    return [
        (
            side,
            base.of_innings(match, side),
            np.array([OUTCOME_INDEX[ball.outcome] for ball in side.deliveries], np.int64),
        )
        for side in match.innings
        if side.deliveries and not side.super_over
    ]


@dataclass(frozen=True, slots=True)
class Added:
    """The numbers of matches and days in an update of the ratings.

    Attributes:
        matches: the number of matches that were added to the ratings.
        dates: the dates of the first and of the last added match.
        days: the number of distinct days on which the added matches ended.
        already_known: the number of matches that all tables already included.
        undated: the number of matches without a date.
        completed: the number of matches that were added only to a `DayTable`.
    """

    matches: int
    dates: tuple[datetime.date | None, datetime.date | None]
    days: int
    already_known: int
    undated: int
    completed: int


def update_ratings(
    predictor: TrainedPredictor, matches: Iterable[Match], *, last: datetime.date | None = None
) -> tuple[TrainedPredictor, Added]:
    """Add all matches after the last rated day to a predictor's ratings, in order of date.

    A `DayTable` that the checkpoint lacks is computed from all matches.

    Args:
        last: the last day to include.

    Returns:
        The updated predictor (``predictor`` itself if no match is new), and the numbers of matches.
    """
    distinct = {match.match_id: match for match in distinct_matches(matches)}
    before = predictor.ratings.until or datetime.date.min
    complete = predictor.ratings.complete_until or datetime.date.min
    dated = [m for m in distinct.values() if m.dates and max(m.dates) <= (last or max(m.dates))]
    lessons = [m for m in dated if any(s.deliveries and not s.super_over for s in m.innings)]
    learnt = [match for match in lessons if max(match.dates) > before]
    days = sorted({max(match.dates) for match in learnt})
    added = Added(
        len(learnt),
        (days[0], days[-1]) if days else (None, None),
        len(days),
        already_known=sum(max(match.dates) <= complete for match in dated),
        undated=sum(not match.dates for match in distinct.values()),
        completed=sum(complete < max(match.dates) <= before for match in lessons),
    )
    if not learnt and not added.completed:
        return predictor, added
    card = predictor.card
    if learnt:
        first, until = days[0].isoformat(), days[-1].isoformat()
        entry = {"matches": added.matches, "from": first, "until": until, "days": added.days}
        entries = [*card.get("ratings_added", []), entry]
        card = card | {"ratings_until": until, "ratings_added": entries}
    ratings = predictor.ratings.copy()
    for day, played in by_date(match for match in lessons if max(match.dates) > complete):
        # On a day that the ratings already include, no player is added.
        updates = [
            ratings.update_of(match, _lessons_of(match, predictor.base), create=day > before)
            for match in played
        ]
        ratings.learn_day(day, updates)
    return replace(predictor, ratings=ratings, card=card), added
