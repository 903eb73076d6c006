"""The predictor: a multi-scale temporal encoder over balls that are graphs of nodes.

The past reaches the prediction through attention alone: through seven *slots* inside the
ball (this batter's balls, this bowler's, this stand's, the last twelve, ...) and through
four temporal scales. Every one of those paths is masked by the same ``visible`` tensor, so
a ball that is not visible to a query does not exist for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn

from attnlens.arrays import Flags, Integers
from attnlens.cricket.predictor.heads import SCALES
from attnlens.cricket.predictor.relations import Batch, mapped, relate, take
from attnlens.cricket.predictor.temporal import (
    HEADS,
    SLOTS,
    MultiScaleTemporalEncoder,
    PastSlots,
    WithinBallEncoder,
)
from attnlens.files import Json
from attnlens.recording.probe import AttentionProbe, step

DISTANCES: Final = (1, 2, 3, 4, 6, 9, 12, 18, 24, 30)
"""Least distances of the bands that are told apart; the ball before is 1 back."""

PLACES: Final = 4 * len(DISTANCES)
"""A band of distance, whether the batter is the same, whether the bowler is."""


def places(distance: Integers, same_batter: Flags, same_bowler: Flags) -> Integers:
    """The place of each past ball, from 0 to `PLACES` - 1, all of one shape."""
    band = np.searchsorted(DISTANCES, distance, side="right") - 1
    result: Integers = 4 * band + 2 * same_batter + same_bowler
    return result


FUSED: Final[tuple[str, ...]] = ("within_ball", *SCALES)
"""What the fusion gates weigh, in order."""

KNOWLEDGE: Final[dict[str, tuple[str, ...]]] = {
    "venue and teams": ("venue", "team_context", "match_importance"),
    "striker's record": ("batsman_identity",),
    "bowler's record": ("bowler_identity",),
    "scoreboard": ("score_state", "chase_state", "phase_state", "time_pressure", "wicket_buffer"),
}
"""Groups of knowledge that can be taken away from a query, and the nodes they cover."""

_KNOWLEDGE_RATINGS: Final[dict[str, tuple[str, ...]]] = {
    "venue and teams": ("venue", "teams", "today"),
    "striker's record": ("striker",),
    "bowler's record": ("bowler",),
}
"""The ratings that go with each group; the era's rating always stays."""


RATINGS: Final[tuple[str, ...]] = ("striker", "bowler", "venue", "teams", "era", "today")
"""The rating vectors of a ball; today's is from the earlier innings of the match."""


PATHS: Final[tuple[str, ...]] = (*SCALES, *SLOTS)
"""The ways from a past ball to the prediction."""

BLOCK: Final = 48
"""Queries that are read together in a pass over a whole innings."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Everything that fixes the predictor's shape.

    Attributes:
        graph: layer to node to number of features; 0 for a slot.
        past_nodes: the nodes a past ball may tell.
        outcomes: number of outcome classes.
        happened: size of what a past ball tells of its outcome, without the surprise.
        scoreboard: nodes whose features also skip to the outcome logits.
        hidden_dim: width of everything.
        slot_dim: columns of each slot's attention.
        heads: heads per scale.
        dropout: in training.
        null: logit that "nothing" starts with in every slot; ``None`` leaves it out. See
            `attnlens.cricket.predictor.relations.RelationAttention`.
        readout: whether what the slots read also reaches the fused vector directly, beside
            its way through the nodes.
        strict: whether the scales' same-bowler and same-batsman heads see no other balls.
    """

    graph: Mapping[str, Mapping[str, int]]
    past_nodes: tuple[str, ...]
    outcomes: int
    happened: int
    scoreboard: tuple[str, ...]
    hidden_dim: int = 60
    slot_dim: int = 16
    heads: Mapping[str, int] = field(default_factory=lambda: dict(HEADS))
    dropout: float = 0.1
    null: float | None = 1.5
    readout: bool = True
    strict: bool = True

    def to_dict(self) -> Json:
        return {**asdict(self), "graph": {k: dict(v) for k, v in self.graph.items()}}

    @classmethod
    def from_dict(cls, data: Json) -> Sizes:
        values = {"strict": False, **data}
        values["past_nodes"] = tuple(values["past_nodes"])
        values["scoreboard"] = tuple(values["scoreboard"])
        return cls(**values)


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """What one pass gives.

    Attributes:
        logits: ``(batch, query, outcome)``.
        gates: fusion weights over `FUSED`, ``(batch, query, 5)``.
        scales: attention by scale ``(batch, head, query, key + 1)``, the query last.
        slots: slot attention ``(batch, slot, query, key)``.
        slot_counts: past balls each slot saw ``(batch, slot, query)``.
        within: node weights by layer, and ``layers``.
    """

    logits: Tensor
    gates: Tensor
    scales: dict[str, Tensor]
    slots: Tensor
    slot_counts: Tensor
    within: dict[str, Tensor]


class FullModel(nn.Module):
    """Within-ball graph, four temporal scales and fusion gates.

    Args:
        sizes: see `Sizes`.
        prior: log-probabilities of the outcomes over all balls ``(outcome,)``, what the
            scoreboard's expectation is replaced by when the scoreboard is taken away.

    Attributes:
        path_counts: how much the attention of each of `PATHS` says of what hiding a ball does,
            beside the others ``(path,)``: no part of the forecast
            (`attnlens.cricket.lab.post_training`).
        usual_effects: nats that hiding a past ball costs on average, by its place
            (`attnlens.cricket.predictor.predictor`) ``(place,)``: no part of it either.
    """

    prior: Tensor
    path_counts: Tensor
    usual_effects: Tensor

    def __init__(self, sizes: Sizes, prior: Tensor | None = None) -> None:
        super().__init__()
        self.sizes = sizes
        width, dropout = sizes.hidden_dim, sizes.dropout
        self.within_ball = WithinBallEncoder(sizes.graph, width, dropout=dropout)
        self.to_past = nn.Linear(sizes.happened + sizes.outcomes, width)
        self.past_norm = nn.LayerNorm(width)
        self.slots = PastSlots(width, sizes.slot_dim, sizes.null)
        self.slot_question = nn.Linear(width, width)
        self.temporal = MultiScaleTemporalEncoder(
            width, width, heads=dict(sizes.heads), dropout=dropout, strict=sizes.strict
        )
        self.from_expected = nn.Sequential(
            nn.Linear(sizes.outcomes, width), nn.GELU(), nn.Linear(width, width)
        )
        self.ball_norm = nn.LayerNorm(width)
        self.gate = nn.Linear(width, len(FUSED))
        self.fusion_probe = AttentionProbe(("batch", "query", "source"))
        self.dropout = nn.Dropout(dropout)
        self.to_outcome = nn.Linear(width, sizes.outcomes)
        features = {name: n for nodes in sizes.graph.values() for name, n in nodes.items()}
        self.skip = nn.Linear(sum(features[name] for name in sizes.scoreboard), sizes.outcomes)
        self.trust = nn.Parameter(torch.ones(sizes.outcomes))
        self.rating_scale = nn.ParameterDict(
            {name: nn.Parameter(torch.ones(sizes.outcomes)) for name in RATINGS}
        )
        self.readout = (
            nn.Linear(len(SLOTS) * sizes.slot_dim, width, bias=False) if sizes.readout else None
        )
        nn.init.zeros_(self.skip.weight)
        nn.init.zeros_(self.skip.bias)
        nn.init.normal_(self.to_outcome.weight, std=0.01)
        nn.init.zeros_(self.to_outcome.bias)
        start = torch.zeros(sizes.outcomes) if prior is None else prior
        self.register_buffer("prior", start.clone())
        self.register_buffer("path_counts", torch.ones(len(PATHS)))
        self.register_buffer("usual_effects", torch.ones(PLACES))

    def past(self, batch: Batch) -> Tensor:
        """Vectors of the past balls, ``(batch, key, hidden_dim)``."""
        past, ratings = batch["past"], batch["past"]["ratings"]
        striker_known, bowler_known = past.get("striker_known"), past.get("bowler_known")
        striker, bowler = ratings["striker"], ratings["bowler"]
        if striker_known is not None:
            striker = striker * striker_known[..., None]
        if bowler_known is not None:
            bowler = bowler * bowler_known[..., None]
        expected = (past["prior"] + striker + bowler + ratings["era"]).softmax(-1)
        classes = self.sizes.outcomes
        expected = step("P", expected, "what was expected of each past ball")
        surprise = past["happened"][..., :classes] - expected
        masks = {"batsman_identity": striker_known, "bowler_identity": bowler_known}
        nodes = {
            name: step(
                f"N_{{{name}}}",
                self.within_ball.node(name, past["nodes"][name], masks.get(name)),
                "a node of every past ball",
            )
            for name in self.sizes.past_nodes
        }
        vector, _ = self.within_ball(self.within_ball.read(nodes))
        outcome_vector = self.to_past(torch.cat([past["happened"], surprise], -1))
        result: Tensor = self.dropout(self.past_norm(vector + outcome_vector))
        return step("B", result, "the past balls")

    def predict(
        self,
        batch: Batch,
        *,
        key: Tensor | None = None,
        summaries: Tensor | None = None,
    ) -> Prediction:
        """One pass.

        Args:
            batch: ``graph_data``: ``nodes`` (features by node ``(batch, query, size)``),
                ``base`` (log-probabilities ``(batch, query, outcome)``), ``ratings``
                (vectors by name, same shape), and optionally ``known`` (group of
                `KNOWLEDGE` to boolean ``(batch, query)``).
                ``sequence``: ``current`` and ``past`` (`Balls`), ``visible``
                ``(batch, query, key)``, ``overs``, and optionally ``shared``
                ``(batch, key)``; ``past`` holds the past side's tensors. Where
                ``graph_data`` has one query and ``visible`` has many, the one is asked
                under each mask.
            key: `past`'s result, where it is at hand.
            summaries: the overs' summaries ``(batch, over, hidden_dim)``, likewise; only
                with ``shared``.
        """
        graph, sequence = batch["graph_data"], batch["sequence"]
        knowledge_masks: Mapping[str, Tensor] = graph.get("known") or {}
        current, before, visible = sequence["now"], sequence["balls"], sequence["visible"]
        key = self.past(sequence) if key is None else key
        relations = relate(current, before, visible)
        relations = step("R", relations, "how each past ball stands to this one", as_input=True)

        group_of = {node: group for group, nodes in KNOWLEDGE.items() for node in nodes}
        nodes = {
            name: step(
                f"n_{{{name}}}",
                self.within_ball.node(name, features, knowledge_masks.get(group_of[name])),
                "a node of the ball",
            )
            for name, features in graph["nodes"].items()
        }
        # What the slots ask depends on the state of the game, not on other slots.
        begun = self.within_ball.read(nodes, layers=("global", "match_state"))
        state, _ = self.within_ball(begun)
        question = step("q", self.slot_question(state), "what the slots are asked")
        queries = visible.shape[1]
        if queries > question.shape[1]:
            # One ball under many masks: what no mask changes was worked out once.
            shape = (question.shape[0], queries, question.shape[2])
            question = question.expand(shape)
            nodes = {name: vector.expand(shape) for name, vector in nodes.items()}
            begun = mapped(begun, lambda part: part.expand(-1, queries, -1))
        slots, slot_weights, counts, slot_values = self.slots(
            question, key, current, before, visible, relations
        )
        ball, within = self.within_ball(self.within_ball.read({**nodes, **slots}, begun=begun))
        expected = self.expected(graph, knowledge_masks)
        ball = self.ball_norm(ball + self.from_expected(expected - self.prior))
        ball = step("b", ball, "the ball")
        vectors, scales = self.temporal.read(
            self.dropout(ball),
            key,
            current,
            before,
            visible,
            relations,
            overs=sequence["overs"],
            shared=sequence.get("shared"),
            place_known=knowledge_masks.get("scoreboard"),
            summaries=summaries,
        )
        gates = self.fusion_probe(self.gate(ball).softmax(-1))
        gates = step("a_{fusion}", gates, "attention to the ball and the four scales")
        own_part = ball if self.readout is None else ball + self.readout(slot_values)
        parts = torch.stack([own_part, *(vectors[scale] for scale in SCALES)], -2)
        fused = step("f", (gates[..., None] * parts).sum(-2), "the ball and its past")
        logits = self.to_outcome(self.dropout(fused)) + expected
        logits = step("logits", logits, "a score for every outcome")
        return Prediction(logits, gates, scales, slot_weights, counts, within)

    def expected(self, graph: Batch, knowledge_masks: Mapping[str, Tensor]) -> Tensor:
        """Logits from scoreboard and ratings alone, which skip the attention."""
        base = graph["base"]
        board = torch.cat([graph["nodes"][name] for name in self.sizes.scoreboard], -1)
        scoreboard = knowledge_masks.get("scoreboard")
        skip = self.skip(board)
        if scoreboard is not None:
            base = torch.where(scoreboard[..., None], base, self.prior)
            skip = skip * scoreboard[..., None]
        logits = base
        mask_of = {
            rating: knowledge_masks.get(group)
            for group, ratings in _KNOWLEDGE_RATINGS.items()
            for rating in ratings
        }
        for name in RATINGS:
            mask = mask_of.get(name)
            rating = graph["ratings"][name] * self.rating_scale[name]
            logits = logits + (rating if mask is None else rating * mask[..., None])
        result: Tensor = logits.log_softmax(-1) * self.trust + skip
        return step("e", result, "what scoreboard and ratings expect")

    def forward(self, batch: Batch) -> Tensor:
        """Outcome logits ``(batch, query, outcome)``; see `predict` for ``batch``.

        Where every ball of an innings is a query (``shared`` is given, and queries and keys
        are the same balls), queries go in blocks, each over the balls up to its end: the
        same numbers for less work.
        """
        sequence = batch["sequence"]
        queries, keys = sequence["visible"].shape[1:]
        if sequence.get("shared") is None or queries != keys or queries <= BLOCK:
            return self.predict(batch).logits
        key = self.past(sequence)
        summaries = self.temporal.over_summaries(
            key, sequence["balls"], sequence["shared"][:, None], sequence["overs"]
        )[:, 0]
        logits = []
        for start in range(0, queries, BLOCK):
            rows, before = slice(start, start + BLOCK), slice(0, start + BLOCK)
            block = {
                "graph_data": take(batch["graph_data"], rows),
                "sequence": {
                    **sequence,
                    "now": take(sequence["now"], rows),
                    "balls": take(sequence["balls"], before),
                    "visible": sequence["visible"][:, rows, before],
                },
            }
            logits.append(self.predict(block, key=key[:, before], summaries=summaries).logits)
        return torch.cat(logits, 1)

    def slot_shares(self, prediction: Prediction) -> Tensor:
        """How much of each slot is in the ball's own vector, ``(batch, query, slot)``.

        By its node: the share of its layer times the share of its node. By the readout: one
        part in as many as there are slots, as the heads of a scale count by their mean.
        """
        shares: dict[str, Tensor] = {}
        for number, (layer, nodes) in enumerate(self.within_ball.graph.items()):
            share = prediction.within["layers"][..., number]
            for index, node in enumerate(nodes):
                shares[node] = share * prediction.within[layer][..., index]
        stacked = torch.stack([shares[name] for name in SLOTS], -1)
        return stacked if self.readout is None else stacked + 1 / len(SLOTS)

    def get_full_attention_profile(self, batch: Batch) -> Json:
        """Where attention went, as plain shares.

        Returns:
            ``within_ball``: ``{"layers": [{"layer", "weight", "nodes": [{"node",
            "weight"}]}]}``; ``across_balls``: scale to weights ``(head, key + 1)`` as
            nested lists, the query itself last; ``fusion_weights``. All for the last query of
            the first row.
        """
        with torch.no_grad():
            result = self.predict(batch)
        shares = result.within["layers"][0, -1].tolist()
        return {
            "within_ball": {
                "layers": [
                    {
                        "layer": layer,
                        "weight": shares[number],
                        "nodes": [
                            {"node": node, "weight": weight}
                            for node, weight in zip(
                                names, result.within[layer][0, -1].tolist(), strict=True
                            )
                        ],
                    }
                    for number, (layer, names) in enumerate(self.within_ball.graph.items())
                ]
            },
            "across_balls": {
                scale: weights[0, :, -1].tolist() for scale, weights in result.scales.items()
            },
            "fusion_weights": dict(zip(FUSED, result.gates[0, -1].tolist(), strict=True)),
        }
