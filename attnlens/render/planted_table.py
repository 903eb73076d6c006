"""The figures of ``attnlens planted`` as tables in Markdown, which a terminal shows as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

METHODS: Final[dict[str, str]] = {
    "attention": "attention, all paths",
    "hiding": "effect of hiding the ball",
    "replacing": "effect of replacing the ball",
    "contributions": "contribution of its group, split evenly",
    "content_only": "content-only attention",
    "value_norm": "value-norm attention",
    "rollout": "rollout",
    "gradient_x_input": "gradient x input",
    "recency": "recency",
    "uniform": "even attention in the same windows",
    "random": "random",
}
"""What to call each method; others keep their name."""

LOSSES: Final[dict[str, str]] = {
    "truth": "the process itself (its entropy)",
    "model": "the trained model",
    "no_past": "the same model, no past ball shown",
    "scoreboard": "a network that sees the scoreboard only",
}

SOURCES: Final[dict[str, str]] = {
    "random_sets": "sets drawn as controls are",
    "uniform_attention": "attention frozen uniform",
    "random_sets_uniform_attention": "such sets, attention frozen uniform",
}


def render_planted(data: Mapping[str, Any]) -> str:
    """Every table, with a line above each that says what it holds."""
    plan, pointing = data["plan"], data["pointing"]
    parts = [
        f"{plan['matches']} simulated matches to train on, {plan['tests']} others asked about; "
        f"seed {plan['seed']}. Brackets are 95% intervals over matches.",
        _learnt(data),
        f"AUC: how often a planted ball scores above another past ball of the same query "
        f"({pointing['balls']} balls with 36 or more before them, {pointing['matches']} matches)",
        _pointing(data),
        "AUC of each rule's balls against those that no rule counts; decoys: only those with "
        "the same event",
        _by_rule(data),
        "What hiding one past ball does, nats",
        _effects(pointing),
        _groups(pointing),
        "How often a head's claim is called supported",
        _verdicts(data["verdicts"]),
    ]
    return "\n\n".join(parts)


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heading, ["---", *["---:"] * (len(heading) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _figure(figure: Mapping[str, Any], decimals: int) -> str:
    """A mean and its interval; a dash where there was nothing to ask."""
    if figure["mean"] is None:
        return "-"
    low, high = figure["ci"]
    return f"{figure['mean']:.{decimals}f} [{low:.{decimals}f}, {high:.{decimals}f}]"


def _learnt(data: Mapping[str, Any]) -> str:
    losses = data["learnt"]["expected_log_loss"]
    rows = [[LOSSES[name], _figure(losses[name], 4)] for name in LOSSES]
    rows.append(["share of what past balls tell that it learnt",
                 f"{100 * data['learnt']['share_learnt']:.0f}%"])  # fmt: skip
    return _table([f"expected log-loss, {data['learnt']['balls']:,} balls", "nats a ball"], rows)


def _pointing(data: Mapping[str, Any]) -> str:
    methods = data["pointing"]["methods"]
    rows = [
        [METHODS.get(name, name), _figure(columns["all"], 3), _figure(columns["last36"], 3)]
        for name, columns in methods.items()
    ]
    return _table(["method", "all earlier balls", "the last 35"], rows)


def _by_rule(data: Mapping[str, Any]) -> str:
    methods = data["pointing"]["methods"]
    names = [
        column for rule in data["rules"] for column in (rule["name"], f"{rule['name']}_decoys")
    ]
    rows = []
    for method, columns in methods.items():
        told = ["-" if columns[name]["mean"] is None else f"{columns[name]['mean']:.3f}"
                for name in names]  # fmt: skip
        rows.append([METHODS.get(method, method), *told])
    counted = ["balls", *(str(next(iter(methods.values()))[name]["balls"]) for name in names)]
    heading = [name.replace("_decoys", ", decoys").replace("_", " ") for name in names]
    return _table(["method", *heading], [*rows, counted])


def _effects(pointing: Mapping[str, Any]) -> str:
    effects = pointing["effects"]
    words = {
        "strong": "planted, true effect 0.0005 or more",
        "weak": "planted, less",
        "others": "not planted",
    }
    rows = [
        [
            words[name],
            f"{effects[name]['model_nats']['balls']:,}",
            _figure(effects[name]["true_nats"], 4),
            _figure(effects[name]["model_nats"], 4),
        ]
        for name in words
    ]
    told = _table(["past balls", "number", "on the truth", "on the model"], rows)
    return (
        f"{told}\n\nTheir agreement: correlation {effects['correlation']:.2f}; Spearman within a "
        f"query {_figure(effects['spearman'], 2)}."
    )


def _groups(pointing: Mapping[str, Any]) -> str:
    groups = pointing["groups"]
    return (
        f"Contributions: AUC of the groups that hold a planted ball {_figure(groups['auc'], 3)}; "
        "correlation of their points with what hiding the group does to the true probabilities "
        f"{groups['correlation']:.2f}."
    )


def _verdicts(verdicts: Mapping[str, Any]) -> str:
    own = verdicts["own"]
    rows = [
        ["the model's own, a planted ball among them", *_share(own["planted"])],
        ["the model's own, no planted ball", *_share(own["none_planted"])],
    ]
    for source, words in SOURCES.items():
        shares = verdicts[source]
        for name, figure in shares.items():
            if figure["claims"]:
                rows.append([words if name == "all" else f"  of these: {name}", *_share(figure)])
    told = [
        f"{words}: {_judged(verdicts[source]['all'], verdicts['most'])}"
        for source, words in SOURCES.items()
    ]
    table = _table(["claims", "number", "looked at evenly", "supported", "share"], rows)
    return f"{table}\n\nFalse alarms, at most {verdicts['most']:.0%} wanted: {'; '.join(told)}."


def _share(figure: Mapping[str, Any]) -> list[str]:
    if not figure["claims"]:
        return ["0", "0", "0", "-"]
    low, high = figure["ci"]
    share = f"{100 * figure['share']:.1f}% [{100 * low:.1f}%, {100 * high:.1f}%]"
    return [*(str(figure[name]) for name in ("claims", "even", "supported")), share]


def _judged(figure: Mapping[str, Any], most: float) -> str:
    if figure["even"] == figure["claims"]:
        return "no claim was made"
    low, high = figure["ci"]
    return "kept" if high <= most else "broken" if low > most else "not clear from so few"
