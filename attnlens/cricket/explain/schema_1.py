"""Explanations that attnlens 0.2 wrote, under the names of today."""

from __future__ import annotations

import copy

from attnlens.files import Json


def upgraded(data: Json) -> Json:
    """An explanation of schema 1.0 as one of 2.0 (the changelog has the table of names)."""
    data = copy.deepcopy(data)
    prediction = data["prediction"]
    prediction["subject"] = subject = prediction.pop("story_outcome")
    data["past_balls"] = data.pop("history")
    for ball in data["past_balls"]:
        points = {change["outcome"]: change["points"] for change in ball.pop("changes")}
        ball["effect_points"] = -points[subject] if points else None
        ball["effect_log_odds"] = ball["rarity"] = None
    for claim in data["evidence"]:
        claim["control_sets"] = claim["controls"]
        claim["controls"] = claim["about"] = claim["replaced"] = None
        claim["opposing"] = 0
        if claim.get("effect_log_odds") is not None:  # there the change, here what hiding takes
            claim["effect_log_odds"] = -claim["effect_log_odds"]
    for layer in data["within_ball"]["layers"]:
        for node in layer["nodes"]:
            del node["visible"]
    for heat_map in data["across_balls"].values():
        for head in heat_map["attention_by_head"].values():
            head["carries"] = head["sees"] = None
    data["across_balls"]["whole"] = None
    data["fusion_weights"]["whole"] = 0.0
    return data
