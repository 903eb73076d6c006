"""The matches on which a trained predictor is evaluated, and the ratings as of each match date.

Held-out matches are later than the predictor's training dates. Matches from the training dates are
evaluated only if the user requests in-sample figures.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.match import Innings, Match
from attnlens.cricket.predictor.ratings import Ratings
from attnlens.cricket.predictor.tensors import InningsArrays, encode_innings
from attnlens.cricket.predictor.trained import Timeline, TrainedPredictor, distinct_matches
from attnlens.cricket.readers import Report, read_matches, silent
from attnlens.errors import InputError
from attnlens.files import Json

Source = str | os.PathLike[str]


@dataclass(frozen=True, slots=True, eq=False)
class EncodedInnings:
    """One innings (not a super over), encoded with the ratings before the match day."""

    match: Match
    side: Innings
    arrays: InningsArrays

    @property
    def match_id(self) -> str:
        return self.match.match_id

    @property
    def innings(self) -> int:
        """The position of the innings in the match, counted from 1."""
        return self.side.number


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """The matches on which a predictor is evaluated, oldest first.

    Every match has at least one ball.

    Attributes:
        timeline: the ratings as of each date, or ``None`` if the ratings cannot be computed.
        in_sample: the number of ``matches`` inside the training dates.
        available: all matches of the sources and of the history, by id.
    """

    predictor: TrainedPredictor
    matches: tuple[Match, ...]
    timeline: Timeline[TrainedPredictor] | None
    in_sample: int
    available: Mapping[str, Match]

    @property
    def dates(self) -> tuple[str | None, str | None]:
        """The days of the first and the last match, such as 2024-10-24."""
        days = [day.isoformat() for match in self.matches if (day := last_day(match)) is not None]
        return min(days, default=None), max(days, default=None)

    @property
    def checkpoint(self) -> Json:
        """The name, digest and training dates of the evaluated checkpoint."""
        days = ("trained_from", "trained_until", "weights_until")
        return {
            "name": self.predictor.name,
            "sha256": self.predictor.sha256,
            **{name: self.predictor.card.get(name) for name in days},
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """Cautions about the evaluation figures."""
        notes = []
        if self.in_sample:
            notes.append(
                f"{self.in_sample} of {len(self.matches)} matches are inside the model's "
                "training dates, so the results look better than they are"
            )
        if self.timeline is None:
            notes.append(
                "the player and venue ratings are those of the checkpoint, because the ratings as "
                "of each match date cannot be computed"
            )
        return tuple(notes)

    def by_another(self, predictor: TrainedPredictor, report: Report = silent) -> HeldOut:
        """Return the same matches with another predictor. The training dates are not checked."""
        timeline = _timeline(predictor, self.matches, dict(self.available), report)
        return replace(self, predictor=predictor, timeline=timeline)

    def ratings(self, report: Report = silent) -> Iterator[tuple[Match, Ratings]]:
        """Yield every match, oldest first, with the ratings before the day of the match."""
        for number, match in enumerate(self.matches, 1):
            report(f"match {number} of {len(self.matches)}")
            timeline = self.timeline
            predictor = self.predictor if timeline is None else timeline.predictor_for(match)
            yield match, predictor.ratings

    def innings(self, report: Report = silent) -> Iterator[EncodedInnings]:
        """Yield every innings except super overs, oldest first, as `EncodedInnings`."""
        for match, ratings in self.ratings(report):
            for side in sides(match):
                arrays = encode_innings(match, side, ratings, self.predictor.base)
                yield EncodedInnings(match, side, arrays)


def sides(match: Match) -> list[Innings]:
    """Return the innings in which at least one ball was bowled, without super overs."""
    return [side for side in match.innings if side.deliveries and not side.super_over]


def last_day(match: Match) -> datetime.date | None:
    """Return the last day of a match. Training and evaluation matches are split by this day."""
    return max(match.dates) if match.dates else None


def held_out(
    predictor: TrainedPredictor,
    sources: Sequence[Source],
    *,
    history: Sequence[Source] = (),
    first: datetime.date | None = None,
    last: datetime.date | None = None,
    allow_in_sample: bool = False,
    skipped: list[MatchFileError] | None = None,
    report: Report = silent,
) -> HeldOut:
    """Choose the matches on which a trained model is evaluated.

    By default, all matches of ``sources`` that ended after the training dates are chosen. Earlier
    matches, and all matches of ``history``, update the ratings to each match date. Duplicate
    matches count once.

    Args:
        first: the first day on which an evaluated match may end; by default, the day after the
            training dates.
        last: the last day on which an evaluated match may end.
        allow_in_sample: whether to accept matches from the training dates or the ratings.
        skipped: a list to which the errors of unreadable files are added.

    Raises:
        MatchFileError: no match could be read. The error of the first file is raised.
        InputError: no match is left, or a chosen match is inside the training dates. Also raised if
            the ratings include a chosen match and cannot be recomputed.
    """
    if first is not None and last is not None and first > last:
        raise InputError(
            f"--from {first} is after --until {last}, so no day is left",
            remedy="swap --from and --until",
        )
    refused: list[MatchFileError] = [] if skipped is None else skipped
    matches = read(sources, refused, report)

    def refusal(problem: str, remedy: str) -> InputError:
        return InputError(problem, path=sources[0] if len(sources) == 1 else None, remedy=remedy)

    began, ended = predictor.date("trained_from"), predictor.date("trained_until")
    start = first
    if start is None and ended is not None and not allow_in_sample:
        start = ended + datetime.timedelta(days=1)
    chosen = [match for match in matches.values() if _in_days(match, start, last)]
    in_sample = 0
    if ended is not None:
        # A match without a date may have been used in training, so it counts as in-sample.
        in_sample = sum(not match.dates or _in_days(match, began, ended) for match in chosen)
    if in_sample and not allow_in_sample:
        raise refusal(
            f"{in_sample} of the {len(chosen)} chosen matches are inside the model's training "
            f"dates ({began or '...'} to {ended})",
            f"choose later matches with --from, or {_IN_SAMPLE}",
        )
    if not matches:
        if refused:
            raise refused[0]
        raise refusal(
            "contains no match with at least one ball", "give a match file, a folder or a zip"
        )
    if not chosen:
        days = (
            f"from {start} on, after the model's training"
            if first != start
            else "between --from and --until"
        )
        remedy = f"give other matches, widen --from and --until, or {_IN_SAMPLE}"
        raise refusal(f"no match was played {days}", remedy)
    chosen.sort(key=lambda match: (last_day(match) or datetime.date.min, match.match_id))
    available = {**matches, **read(history, refused, report)}
    timeline = _timeline(predictor, chosen, available, report)
    until = predictor.ratings.until
    n_known = 0 if until is None else sum(_in_days(match, None, until) for match in chosen)
    if timeline is None and n_known and not allow_in_sample:
        raise refusal(
            f"{n_known} of the {len(chosen)} chosen matches are already included in the model's "
            f"ratings, which run to {until}",
            "evaluate with --model measured, give earlier matches with --history, or " + _IN_SAMPLE,
        )
    return HeldOut(predictor, tuple(chosen), timeline, in_sample, available)


_IN_SAMPLE: Final = "accept in-sample matches with --allow-in-sample"


def _in_days(match: Match, first: datetime.date | None, last: datetime.date | None) -> bool:
    """Return whether a match ended between two days, both included. ``None`` means no limit."""
    day = last_day(match)
    if day is None:
        return first is None and last is None
    return (first is None or day >= first) and (last is None or day <= last)


def read(
    sources: Sequence[Source], skipped: list[MatchFileError], report: Report
) -> dict[str, Match]:
    """Read all sources. Return a dict from id to match, without duplicates or empty matches."""
    matches: dict[str, Match] = {}
    every = (read_matches(source, on_error="skip", skipped=skipped) for source in sources)
    for match in distinct_matches(chain.from_iterable(every)):
        if sides(match):
            matches[match.match_id] = match
        if len(matches) % 50 == 0:
            report(f"reading matches: {len(matches)}")
    return matches


def _timeline(
    predictor: TrainedPredictor,
    chosen: Sequence[Match],
    earlier: dict[str, Match],
    report: Report,
) -> Timeline[TrainedPredictor] | None:
    days = [match.date for match in chosen if match.date is not None]
    if not days:
        return None
    until = predictor.ratings.until or datetime.date.max
    later = min(days) > until
    # If every match is later than the checkpoint's ratings, these ratings are updated. A match that
    # they include must not be learnt again.
    complete = predictor.ratings.complete_until or datetime.date.min
    history = [
        match
        for match in earlier.values()
        if match.date is not None
        and match.date < max(days)
        and not (later and max(match.dates) <= complete)
    ]
    if not later and not any(max(match.dates) < min(days) for match in history):
        return None
    report(f"updating the ratings with {len(history)} matches")
    return Timeline(predictor, history)
