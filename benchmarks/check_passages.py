"""How `check` answers on passages: true sentences flagged, faults caught, and how much is read.

    python benchmarks/check_passages.py [--half development] [--show]

The passages in ``tests/passages`` were written before the check was. Half of them served to set its
constants; the half that was kept did not. A sentence of a passage has versions with one planted
fault; each stands in place of the true one, between its neighbours. What is said of a ball takes
its figures from explanations worked out here, by slots.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attnlens
from attnlens.cricket.words.facts import OUTCOME_WORDS

PASSAGES = Path(__file__).resolve().parent.parent / "tests" / "passages"
MATCH = PASSAGES.parent.parent / "sample_data" / "match.csv"
BALLS = ((1, 47), (1, 101), (2, 60), (2, 20))
HALVES = ("development", "kept")


def percent(value: float) -> str:
    """As few decimals as show two digits of it."""
    return f"{100 * value:.{0 if value >= 0.0995 else 1 if value >= 0.00995 else 2}f}%"


def slots(data: dict[str, Any]) -> dict[str, str]:
    """What the passages about a ball leave open, from its explanation."""
    ball, match, outcomes = data["ball"], data["match"], data["prediction"]["outcomes"]
    chance = {one["outcome"]: one["probability"] for one in outcomes}
    ranked = sorted(chance, key=lambda outcome: -chance[outcome])
    last = data["history"][-1]
    moved = {one["group"]: {p["outcome"]: p["points"] for p in one["points"]}
             for one in data["contributions"]}  # fmt: skip
    group = max(moved, key=lambda name: abs(moved[name]["1"]) + abs(moved[name]["0"]))
    claims = [one for one in data["evidence"] if one["verdict"] and not one["reference"]]
    claim = next((one for one in claims if one["verdict"] == "supported"), claims[0])
    wrong = "contradicted" if claim["verdict"] != "contradicted" else "supported"
    win = data["win_probability"]["before"]
    return {
        **{f"p_{outcome}": percent(value) for outcome, value in chance.items()},
        **{f"usual_{one['outcome']}": percent(one["usual"]) for one in outcomes},
        **{f"baseline_{one['outcome']}": percent(one["baseline"]) for one in outcomes},
        **{f"about_{outcome}": f"{100 * value:.0f}" for outcome, value in chance.items()},
        **{f"points_{outcome}": f"{abs(points):.1f}" for outcome, points in moved[group].items()},
        "points_wrong": "58.2", "group": group.capitalize(),
        "top": OUTCOME_WORDS[ranked[0]], "p_top": percent(chance[ranked[0]]),
        "p_second": percent(chance[ranked[1]]),
        "batter": ball["batter"], "bowler": ball["bowler"], "non_striker": ball["non_striker"],
        "batting": match["batting_team"], "bowling": match["bowling_team"],
        "venue": match["venue"], "score": str(ball["score"]), "wickets": str(ball["wickets"]),
        "score_wrong": str(ball["score"] + 311), "win": percent(win),
        "win_wrong": percent((win + 0.5) % 1), "last_label": last["label"],
        "last_outcome": OUTCOME_WORDS[last["outcome"]],
        "last_outcome_wrong": OUTCOME_WORDS["6" if last["outcome"] != "6" else "W"],
        "claim": claim["claim"][0].upper() + claim["claim"][1:],
        "verdict": claim["verdict"], "verdict_wrong": wrong,
    }  # fmt: skip


def cases(half: str) -> Iterator[tuple[str, Any, list[dict[str, Any]]]]:
    """The name of a table, its facts, and the sentences of a passage with their faults."""
    for path in sorted(PASSAGES.glob("*.json")):
        passage = json.loads(path.read_text("utf-8"))
        if half not in passage:
            continue
        if passage["facts"] != "explanation":
            yield path.stem, (PASSAGES / passage["facts"]).read_text("utf-8"), passage[half]
            continue
        for innings, ball in BALLS:
            facts = attnlens.explain(MATCH, ball=ball, innings=innings).to_dict()
            filled = slots(facts)
            told = json.loads(json.dumps(passage[half]))
            for one in told:
                one["true"] = one["true"].format_map(filled)
                one["false"] = [false.format_map(filled) for false in one["false"]]
            yield path.stem, facts, told


def counted(half: str, *, show: bool) -> dict[str, Counter[str]]:
    """By table: sentences that are true, read, flagged; faults planted, read, caught."""
    tables: dict[str, Counter[str]] = {}
    for name, facts, sentences in cases(half):
        counts = tables.setdefault(name, Counter())
        true = [one["true"] for one in sentences]
        for place, sentence in enumerate(sentences):
            versions = [sentence["true"], *(one for one in sentence["false"] if one != true[place])]
            for version in versions:
                text = " ".join([*true[:place], version, *true[place + 1 :]])
                checked = attnlens.check_grounding(facts, text).statements
                told = [one for one in checked if one.text.strip(";") in version]
                said = {one.answer for one in told}
                kind = "true" if version == true[place] else "fault"
                counts[kind] += 1
                counts[f"{kind} read"] += bool(said - {"not read"})
                counts[f"{kind} told"] += "not borne out" in said
                if show and (("not borne out" in said) == (kind == "true") or said == {"not read"}):
                    what = "; ".join(f"{one.what} [{one.nearest} {one.pointer}]" for one in told)
                    print(f"{kind:5} {'/'.join(sorted(said)):14} {version}\n      {what}")
    return tables


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--half", choices=HALVES)
    parser.add_argument("--show", action="store_true", help="what was flagged, missed or not read")
    options = parser.parse_args()
    print("passages     facts             true  read  flagged    faults  read  caught of read")
    for half in [options.half] if options.half else HALVES:
        tables = counted(half, show=options.show)
        tables["all"] = sum(tables.values(), Counter())
        for name, n in tables.items():
            caught = n["fault told"] / max(n["fault read"], 1)
            print(
                f"{half:12} {name:16} {n['true']:5} {n['true read']:5}"
                f" {n['true told']:3} = {n['true told'] / n['true']:4.1%}"
                f" {n['fault']:7} {n['fault read']:5} {n['fault told']:5} = {caught:4.0%}"
            )


if __name__ == "__main__":
    main()
