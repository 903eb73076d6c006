"""One head changed, balls replaced, and what was known exchanged: each against the plain way."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numerics import near
from small_predictors import arrays_of, probabilities, simulated, small_predictor, with_delivery

from attnlens.cricket.explain.ablation import ExpectedOutcomes, OneBall, under_knowledge
from attnlens.cricket.explain.claims import (
    MAX_ALTERNATIVES,
    MIN_ALTERNATIVES,
    ONE_GROUND,
    BallClaim,
    Knowledge,
    compare_knowledge,
)
from attnlens.cricket.explain.explain_ball import explain_ball
from attnlens.cricket.explain.reading import SITES, chosen_subject
from attnlens.cricket.match.match import OUTCOMES, Match, Outcome, Player
from attnlens.cricket.match.naming import BallReference, find_ball
from attnlens.cricket.predictor.predictor import KNOWLEDGE
from attnlens.cricket.predictor.tensors import SCOREBOARD_NODES
from attnlens.cricket.predictor.window import BallWindow, window_batch, window_for
from attnlens.cricket.words.narrative import in_words
from attnlens.evidence.claim import MODEL, AblationSite, ClaimTest
from attnlens.evidence.scores import divergence
from attnlens.evidence.trial import Trial
from attnlens.evidence.verdict import TOO_FEW_LIKE_IT
from attnlens.files import Floats

PREDICTOR = small_predictor(seed=8)
MATCH = simulated(40)
SEED = 11


def window_of(ball: int, match: Match = MATCH) -> BallWindow:
    return window_for(match, find_ball(match, ball, 2), PREDICTOR)


WINDOW = window_of(60)
PLACE = WINDOW.delivery.index - 1
BALL = OneBall(PREDICTOR.model, WINDOW.batch)
FULL = probabilities(PREDICTOR.model, WINDOW.batch)[0, 0]
KNOWN = Knowledge(PREDICTOR, WINDOW)
HEADS = [(scale, head) for scale, heads in PREDICTOR.model.sizes.heads.items()
         for head in range(heads)]  # fmt: skip


def same(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, atol=1e-6)


def with_player(**people: Player) -> Match:
    """The match with another player on the ball that is explained."""
    return with_delivery(MATCH, 2, PLACE + 1, **people)


def hidden_from(scale: str, head: int, keys: list[int]) -> np.ndarray[Any, Any]:
    """The whole model run with one head's edges masked before its softmax."""
    attention = PREDICTOR.model.get_submodule(SITES[scale])

    def mask(_: torch.nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        query, key, relations, hidden, distance = inputs
        count = PREDICTOR.model.sizes.heads[scale]
        every = hidden.expand(query.shape[0], count, query.shape[1], key.shape[1]).clone()
        every[:, head, :, keys] = True
        return query, key, relations, every, distance

    handle = attention.register_forward_pre_hook(mask)
    try:
        result: np.ndarray[Any, Any] = probabilities(PREDICTOR.model, WINDOW.batch)[0, 0]
    finally:
        handle.remove()
    return result


@settings(max_examples=30, deadline=None)
@given(which=st.sampled_from(HEADS), data=st.data())
def test_hiding_keys_from_one_head_is_masking_its_edges(
    which: tuple[str, int], data: st.DataObject
) -> None:
    keys = BALL.scales[which[0]].keys
    chosen = list(data.draw(st.sets(st.integers(0, keys - 1))))
    kept = np.ones((2, keys), bool)
    kept[1, chosen] = False
    same(BALL.under_masks(*which, kept), [FULL, hidden_from(*which, chosen)])


def test_a_ball_as_expected_tells_the_probabilities_before_it() -> None:
    """It keeps its place and its players, surprises nobody, and is no wicket and no boundary."""
    arrays = WINDOW.arrays
    logits = arrays.prior + sum(arrays.ratings[name] for name in ("striker", "bowler", "era"))
    expected = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    extras = {"W": 0, "wd": 1, "nb": 1, "bye": 1}
    runs = np.array([extras[name] if name in extras else int(name) for name in OUTCOMES])
    fours = np.array([outcome in ("4", "6") for outcome in OUTCOMES])
    features = np.column_stack([expected, expected @ runs / 4, expected @ fours, 0 * logits[:, 0]])
    sites = ExpectedOutcomes(PREDICTOR.model, WINDOW.batch)
    sets: list[list[int]] = [[], [39], [39, 57, 58], list(range(PLACE))]
    kept = np.ones((len(sets), PLACE), bool)
    for row, places in enumerate(sets):
        kept[row, places] = False
    found = sites.under_masks(kept)
    same(found[0], FULL)
    for row, places in enumerate(sets):
        happened = arrays.past_outcome.copy()
        happened[places] = features[places]
        flags = {name: getattr(arrays, name).copy() for name in ("wicket", "boundary")}
        for flag in flags.values():
            flag[places] = False
        told = dataclasses.replace(arrays, past_outcome=happened, **flags)
        batch = window_batch(told, PLACE)
        same(found[row], probabilities(PREDICTOR.model, batch)[0, 0])
    assert divergence(FULL, found[1]) > 0


def test_knowledge_at_its_null_is_that_of_the_contributions() -> None:
    found, _ = KNOWN.predict({})
    visible = np.ones((1, len(WINDOW.past)), bool)
    # A record is taken from past balls too where contributions are worked out.
    for group in ("venue and teams", "scoreboard"):
        flags = {name: np.array([name != group]) for name in KNOWLEDGE}
        expected = under_knowledge(PREDICTOR.model, WINDOW.batch, visible, flags)[0]
        same(found[list(KNOWLEDGE).index(group)], expected)


def instead(group: str, others: list[int]) -> Any:
    """Probabilities with others' knowledge in a group's place, ``(other, outcome)``."""
    return KNOWN.predict({group: np.array(others)})[1][group]


@pytest.mark.parametrize(
    ("group", "role", "kind", "node"),
    [
        ("striker's record", "batter", "striker", "batsman_identity"),
        ("bowler's record", "bowler", "bowler", "bowler_identity"),
    ],
)
def test_another_players_record_is_what_the_ratings_say_of_them(
    group: str, role: str, kind: str, node: str
) -> None:
    table = PREDICTOR.ratings.tables[kind]
    player = getattr(WINDOW.delivery, role)
    own = table.row(PREDICTOR.ratings.player_key(player))
    assert own >= 0
    same(instead(group, [own])[0], FULL)
    others = KNOWN.alternatives(group, np.random.default_rng(1))
    assert own not in others
    assert len(set(others.tolist())) == len(others) <= MAX_ALTERNATIVES
    ratio = table.balls[others] / table.balls[own]
    assert ((ratio >= 0.5) & (ratio <= 2)).all()
    # The same match with another player on this ball, encoded from the start.
    balls, keys = WINDOW.innings.deliveries, list(table.keys)
    here = {one.key for b in balls for one in (b.batter, b.bowler, b.non_striker)}
    stranger = next(keys[other] for other in others if keys[other] not in here)
    unmet = dataclasses.replace(player, id=stranger, name=stranger)
    arrays = arrays_of(PREDICTOR, with_player(**{role: unmet}), 2)
    graph: dict[str, Any] = {
        "nodes": {node: torch.tensor(WINDOW.arrays.nodes[node][PLACE])[None, None]},
        "ratings": {kind: torch.zeros(1, 1, len(OUTCOMES))},
    }
    KNOWN._replace(graph, slice(0, 1), group, np.array([table.row(stranger)]))
    swapped = graph["nodes"][node][0, 0].numpy().copy()
    expected = arrays.nodes[node][PLACE].copy()
    if role == "batter":  # the place in the order is the striker's, whoever it is
        expected[-2] = swapped[-2]
    same(swapped, expected)
    same(graph["ratings"][kind][0, 0].numpy(), arrays.ratings[kind][PLACE])


def test_another_scoreboard_is_that_of_an_earlier_ball() -> None:
    for window, places in ((WINDOW, range(59)), (window_of(90), range(29, 89))):
        known = Knowledge(PREDICTOR, window)
        others = known.alternatives("scoreboard", np.random.default_rng(2))
        assert sorted(others.tolist()) == list(places)
    same(instead("scoreboard", [PLACE])[0], FULL)
    batch = window_batch(WINDOW.arrays, PLACE)
    for node in SCOREBOARD_NODES:
        board = torch.from_numpy(WINDOW.arrays.nodes[node][20:21][None])
        batch["graph_data"]["nodes"][node] = board
    batch["graph_data"]["base"] = torch.from_numpy(WINDOW.arrays.base[20:21][None])
    same(instead("scoreboard", [20])[0], probabilities(PREDICTOR.model, batch)[0, 0])


def reason_of(one: ClaimTest[BallClaim]) -> str | None:
    """Why it cannot be told."""
    assert one.untested is not None
    assert one.untested.verdict == "cannot be told"
    return one.untested.reason


def empty_trial() -> Trial[BallClaim]:
    nowhere = AblationSite(lambda masks: np.zeros((len(masks), len(OUTCOMES))), ())
    return Trial({MODEL: nowhere}, seed=SEED)


def whole(_: Floats) -> tuple[None, bool]:
    """A page about the whole distribution."""
    return None, False


def test_the_subject_is_chosen_again_for_every_record() -> None:
    """Each alternative is tested on what a page about its own prediction would be about."""

    def choose(full: Floats) -> tuple[Outcome, bool]:
        return chosen_subject(full, FULL, None)

    tests, _ = compare_knowledge(PREDICTOR, WINDOW, FULL, empty_trial(), choose)
    chase = next(test for test in tests if test.claim.kind == "the chase")
    without = KNOWN.predict({})[0][3]
    expected = []
    for full in instead("scoreboard", [*range(len(WINDOW.past))]):
        subject, lowers = choose(full)
        at = OUTCOMES.index(subject)
        odds = [np.log(probs[at] / (1 - probs[at])) for probs in (full, without)]
        expected.append((odds[0] - odds[1]) * (-1 if lowers else 1))
    near(np.sort(chase.null_statistics), np.sort(expected), of=torch.float32)
    assert len({choose(full)[0] for full in instead("scoreboard", [*range(59)])}) > 1


def test_what_was_known_is_judged_against_others_of_its_kind() -> None:
    measured, masks = compare_knowledge(PREDICTOR, WINDOW, FULL, empty_trial(), whole)
    found = {one.claim.kind: one for one in measured}
    assert list(found) == ["venue and teams", "striker's record", "bowler's record", "the chase"]
    without, _ = KNOWN.predict({})
    for number, one in enumerate(measured):
        near(one.effect, divergence(FULL, without[number]), of=torch.float32)
        near(one.points / 100, without[number] - FULL, of=torch.float32)
    chase, ground = found["the chase"], found["venue and teams"]
    assert len(chase.null_effects) == len(WINDOW.past)
    every = divergence(instead("scoreboard", [*range(len(WINDOW.past))]), without[3])
    # Asked about in one batch here, in two there.
    near(np.sort(chase.null_effects), np.sort(every), of=torch.float32)
    assert (len(ground.null_effects), reason_of(ground)) == (0, ONE_GROUND)
    assert masks >= 4 + len(chase.null_effects)
    for kind in ("striker's record", "bowler's record"):
        # The league has few players: there may be too few to compare with.
        others = len(found[kind].null_effects)
        assert others in (0, *range(MIN_ALTERNATIVES, MAX_ALTERNATIVES + 1))
        assert others or reason_of(found[kind]) == TOO_FEW_LIKE_IT


def test_a_player_never_met_has_no_record() -> None:
    """None is shown, explained or claimed; that he is new to the model has a part of its own."""
    stranger = Player("A Stranger", "nobody-1")
    match = with_player(batter=stranger)
    window = window_of(PLACE + 1, match)
    full = probabilities(PREDICTOR.model, window.batch)[0, 0]
    measured, _ = compare_knowledge(PREDICTOR, window, full, empty_trial(), whole)
    kinds = {one.claim.kind for one in measured}
    assert "striker's record" not in kinds
    assert {"bowler's record", "venue and teams"} < kinds
    reference = BallReference(window.innings.number, PLACE + 1)
    explanation = in_words(explain_ball(match, reference, PREDICTOR))
    assert [record.role for record in explanation.records] == ["bowler"]
    groups = [group.group for group in explanation.contributions]
    assert "unknown striker" in groups
    assert "striker's record" not in groups
    assert not any(claim.kind == "striker's record" for claim in explanation.evidence)
    index = [entry.outcome for entry in explanation.prediction.outcomes]
    for at, _ in enumerate(index):
        entry = explanation.prediction.outcomes[at]
        moved = sum(group.from_usual[at].points for group in explanation.contributions)
        assert moved == pytest.approx(100 * (entry.probability - entry.usual), abs=2e-4)
    for clause in explanation.clauses():
        assert "A Stranger's record" not in clause.text
