"""``attnlens train``: a predictor from match files."""

from __future__ import annotations

import argparse

from attnlens.cli.options import MOST, add_sources, date, given, whole
from attnlens.cli.output import check_outputs, since_now
from attnlens.cli.parser import Commands
from attnlens.errors import InputError

MOST_THREADS = 1024


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "train",
        help="train a predictor on match files",
        description="Train a predictor, and the ratings it needs, on the matches of SRC, "
        "split by date. On one machine, the same seed, matches and --threads give the same model.",
    )
    add_sources(parser)
    parser.add_argument("--out", metavar="FILE", required=True, help="the checkpoint to write")
    parser.add_argument(
        "--model",
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
        action="append",
        default=[],
        help="any other number of the recipe or of the predictor's sizes, such as "
        "learning_rate=0.001, dropout=0.2 or heads.medium=8; may be given often",
    )
    parser.add_argument(
        "--teacher",
        choices=("boosted_trees",),
        help="learn from what boosted trees on every running total say, too",
    )
    parser.add_argument(
        "--device",
        choices=("cpu", "cuda"),
        default="cpu",
        help="where to compute; torchrun starts several processes, each with a GPU of its own",
    )
    parser.add_argument(
        "--head-balls",
        type=whole(1, MOST),
        metavar="N",
        help="balls on which heads can earn their names (default 200; fewer is faster)",
    )
    # Starting very many would bring the process down.
    parser.add_argument(
        "--threads", type=whole(1, MOST_THREADS), metavar="N", help="default: all cores"
    )
    parser.add_argument(
        "--state",
        metavar="FILE",
        help="keep the run's state here after every epoch, and go on from it",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    check_outputs({"--out": options.out, "--state": options.state}, sources=options.sources)
    for name in ("teacher", "head_balls", "hidden_dim") if options.model == "cricket" else ():
        if getattr(options, name):
            raise InputError(
                f"--{name.replace('_', '-')} is not for --model cricket",
                remedy="leave it out; its sizes are --set's",
            )
    from pathlib import Path

    from attnlens.cricket.lab.course import Course
    from attnlens.cricket.lab.processes import processes
    from attnlens.cricket.lab.run import TRAINERS, Plan, recipe_and_sizes, use_threads

    kind, train = TRAINERS[options.model]
    numbers = given(options, "epochs", "seed", "hidden_dim")
    recipe, sizes = recipe_and_sizes(kind, options.set, numbers)
    plan = Plan(
        sizes=sizes, **given(options, "train_until", "validate_until", "teacher", "head_balls")
    )
    among = processes(options.device)
    use_threads(options.threads, among.count)
    report = since_now() if among.first else lambda _: None
    state = None if options.state is None else Path(options.state)
    course = Course(state, report=report, among=among)
    train(options.sources, options.out, plan, recipe, course)
    among.close()
    return 0
