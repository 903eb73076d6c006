"""The network that predicts a ball's outcome from facts known before the ball and from past balls.

Past balls affect the prediction only through the attention heads of five temporal scales. The mask
``visible`` applies to all heads. An invisible ball has no effect on the prediction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn

from attnlens.cricket.predictor.relations import Batch, relate, take
from attnlens.cricket.predictor.scales import SCALES
from attnlens.cricket.predictor.temporal import (
    HEADS,
    MultiScaleTemporalEncoder,
    WithinBallEncoder,
)
from attnlens.files import Flags, Integers, Json
from attnlens.recording.probe import AttentionProbe, step

DISTANCES: Final = (1, 2, 3, 4, 6, 9, 12, 18, 24, 30)
"""The smallest distance in each band of distances. The previous ball has distance 1."""

PLACES: Final = 4 * len(DISTANCES)
"""The number of place numbers that `places` can return."""


_TAIL: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3)
EFFECT_LEVELS: Final = (*_TAIL, 0.4, 0.5, 0.6, *(1 - level for level in reversed(_TAIL)))
"""The probabilities of the quantiles in `FullModel.effect_quantiles`."""


def places(distance: Integers, same_batter: Flags, same_bowler: Flags) -> Integers:
    """Return the place number of each past ball, from 0 to `PLACES` - 1.

    A place number combines the distance band and both flags. All arrays have the same shape.
    """
    band = np.searchsorted(DISTANCES, distance, side="right") - 1
    result: Integers = 4 * band + 2 * same_batter + same_bowler
    return result


FUSED: Final[tuple[str, ...]] = ("within_ball", *SCALES)
"""The vectors that the fusion gates combine, in order."""

KNOWLEDGE: Final[dict[str, tuple[str, ...]]] = {
    "venue and teams": ("venue", "team_context", "match_importance"),
    "striker's record": ("batsman_identity",),
    "bowler's record": ("bowler_identity",),
    "scoreboard": ("score_state", "chase_state", "phase_state", "time_pressure", "wicket_buffer"),
}
"""The groups of inputs that can be hidden, and the nodes of each group."""

_RECORD_NODES: Final = (("striker", "batsman"), ("bowler", "bowler"))
_KNOWLEDGE_RATINGS: Final[dict[str, tuple[str, ...]]] = {
    "venue and teams": ("venue", "teams", "today"),
    "striker's record": ("striker",),
    "bowler's record": ("bowler",),
}
"""The ratings of each group. The rating of the era is never hidden."""


RATINGS: Final[tuple[str, ...]] = ("striker", "bowler", "venue", "teams", "era", "today")
"""A ball's rating vectors. The vector ``today`` comes from earlier innings of the match."""


BLOCK: Final = 48
"""The number of queries per block when every ball of an innings is a query."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of the predictor.

    Attributes:
        graph: for each layer, the number of features of each node.
        past_nodes: the nodes that describe a past ball.
        happened: the number of features of a past ball's outcome.
        scoreboard: the nodes whose features also contribute directly to the outcome logits.
        heads: the number of heads of each scale.
    """

    graph: Mapping[str, Mapping[str, int]]
    past_nodes: tuple[str, ...]
    outcomes: int
    happened: int
    scoreboard: tuple[str, ...]
    hidden_dim: int = 60
    heads: Mapping[str, int] = field(default_factory=lambda: dict(HEADS))
    dropout: float = 0.1

    def to_dict(self) -> Json:
        return {**asdict(self), "graph": {k: dict(v) for k, v in self.graph.items()}}

    @classmethod
    def from_dict(cls, data: Json) -> Sizes:
        values = dict(data)
        if "slot_dim" in values:
            raise ValueError("its heads have the format of an earlier version")
        tuples = {name: tuple(values[name]) for name in ("past_nodes", "scoreboard")}
        return cls(**values | tuples)


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """The result of one forward pass.

    Attributes:
        logits: shape ``(batch, query, outcome)``.
        gates: the fusion weights of `FUSED`, shape ``(batch, query, source)``.
        scales: each scale's attention weights, shape ``(batch, head, query, key + 1)``. In the
            scale ``whole``, the last key is the null key. In other scales, the last key is the
            query.
        within: each layer's attention to its nodes; in ``layers``, the attention to the layers.
    """

    logits: Tensor
    gates: Tensor
    scales: dict[str, Tensor]
    within: dict[str, Tensor]


class FullModel(nn.Module):
    """The complete network: a graph of nodes, five temporal scales and fusion gates.

    Args:
        prior: the logarithm of each outcome's overall frequency, shape ``(outcome,)``. If the
            scoreboard is hidden, the network uses the prior instead of the scoreboard.

    Attributes:
        usual_effects: the mean and the standard deviation of the effect of one hidden past ball,
            shape ``(outcome + 2, place, 2)``. The results of `places` index the axis ``place``.
            Each outcome has a row for the decrease of its log-odds. The next row is the change of
            the whole distribution, in nats. The last row is the explained outcome's log-odds change
            in the claimed direction, in standard deviations.
        effect_quantiles: the quantiles `EFFECT_LEVELS` of effects that are standardised with
            ``usual_effects``, shape ``(outcome + 2, level)``. Neither buffer affects the forecast.
            `attnlens.cricket.lab.fit` computes both buffers.
    """

    prior: Tensor
    effect_quantiles: Tensor
    usual_effects: Tensor

    def __init__(self, sizes: Sizes, prior: Tensor | None = None) -> None:
        super().__init__()
        self.sizes = sizes
        width, dropout = sizes.hidden_dim, sizes.dropout
        self.within_ball = WithinBallEncoder(sizes.graph, width, dropout=dropout)
        self.to_past = nn.Linear(sizes.happened + sizes.outcomes, width)
        self.past_norm = nn.LayerNorm(width)
        self.temporal = MultiScaleTemporalEncoder(
            width, width, heads=dict(sizes.heads), dropout=dropout, strict=True
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
        nn.init.zeros_(self.skip.weight)
        nn.init.zeros_(self.skip.bias)
        nn.init.normal_(self.to_outcome.weight, std=0.01)
        nn.init.zeros_(self.to_outcome.bias)
        start = torch.zeros(sizes.outcomes) if prior is None else prior
        self.register_buffer("prior", start.clone())
        of_each = torch.ones(sizes.outcomes + 2, PLACES, 1)
        self.register_buffer("usual_effects", torch.cat([0 * of_each, of_each], -1))
        quantiles = torch.zeros(sizes.outcomes + 2, len(EFFECT_LEVELS))
        self.register_buffer("effect_quantiles", quantiles)

    def expected_of_past(self, past: Batch) -> Tensor:
        """Return each past ball's expected probabilities, shape ``(batch, key, outcome)``."""
        ratings = past["ratings"]
        masks = {role: past.get(f"{role}_known") for role in ("striker", "bowler")}
        striker, bowler = (
            ratings[role] if mask is None else ratings[role] * mask[..., None]
            for role, mask in masks.items()
        )
        expected = (past["prior"] + striker + bowler + ratings["era"]).softmax(-1)
        return step("P", expected, "expected outcome probabilities of each past ball")

    def past(self, batch: Batch) -> Tensor:
        """Return the vectors of the past balls, shape ``(batch, key, hidden_dim)``."""
        past = batch["past"]
        surprise = past["happened"][..., : self.sizes.outcomes] - self.expected_of_past(past)
        masks = {f"{node}_identity": past.get(f"{role}_known") for role, node in _RECORD_NODES}
        nodes = {
            name: step(
                f"N_{{{name}}}",
                self.within_ball.node(name, past["nodes"][name], masks.get(name)),
                "one node of each past ball",
            )
            for name in self.sizes.past_nodes
        }
        vector, _ = self.within_ball(nodes)
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
        """Run one forward pass.

        The dictionary ``batch["graph_data"]`` describes the queries:

        - ``nodes``: the features of each node, shape ``(batch, query, size)``
        - ``base``: log-probabilities, shape ``(batch, query, outcome)``
        - ``ratings``: a dictionary of vectors that have the shape of ``base``
        - ``known`` (optional): for each group of `KNOWLEDGE`, a mask with shape ``(batch, query)``
          that is false where the group is hidden

        The dictionary ``batch["sequence"]`` describes the past balls:

        - ``now``, ``balls``: the queries and the past balls, as `Balls`
        - ``past``: the features of the past balls, for `FullModel.past`
        - ``visible``: a mask, shape ``(batch, query, key)``
        - ``overs``: the number of overs
        - ``shared``, ``in_windows`` (optional): see `MultiScaleTemporalEncoder.read`

        If there is one query and ``visible`` has several masks, the query is evaluated under each
        mask.

        Args:
            key: the result of `past`; computed if missing.
            summaries: the summaries of the overs; computed if missing. Summaries require
                ``shared``.
        """
        graph, sequence = batch["graph_data"], batch["sequence"]
        knowledge_masks: Mapping[str, Tensor] = graph.get("known") or {}
        current, before, visible = sequence["now"], sequence["balls"], sequence["visible"]
        key = self.past(sequence) if key is None else key
        relations = relate(current, before, visible)
        relations = step("R", relations, "relations of each past ball to this ball", as_input=True)

        group_of = {node: group for group, nodes in KNOWLEDGE.items() for node in nodes}
        nodes = {
            name: step(
                f"n_{{{name}}}",
                self.within_ball.node(name, features, knowledge_masks.get(group_of[name])),
                "one node of the ball",
            )
            for name, features in graph["nodes"].items()
        }
        ball, within = self.within_ball(nodes)
        expected = self.expected(graph, knowledge_masks)
        ball = self.ball_norm(ball + self.from_expected(expected - self.prior))
        ball = step("b", ball, "the ball")
        if visible.shape[1] > ball.shape[1]:
            # The tensors above do not depend on the mask, so they are computed only once.
            ball = ball.expand(-1, visible.shape[1], -1)
        vectors, scales = self.temporal.read(
            self.dropout(ball),
            key,
            current,
            before,
            visible,
            relations,
            overs=sequence["overs"],
            shared=sequence.get("shared"),
            in_windows=sequence.get("in_windows"),
            place_known=knowledge_masks.get("scoreboard"),
            summaries=summaries,
        )
        gates = self.fusion_probe(self.gate(ball).softmax(-1))
        gates = step("a_{fusion}", gates, "attention to the ball and the five scales")
        parts = torch.stack([ball, *(vectors[scale] for scale in SCALES)], -2)
        fused = (gates[..., None] * parts).sum(-2)
        fused = step("f", fused, "the ball combined with its past")
        logits = self.to_outcome(self.dropout(fused)) + expected
        logits = step("logits", logits, "a score for every outcome")
        return Prediction(logits, gates, scales, within)

    def expected(self, graph: Batch, knowledge_masks: Mapping[str, Tensor]) -> Tensor:
        """Return the outcome logits from the scoreboard and the ratings, without attention."""
        base = graph["base"]
        board = torch.cat([graph["nodes"][name] for name in self.sizes.scoreboard], -1)
        scoreboard = knowledge_masks.get("scoreboard")
        skip = self.skip(board)
        if scoreboard is not None:
            base = torch.where(scoreboard[..., None], base, self.prior)
            skip = skip * scoreboard[..., None]
        logits = base
        groups = {name: group for group, names in _KNOWLEDGE_RATINGS.items() for name in names}
        for name in RATINGS:
            mask = knowledge_masks.get(groups.get(name, ""))
            rating = graph["ratings"][name] * self.rating_scale[name]
            logits = logits + (rating if mask is None else rating * mask[..., None])
        result: Tensor = logits.log_softmax(-1) * self.trust + skip
        return step("e", result, "logits from scoreboard and ratings")

    def forward(self, batch: Batch) -> Tensor:
        """Return the ``logits`` of `predict`, shape ``(batch, query, outcome)``."""
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

    def get_full_attention_profile(self, batch: Batch) -> Json:
        """Return the attention weights of the last query in the first row, as plain numbers.

        Returns:
            A dictionary with ``within_ball``, ``across_balls`` and ``fusion_weights``.
            ``within_ball`` is ``{"layers": [{"layer", "weight", "nodes": [{"node", "weight"}]}]}``.
            ``across_balls`` maps each scale to nested lists of weights, ``(head, key + 1)``.
        """
        with torch.no_grad():
            result = self.predict(batch)
        within = {name: weights[0, -1].tolist() for name, weights in result.within.items()}
        layers = [
            {
                "layer": layer,
                "weight": weight,
                "nodes": [
                    {"node": node, "weight": share}
                    for node, share in zip(names, within[layer], strict=True)
                ],
            }
            for weight, (layer, names) in zip(
                within["layers"], self.within_ball.graph.items(), strict=True
            )
        ]
        return {
            "within_ball": {"layers": layers},
            "across_balls": {
                scale: weights[0, :, -1].tolist() for scale, weights in result.scales.items()
            },
            "fusion_weights": dict(zip(FUSED, result.gates[0, -1].tolist(), strict=True)),
        }
