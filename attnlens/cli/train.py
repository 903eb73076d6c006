"""``attnlens train``: a predictor from match files."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from attnlens.cli.options import Given, date, listed
from attnlens.cli.output import check_outputs, since_now
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.training.run import Plan

MOST_THREADS = 1024

NAMED = ("boosted_trees", "bundled", "measured")
"""Teachers that are no files."""


def add_to(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "train",
        help="train a predictor on match files",
        description="Train a predictor, and the ratings it needs, on the matches of SRC, "
        "split by date. The same seed and the same matches give the same model.",
    )
    parser.add_argument("sources", metavar="SRC", nargs="+", help="match files, folders or zips")
    parser.add_argument("--out", metavar="FILE", required=True, help="the checkpoint to write")
    # As a setting it is kind: what `model` names there is a checkpoint.
    parser.add_argument(
        "--model",
        "--kind",
        dest="model",
        choices=("temporal", "cricket"),
        default="temporal",
        help="temporal: the predictor of balls (default); cricket: the encoder-decoder of overs",
    )
    parser.add_argument("--train-until", type=date, metavar="DATE", help="last day to train on")
    parser.add_argument(
        "--validate-until",
        type=date,
        metavar="DATE",
        help="last day to validate on; the same day as --train-until: no validation",
    )
    parser.add_argument("--epochs", type=int, metavar="N", help="passes over the matches")
    parser.add_argument("--seed", type=int, metavar="N", help="of everything random")
    parser.add_argument("--hidden-dim", type=int, metavar="N", help="width of the predictor")
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action=Given,
        default=[],
        help="any other number of the recipe or of the predictor's sizes, such as "
        "learning_rate=0.001, dropout=0.2 or heads.medium=8; may be given often",
    )
    parser.add_argument(
        "--teacher",
        metavar="NAME",
        action=Given,
        default=[],
        help="learn from its probabilities too: boosted_trees, or a checkpoint that was "
        "trained on the same matches; with several, from their mean",
    )
    parser.add_argument(
        "--device",
        choices=("cpu", "cuda", "auto"),
        default="cpu",
        help="where to compute; torchrun starts several processes, each with a GPU of its own",
    )
    parser.add_argument(
        "--curves",
        metavar="FILE",
        help="the loss of every epoch: a table (.csv) or a picture (.svg, .png)",
    )
    parser.add_argument(
        "--head-balls",
        type=int,
        metavar="N",
        help="balls on which heads can earn their names (default 200; fewer is faster)",
    )
    parser.add_argument("--threads", type=int, metavar="N", help="default: all cores")
    parser.add_argument(
        "--state",
        metavar="FILE",
        help="keep the run's state here after every epoch, and go on from it",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    for name, value in (("--threads", options.threads), ("--head-balls", options.head_balls)):
        if value is not None and value < 1:
            raise InputError(f"{name} {value} is too few", remedy="give a number from 1")
    if options.threads is not None and options.threads > MOST_THREADS:
        # Starting them would bring the process down.
        raise InputError(
            f"--threads {options.threads} is too many", remedy=f"give at most {MOST_THREADS}"
        )
    outputs = {"--out": options.out, "--curves": options.curves, "--state": options.state}
    if options.state is not None and options.teacher:
        outputs["--teacher with --state"] = f"{options.state}.teacher"
    teachers = [name for name in listed(options.teacher) if name not in NAMED]
    check_outputs(outputs, sources=options.sources, inputs=teachers)

    from attnlens.training.curves import check_curves
    from attnlens.training.run import Plan, train
    from attnlens.training.settings import recipe_and_sizes

    if options.curves is not None:
        check_curves(options.curves)
    if options.model == "cricket":
        return _train_overs(options)
    given = _given(epochs=options.epochs, seed=options.seed, hidden_dim=options.hidden_dim)
    recipe, sizes = recipe_and_sizes(listed(options.set), given)
    plan = Plan(
        sizes=sizes,
        teachers=tuple(listed(options.teacher)),
        **_given(
            train_until=options.train_until,
            validate_until=options.validate_until,
            head_balls=options.head_balls,
        ),
    )
    return _trained(train, plan, recipe, options)


def _train_overs(options: argparse.Namespace) -> int:
    for name, value in (
        ("--teacher", options.teacher),
        ("--head-balls", options.head_balls),
        ("--hidden-dim", options.hidden_dim),
    ):
        if value:
            raise InputError(
                f"{name} is not for --model cricket", remedy="leave it out; its sizes are --set's"
            )

    from attnlens.training.overs import train_overs
    from attnlens.training.run import Plan
    from attnlens.training.settings import over_settings

    recipe, sizes = over_settings(
        listed(options.set), _given(epochs=options.epochs, seed=options.seed)
    )
    plan = Plan(
        sizes=sizes,
        **_given(train_until=options.train_until, validate_until=options.validate_until),
    )
    return _trained(train_overs, plan, recipe, options)


def _trained(
    train: Callable[..., Any], plan: Plan, recipe: Any, options: argparse.Namespace
) -> int:
    """Train as the options say, in one process or several, and write the curves."""
    from pathlib import Path

    from attnlens.training.curves import write_curves
    from attnlens.training.processes import processes
    from attnlens.training.run import use_threads

    among = processes(options.device)
    use_threads(options.threads, among.count)
    trained = train(
        options.sources,
        options.out,
        plan,
        recipe,
        state=None if options.state is None else Path(options.state),
        report=since_now(),
        among=among,
    )
    if options.curves is not None and among.first:
        write_curves(options.curves, trained.card["epochs"])
    among.close()
    return 0


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
