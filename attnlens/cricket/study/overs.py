"""How well the encoder-decoder foretells overs it has not seen, beside overs of the same phase.

The comparison is a bootstrap: overs of the training matches, drawn from those that began in the
same phase of an innings. Its chance of a token is how often the token came in those overs after
as many legal balls of the over; its runs and wickets are those of overs drawn whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from attnlens.analysis.scores import SMALLEST, Bootstrap, group_numbers
from attnlens.arrays import Floats, Integers
from attnlens.cricket.match.match import Innings, Match
from attnlens.cricket.match.quota import phase_of, quota_of
from attnlens.cricket.model.ratings import PHASES
from attnlens.cricket.model.window import one_thread
from attnlens.cricket.overs.encoder_decoder import END, PAD, Choice, decode
from attnlens.cricket.overs.features import OverArrays, encode_overs, over_batch
from attnlens.cricket.overs.samples import Drawn, Limits, brought
from attnlens.cricket.overs.tokens import TOKEN_INDEX, TOKENS, legal, overs_of, token_of
from attnlens.cricket.overs.trained import TrainedOvers
from attnlens.cricket.study.figures import Figure
from attnlens.cricket.study.held_out import Checkpoint, HeldOutFor, sides

Report = Callable[[str], None]

SAMPLES: Final = 200
"""Overs drawn for each that is judged."""

SMOOTHING: Final = 20.0
"""Overs' worth of the mean over all phases that a phase's chances are mixed with."""

MOST_LEGAL: Final = 8
LEGAL: Final = np.array([legal(token) for token in TOKENS])
FIGURES: Final[tuple[str, ...]] = ("token_log_loss", "runs_mae", "runs_crps", "wicket_brier")


@dataclass(frozen=True, slots=True, eq=False)
class PhaseOvers:
    """Overs of training matches by the phase they began in.

    Attributes:
        overs: tokens of each over, padded with 0, by phase ``(over, place)``.
        chances: of the next token by phase and legal balls so far ``(3, MOST_LEGAL + 1, 24)``.
    """

    overs: tuple[Integers, ...]
    chances: Floats

    def draw(self, phase: int, count: int, generator: np.random.Generator) -> Integers:
        """Overs of a phase, with replacement ``(count, place)``."""
        kept = self.overs[phase]
        return kept[generator.integers(len(kept), size=count)]

    def given(self, phase: int, tokens: Sequence[int]) -> Floats:
        """The chance of each token of an over, ``<end>`` included."""
        told = np.array(tokens)
        so_far = np.minimum(np.cumsum(LEGAL[told]) - LEGAL[told], MOST_LEGAL)
        found: Floats = self.chances[phase, so_far, told]
        return found


def phase_overs(matches: Iterable[Match]) -> PhaseOvers:
    """Every over of some matches, by phase."""
    found: dict[int, list[list[int]]] = defaultdict(list)
    counts = np.zeros((len(PHASES), MOST_LEGAL + 1, len(TOKENS)))
    for match in matches:
        for side in sides(match):
            quota = quota_of(match, side)
            for balls in overs_of(side).values():
                phase = phase_of(balls[0].legal_balls_before, quota)
                tokens = [*(TOKEN_INDEX[token_of(ball)] for ball in balls), END]
                found[phase].append(tokens)
                so_far = 0
                for token in tokens:
                    counts[phase, min(so_far, MOST_LEGAL), token] += 1
                    so_far += int(LEGAL[token])
    longest = max(len(tokens) for overs in found.values() for tokens in overs)
    padded = tuple(
        np.array([one + [PAD] * (longest - len(one)) for one in found[phase]], np.int64).reshape(
            -1, longest
        )
        for phase in range(len(PHASES))
    )
    # Every delivery and every end can come: one of each, over all phases together.
    whole = counts.sum(0) + np.where(np.arange(len(TOKENS)) >= END, 1.0, 0.0)
    share = whole / whole.sum(1, keepdims=True)
    mixed = counts + SMOOTHING * share
    return PhaseOvers(padded, mixed / mixed.sum(-1, keepdims=True))


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What one way of foretelling said of every over.

    Attributes:
        losses: of every token, nats ``(token,)``.
        off: runs between the median foretold and what came ``(over,)``.
        crps: continuous ranked probability score of the runs ``(over,)``.
        brier: of at least one wicket ``(over,)``.
        wicket: the chance of one ``(over,)``.
    """

    losses: Floats
    off: Floats
    crps: Floats
    brier: Floats
    wicket: Floats

    @property
    def values(self) -> tuple[Floats, ...]:
        """In the order of `FIGURES`."""
        return self.losses, self.off, self.crps, self.brier


@dataclass
class Notes:
    """What is noted over by over while judging."""

    losses: list[Floats] = field(default_factory=list)
    off: list[float] = field(default_factory=list)
    crps: list[float] = field(default_factory=list)
    brier: list[float] = field(default_factory=list)
    wicket: list[float] = field(default_factory=list)

    def add(self, chances: Floats, drawn: Drawn, runs: int, fell: bool) -> None:
        """One over: the chances of its tokens, overs drawn for it, and what came."""
        self.losses.append(-np.log(np.maximum(chances, SMALLEST)))
        self.off.append(abs(float(np.median(drawn.runs)) - runs))
        self.crps.append(ranked_score(drawn.runs, runs))
        chance = float((drawn.wickets > 0).mean())
        self.wicket.append(chance)
        self.brier.append((chance - fell) ** 2)

    def done(self) -> Judged:
        return Judged(
            np.concatenate(self.losses),
            np.array(self.off),
            np.array(self.crps),
            np.array(self.brier),
            np.array(self.wicket),
        )


def ranked_score(drawn: Integers, came: int) -> float:
    """The continuous ranked probability score of draws: ``mean |X - y| - mean |X - X'| / 2``.

    Reference:
        Gneiting & Raftery 2007, "Strictly Proper Scoring Rules", section 4.2.
    """
    ordered = np.sort(drawn)
    count = len(ordered)
    rank = 2 * np.arange(1, count + 1) - count - 1
    return float(np.abs(ordered - came).mean() - (rank * ordered).sum() / count**2)


@dataclass(frozen=True, slots=True, eq=False)
class JudgedOvers:
    """Every judged over.

    Attributes:
        ways: ``model`` and ``phase``.
        match: number of the match of each over ``(over,)``, and of each token ``(token,)``.
        phase: of each over; ``first``: whether it is the innings' first ``(over,)``.
        runs, fell: what came ``(over,)``.
        drawn_runs: the mean of the runs the model drew ``(over,)``.
        unfinished: share of the model's draws that came to no end.
    """

    ways: dict[str, Judged]
    match: Integers
    token_match: Integers
    token_phase: Integers
    phase: Integers
    first: NDArray[np.bool_]
    runs: Integers
    fell: NDArray[np.bool_]
    drawn_runs: Floats
    unfinished: float

    def __len__(self) -> int:
        return len(self.match)


@one_thread()
def judge_overs(
    held: HeldOutFor[TrainedOvers],
    phases: PhaseOvers,
    *,
    samples: int = SAMPLES,
    seed: int = 5,
    report: Report = lambda _: None,
) -> JudgedOvers:
    """Foretell every over of the matches, with the ratings of their dates."""
    notes = {"model": Notes(), "phase": Notes()}
    ids: list[str] = []
    lengths: list[int] = []
    told: dict[str, list[Any]] = defaultdict(list)
    for number, (match, trained) in enumerate(held.dated(), 1):
        report(f"judging match {number} of {len(held.matches)}")
        for side in sides(match):
            arrays = encode_overs(match, side, trained.ratings, trained.base)
            chances, tokens = _asked(trained, arrays, samples, seed + 7919 * len(ids))
            limits = _limits(side, arrays)
            for row, balls in enumerate(overs_of(side).values()):
                generator = np.random.default_rng([seed, len(ids)])
                phase = phase_of(balls[0].legal_balls_before, quota_of(match, side))
                wanted = [*arrays.tokens[row], END]
                runs = sum(ball.runs_total for ball in balls)
                fell = TOKEN_INDEX["W"] in wanted
                drawn = brought(tokens[row], trained.token_runs, limits[row], generator)
                notes["model"].add(chances[row], drawn, runs, fell)
                others = phases.draw(phase, samples, generator)
                baseline = phases.given(phase, wanted)[: len(chances[row])]
                other = brought(others, trained.token_runs, limits[row], generator)
                notes["phase"].add(baseline, other, runs, fell)
                ids.append(match.match_id)
                lengths.append(len(baseline))
                told["phase"].append(phase)
                told["first"].append(not arrays.start[row])
                told["runs"].append(runs)
                told["fell"].append(fell)
                told["drawn_runs"].append(float(drawn.runs.mean()))
                told["unfinished"].append(float((~drawn.finished).mean()))
    groups = group_numbers(ids)
    phase_of_each = np.array(told["phase"])
    return JudgedOvers(
        {name: note.done() for name, note in notes.items()},
        groups,
        np.repeat(groups, lengths),
        np.repeat(phase_of_each, lengths),
        phase_of_each,
        np.array(told["first"], bool),
        np.array(told["runs"]),
        np.array(told["fell"], bool),
        np.array(told["drawn_runs"]),
        float(np.mean(told["unfinished"])),
    )


def _asked(
    trained: TrainedOvers, arrays: OverArrays, samples: int, seed: int
) -> tuple[list[Floats], Integers]:
    """Chances of every token of each over, and overs drawn for each ``(over, sample, place)``."""
    model = trained.model
    batch = over_batch([(arrays, row) for row in range(len(arrays))], model.sizes)
    with torch.no_grad():
        memory = model.remember(batch.history, batch.padded, batch.context)
        logits = model(batch.history, batch.padded, batch.context, batch.given)
    chances = logits.double().softmax(-1).gather(-1, batch.wanted[..., None])[..., 0].numpy()
    kept = (batch.wanted != PAD).numpy()
    generator = torch.Generator().manual_seed(seed)
    tokens = decode(model, memory, Choice(greedy=False), samples=samples, generator=generator)
    return [row[some] for row, some in zip(chances, kept, strict=True)], tokens.numpy()


def _limits(side: Innings, arrays: OverArrays) -> list[Limits]:
    """What ends the innings inside each over."""
    found = []
    for start in arrays.start.tolist():
        ball = side.deliveries[start]
        found.append(Limits.of(side, ball.score_before, ball.wickets_before))
    return found


@dataclass(frozen=True, slots=True)
class OverPart:
    """Some of the overs: the figures of the model, of overs of the phase, and their difference."""

    overs: int
    model: dict[str, Figure]
    phase: dict[str, Figure]
    difference: dict[str, Figure]


@dataclass(frozen=True, slots=True)
class OverEvaluation:
    """The document of ``attnlens evaluate --json`` for an encoder-decoder.

    Attributes:
        phase_overs_of: how many matches the phases' overs are from.
        samples: overs that were drawn for each.
        unfinished: share of the model's draws that came to no end.
        runs: an over brought on average, and the model drew.
        wickets: share of overs with one, and the chance that each way gave it.
        by: all overs, and those of each phase.
    """

    overs: int
    tokens: int
    matches: int
    dates: dict[str, str | None]
    checkpoint: Checkpoint
    in_sample: int
    notes: tuple[str, ...]
    phase_overs_of: dict[str, int]
    samples: int
    unfinished: float
    runs: dict[str, float]
    wickets: dict[str, float]
    by: dict[str, OverPart]
    bootstrap: dict[str, int | str]


def over_evaluation(
    held: HeldOutFor[TrainedOvers],
    overs: JudgedOvers,
    *,
    fitted_on: int,
    samples: int = SAMPLES,
    draws: int = 1000,
    seed: int = 5,
) -> OverEvaluation:
    """The figures of every over that was judged.

    Args:
        fitted_on: how many matches the phases' overs are from.
        samples: overs that were drawn for each.
        draws: resamples of the intervals.
    """
    by_over = Bootstrap(overs.match, draws=draws, seed=seed)
    by_token = Bootstrap(overs.token_match, draws=draws, seed=seed)
    parts = {"all": (np.ones(len(overs), bool), np.ones(len(overs.token_match), bool))}
    for number, name in enumerate(PHASES):
        parts[name] = (overs.phase == number, overs.token_phase == number)
    wickets = {name: float(way.wicket.mean()) for name, way in overs.ways.items()}
    return OverEvaluation(
        overs=len(overs),
        tokens=len(overs.token_match),
        matches=int(overs.match.max()) + 1,
        dates=dict(zip(("first", "last"), held.dates, strict=True)),
        checkpoint=held.checkpoint,
        in_sample=held.in_sample,
        notes=held.notes,
        phase_overs_of={"matches": fitted_on},
        samples=samples,
        unfinished=overs.unfinished,
        runs={"came": float(overs.runs.mean()), "drawn": float(overs.drawn_runs.mean())},
        wickets={"came": float(overs.fell.mean()), **wickets},
        by={
            name: _part(overs.ways, rows, by_over, token_rows, by_token)
            for name, (rows, token_rows) in parts.items()
            if rows.any()
        },
        bootstrap={"draws": draws, "seed": seed, "resampled": "matches"},
    )


def _part(
    ways: Mapping[str, Judged],
    rows: NDArray[np.bool_],
    by_over: Bootstrap,
    token_rows: NDArray[np.bool_],
    by_token: Bootstrap,
) -> OverPart:
    """Every figure of each way, and the model's less the phase's."""

    def figures(values: Sequence[Floats]) -> dict[str, Figure]:
        tokens, *others = values
        return {
            FIGURES[0]: Figure.resampled(tokens, by_token, token_rows),
            **{
                name: Figure.resampled(value, by_over, rows)
                for name, value in zip(FIGURES[1:], others, strict=True)
            },
        }

    model, phase = (ways[name].values for name in ("model", "phase"))
    gaps = [one - other for one, other in zip(model, phase, strict=True)]
    return OverPart(int(rows.sum()), figures(model), figures(phase), figures(gaps))
