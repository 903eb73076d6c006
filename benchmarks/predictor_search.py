"""The search for a predictor worth explaining: variants, trained alike and measured alike.

    python benchmarks/predictor_search.py t20s_male_json.zip --keep search.jsonl
    python benchmarks/predictor_search.py t20s_male_json.zip --keep search.jsonl --only no_null
    python benchmarks/predictor_search.py --keep search.jsonl --table

Every variant is what ``attnlens train`` makes with the options printed beside it; here the
matches are read, rated and taught once for all of them. Measured on the validation matches:
log-loss, mean largest single-ball effect, cost of scrambling the past, worth of the whole
past, and Spearman of attention with effect beside that of recency and of even attention in
the same windows. A run already in the file is not repeated, so a stopped search goes on.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

TRAIN_UNTIL = datetime.date(2024, 5, 10)
VALIDATE_UNTIL = datetime.date(2024, 10, 23)
EPOCHS = 3
BALLS, WIDE = 300, 2000


@dataclass(frozen=True)
class Variant:
    """One way to train.

    Attributes:
        says: what it tries.
        settings: ``--set`` words.
        taught: whether boosted trees teach it.
        seeds: one run each.
    """

    says: str
    settings: tuple[str, ...] = ()
    taught: bool = True
    seeds: tuple[int, ...] = (5,)

    def options(self, seed: int, epochs: int) -> str:
        """The options of ``attnlens train`` that give it."""
        words = ["--teacher boosted_trees"] if self.taught else []
        words += [f"--set {word}" for word in self.settings]
        return " ".join([*words, f"--epochs {epochs}", f"--seed {seed}"])


VARIANTS = {
    "shipped": Variant("as shipped, fewer epochs", seeds=(5, 6, 7)),
    "half_taught": Variant("the teacher counts half as much", ("teacher=0.35",), seeds=(5, 6, 7)),
    "untaught": Variant("no teacher: outcomes alone", taught=False, seeds=(5, 6, 7)),
    "old_slots": Variant(
        "neither nothing nor readout, no teacher", ("null=null", "readout=false"), taught=False
    ),
    "no_null": Variant("slots may not look at nothing", ("null=null",)),
    "no_readout": Variant(
        "slots reach the prediction through their nodes only", ("readout=false",)
    ),
    "none_hidden": Variant(
        "no past ball hidden in training",
        ("hide_some=0.0", "hide_all=0.0", "hide_player=0.0", "hide_block=0.0"),
    ),
    "dropout": Variant("dropout 0.2 in place of 0.1", ("dropout=0.2",)),
    "narrow": Variant("width 36 in place of 60", ("hidden_dim=36",)),
}
"""What is tried; the first seed of every variant comes before the others."""


@dataclass
class Material:
    """What all variants are trained and measured on."""

    base: Any
    ratings: Any
    learn: Sequence[Any]
    check: Sequence[Any]
    teacher: Sequence[Any]


def material(source: str, keep: Path) -> Material:
    """Read, rate, and ask the teacher, once; the teacher's answers are kept beside ``keep``."""
    from attnlens.cricket.ratings import Ratings
    from attnlens.cricket.readers import read_matches
    from attnlens.training.dataset import fit_base, ordinary, rate_and_encode
    from attnlens.training.teachers import TREES, teach

    found = {
        match.match_id: match
        for match in read_matches(source, on_error="skip", skipped=[])
        if match.dates and any(ordinary(match)) and max(match.dates) <= VALIDATE_UNTIL
    }
    matches = sorted(found.values(), key=lambda match: (max(match.dates), match.match_id))
    base = fit_base([m for m in matches if max(m.dates) <= TRAIN_UNTIL], seed=5)
    ratings = Ratings()
    innings = rate_and_encode(matches, base, ratings)
    teacher = teach(
        (TREES,),
        matches,
        innings,
        lambda one: one.date <= TRAIN_UNTIL,
        seed=5,
        keep=keep.with_name(keep.name + ".teacher"),
        report=lambda text: print(text, file=sys.stderr, flush=True),
    )
    return Material(
        base,
        ratings,
        [one for one in innings if one.date <= TRAIN_UNTIL],
        [one for one in innings if one.date > TRAIN_UNTIL],
        teacher,
    )


def run(
    name: str, seed: int, epochs: int, given: Material, save: Path | None = None
) -> dict[str, Any]:
    """Train one variant and measure it; ``save`` is a folder for its checkpoint."""
    from attnlens.cricket.faithfulness import measure
    from attnlens.training.fit import cricket_sizes, fit
    from attnlens.training.settings import recipe_and_sizes

    variant = VARIANTS[name]
    recipe, sizes = recipe_and_sizes(variant.settings, {"seed": seed, "epochs": epochs})
    started = time.process_time()
    fitted = fit(
        cricket_sizes(**sizes),
        given.base.everything,
        [one.arrays for one in given.learn],
        [one.arrays for one in given.check],
        recipe,
        teacher=given.teacher if variant.taught else None,
        report=lambda text: print(f"{name} {seed}: {text}", file=sys.stderr, flush=True),
    )
    cost = time.process_time() - started
    if save is not None:
        keep_checkpoint(save / f"{name}_{seed}.safetensors", fitted, given)
    told = measure(
        fitted.model,
        given.check,
        balls=BALLS,
        methods=("attention", "recency", "uniform"),
        wide=WIDE,
    ).to_dict()
    wider = told["log_loss"]["wider_sample"]
    spearman = {name: figures["spearman_last36"] for name, figures in told["methods"].items()}
    return {
        "variant": name,
        "seed": seed,
        "epochs": epochs,
        "validation": min(one["validation"] for one in fitted.history),
        "effect": told["largest_single_ball_effect_nats"],
        "scramble": wider["scramble_cost"],
        "worth": wider["worth_of_past"],
        "attention": spearman["attention"],
        "recency": spearman["recency"],
        "even": spearman["uniform"],
        "parameters": sum(p.numel() for p in fitted.model.parameters()),
        "cpu_seconds": cost,
    }


def keep_checkpoint(path: Path, fitted: Any, given: Material) -> None:
    """Write what was trained, for ``attnlens heads --beside``."""
    from attnlens.cricket.trained import TrainedPredictor, save_predictor

    card = {
        "trained_from": min(one.date for one in given.learn).isoformat(),
        "trained_until": VALIDATE_UNTIL.isoformat(),
        "weights_until": TRAIN_UNTIL.isoformat(),
        "match_types": ["T20"],
        "gender": "male",
        "epochs": fitted.history,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    save_predictor(
        path, TrainedPredictor(path.stem, "", fitted.model, given.base, given.ratings, card)
    )


def table(runs: Sequence[Mapping[str, Any]]) -> str:
    """The runs as Markdown, a row per variant; several seeds as mean ± standard deviation."""
    rows = [
        "| variant | options | seeds | validation log-loss | effect | scramble | worth of past "
        "| Spearman (recency, even) | CPU s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, variant in VARIANTS.items():
        own = [one for one in runs if one["variant"] == name]
        if not own:
            continue
        values = {key: np.array([one[key] for one in own]) for key in own[0] if key != "variant"}
        losses = values["validation"]
        spread = f" ± {losses.std(ddof=1):.5f}" if len(own) > 1 else ""
        mean = {key: float(value.mean()) for key, value in values.items()}
        rows.append(
            f"| {name}: {variant.says} | `{variant.options(own[0]['seed'], own[0]['epochs'])}` "
            f"| {len(own)} | {mean['validation']:.5f}{spread} | {mean['effect']:.4f} "
            f"| {mean['scramble']:.4f} | {mean['worth']:.4f} "
            f"| {mean['attention']:.2f} ({mean['recency']:.2f}, {mean['even']:.2f}) "
            f"| {mean['cpu_seconds']:.0f} |"
        )
    return "\n".join(rows)


def picture(runs: Sequence[Mapping[str, Any]], path: str) -> None:
    """Log-loss against effect and against agreement: what is had for what."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    shown = [name for name in VARIANTS if any(one["variant"] == name for one in runs)]
    for axes, key, says in zip(
        figure.subplots(1, 2, sharey=True),
        ("effect", "attention"),
        ("mean largest single-ball effect, nats", "Spearman of attention with effect, last 36"),
        strict=True,
    ):
        for number, name in enumerate(shown):
            own = [one for one in runs if one["variant"] == name]
            x, y = [one[key] for one in own], [one["validation"] for one in own]
            colour = "#d55e00" if name == "shipped" else "#0072b2"
            # Told apart by shape, so that nothing hangs on colour.
            shape = "o^sDv<>PX"[number % 9]
            axes.plot(x, y, shape, color=colour, markersize=6, alpha=0.8, label=name)
        axes.set_xlabel(says)
    figure.axes[0].set_ylabel("validation log-loss, nats per ball")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False)
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else {})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", nargs="?", help="the matches, such as t20s_male_json.zip")
    parser.add_argument(
        "--keep", type=Path, required=True, metavar="FILE", help="runs, as JSON lines"
    )
    parser.add_argument("--only", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--seed", type=int, help="only this seed")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--save", type=Path, metavar="DIR", help="keep the checkpoints there")
    parser.add_argument("--table", action="store_true", help="only print what is in the file")
    parser.add_argument("--plot", metavar="FILE", help="draw what is in the file")
    options = parser.parse_args()

    def done() -> list[dict[str, Any]]:
        lines = options.keep.read_text().splitlines() if options.keep.exists() else []
        return [json.loads(line) for line in lines]

    if not options.table:
        if options.source is None:
            parser.error("give the matches, or --table")
        import torch

        torch.set_num_threads(1)
        given = material(options.source, options.keep)
        runs = [(turn, name) for name in options.only for turn in range(len(VARIANTS[name].seeds))]
        for turn, name in sorted(runs, key=lambda one: one[0]):
            seed = VARIANTS[name].seeds[turn]
            known = {(one["variant"], one["seed"], one["epochs"]) for one in done()}
            if (name, seed, options.epochs) in known or options.seed not in (None, seed):
                continue
            result = run(name, seed, options.epochs, given, options.save)
            with options.keep.open("a") as file:
                print(json.dumps(result), file=file)
    print(table(done()))
    if options.plot:
        picture(done(), options.plot)


if __name__ == "__main__":
    main()
