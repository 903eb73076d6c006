"""The explanation as data: exact, closed to anything unknown, and equal to its schema."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest
from syrupy.assertion import SnapshotAssertion

from attnlens.cricket.explain import types
from attnlens.cricket.explain.story_types import MatchStory
from attnlens.cricket.explain.types import Explanation, json_schema
from attnlens.cricket.explain.what_if_types import WhatIf
from attnlens.errors import InputError

DOCUMENTS = Path(__file__).with_name("documents")
KINDS = {"explanation": Explanation, "story": MatchStory, "what-if": WhatIf}
EXAMPLE = Path(__file__).with_name("explanation_example.json")
SHIPPED_SCHEMA = Path(types.__file__).with_name("schema.json")


@pytest.fixture
def example() -> dict[str, Any]:
    return json.loads(EXAMPLE.read_text(encoding="utf-8"))


def keeps(read: Any, written: Any) -> bool:
    """Whether all that was written is read, new fields aside."""
    if isinstance(written, dict):
        return all(name in read and keeps(read[name], value) for name, value in written.items())
    if isinstance(written, list):
        return len(read) == len(written) and all(map(keeps, read, written))
    return bool(read == written)


@pytest.mark.parametrize("path", sorted(DOCUMENTS.glob("*.json")), ids=lambda path: path.stem)
def test_what_a_released_version_wrote_still_loads(path: Path) -> None:
    name, version = path.stem.rsplit("-", 1)
    kind = KINDS[name]
    data = json.loads(path.read_text("utf-8"))
    assert data["schema_version"] == version
    read = kind.from_dict(data).to_dict()
    current = read["schema_version"]
    if kind is Explanation and version == "1.0":
        keeps_schema_1(read, data)
    else:
        assert keeps(read, {**data, "schema_version": current})
    for strange in ("0.9", "3.0", ""):
        words = (
            f"of schema version '{strange}' cannot be read; this attnlens reads version {current}"
        )
        with pytest.raises(InputError, match=words):
            kind.from_dict({**data, "schema_version": strange})


@pytest.mark.parametrize("name", KINDS)
def test_a_document_of_each_current_schema_is_kept(name: str) -> None:
    (current,) = get_args(KINDS[name].model_fields["schema_version"].annotation)
    assert (DOCUMENTS / f"{name}-{current}.json").is_file()


def keeps_schema_1(read: dict[str, Any], data: dict[str, Any]) -> None:
    """What of an explanation of schema 1.0 stands under the names of 2.0."""
    assert read["prediction"]["subject"] == data["prediction"].pop("story_outcome")
    assert read["across_balls"]["whole"] is None
    for old, new in zip(data.pop("history"), read["past_balls"], strict=True):
        points = {change["outcome"]: change["points"] for change in old.pop("changes")}
        assert new["effect_points"] == -points[read["prediction"]["subject"]]
        assert keeps(new, old)
    for old, new in zip(data["evidence"], read["evidence"], strict=True):
        assert new["control_sets"] == old.pop("controls")
        assert (new["controls"], new["about"], new["replaced"]) == (None, None, None)
        del old["replaced"]
        log_odds = old.pop("effect_log_odds", None)
        assert new["effect_log_odds"] == (None if log_odds is None else -log_odds)
    for layer in data["within_ball"]["layers"]:
        for node in layer["nodes"]:
            del node["visible"]
    del data["schema_version"]
    assert keeps(read, data)


def put(data: Any, pointer: str, value: Any) -> None:
    *steps, last = pointer.strip("/").split("/")
    for step in steps:
        data = data[int(step) if isinstance(data, list) else step]
    data[int(last) if isinstance(data, list) else last] = value


def test_a_round_trip_is_exact(example: dict[str, Any]) -> None:
    read = Explanation.from_dict(example)
    assert read.to_dict() == example == json.loads(read.to_json())
    assert read.to_json(indent=2) == EXAMPLE.read_text(encoding="utf-8").rstrip("\n")
    assert Explanation.from_json(read.to_json()) == read
    assert Explanation.from_json(read.to_json().encode()).to_json() == read.to_json()
    assert "\n" not in read.to_json()


def test_the_shipped_schema_is_the_types_closed_and_complete(example: dict[str, Any]) -> None:
    shipped = json.loads(SHIPPED_SCHEMA.read_text(encoding="utf-8"))
    assert shipped == json_schema()
    assert shipped["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert shipped["$id"] == "urn:attnlens:explanation:2.0"
    jsonschema.Draft202012Validator.check_schema(shipped)
    jsonschema.Draft202012Validator(shipped).validate(example)
    for one in (shipped, *shipped["$defs"].values()):
        assert one["additionalProperties"] is False
        assert sorted(one["required"]) == sorted(one["properties"])


def test_keys_stand_in_the_order_of_the_contract(example: dict[str, Any]) -> None:
    told = Explanation.from_dict(example).to_dict()
    assert list(told) == list(json_schema()["properties"]) == list(example)
    heads = told["across_balls"]["medium"]["attention_by_head"]
    keys = list(heads["head_1_same_bowler"])
    assert keys[:5] == ["pattern", "question", "bowler", "top_balls", "weights"]
    assert "bowler" not in heads["head_0_recency"]
    assert "top_overs" not in heads["head_0_recency"]
    long = list(told["across_balls"]["long"]["attention_by_head"]["head_0_recency"])
    assert long[7:9] == ["top_overs", "top_over_weights"]


HEADS = "/across_balls/medium/attention_by_head"
DAMAGE = {
    "an unknown key": ("/ball/pitch", "dry"),
    "text for a number": ("/ball/index", "47"),
    "true for a number": ("/ball/index", True),
    "a probability above one": ("/prediction/outcomes/0/probability", 1.2),
    "an unknown outcome": ("/prediction/top", "7"),
    "a head that is no head": (f"{HEADS}/bowler", {}),
    "a bowler that is null": (f"{HEADS}/head_1_same_bowler/bowler", None),
    "overs on a scale of balls": (f"{HEADS}/head_0_recency/top_overs", [1]),
    "a verdict of our own": ("/evidence/0/verdict", "probably"),
    "an unknown flag": ("/flags", [{"flag": "rain", "text": "It rained."}]),
    "another version": ("/schema_version", "3.0"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_types_and_schema_refuse_the_same(damage: tuple[str, Any], example: dict[str, Any]) -> None:
    put(example, *damage)
    with pytest.raises(InputError) as refused:
        Explanation.from_json(json.dumps(example))
    assert "\n" not in str(refused.value)
    assert not jsonschema.Draft202012Validator(json_schema()).is_valid(example)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "place", ["/evidence/0/effect_nats", "/ball/run_rate", "/past_balls/0/attention"]
)
def test_what_is_not_a_number_is_refused(
    number: float, place: str, example: dict[str, Any]
) -> None:
    put(example, place, number)
    with pytest.raises(InputError):
        Explanation.from_dict(example)
    with pytest.raises(InputError):
        Explanation.from_json(json.dumps(example))


def test_a_refusal_is_one_line_that_names_the_place(
    example: dict[str, Any], snapshot: SnapshotAssertion
) -> None:
    outcomes = example["prediction"]["outcomes"]
    refusals = []
    for place, wrong, right in (
        ("/ball/index", "47", 47),
        (f"{HEADS}/head_1_same_bowler/bowler", None, "J Bumrah"),
        ("/prediction/outcomes", outcomes[::-1], outcomes),
    ):
        put(example, place, wrong)
        with pytest.raises(InputError) as refused:
            Explanation.from_json(json.dumps(example))
        refusals.append(str(refused.value))
        put(example, place, right)
    assert refusals == snapshot
    with pytest.raises(InputError, match="Invalid JSON"):
        Explanation.from_json("{")
