"""``attnlens heads``: what every head does on many balls, and the name it has earned."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from attnlens.cli.options import add_formats, add_out, add_sample
from attnlens.cli.output import check_outputs, emit, emit_json, page, progress, report_skipped
from attnlens.cli.pictures import check_picture
from attnlens.cli.sources import held_out_of
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.cricket.held_out import EncodedInnings
    from attnlens.cricket.trained import TrainedPredictor
    from attnlens.errors import MatchFileError

CONTRIBUTION_BALLS = 200


def add_to(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "heads",
        help="what every head does on many balls, and the name it has earned",
        description="For every scale and head: its learnt biases, what it looks at beside what "
        "even attention would, with 95% intervals, what the prediction loses without it, and "
        "the name it has earned by both. Measured on the matches of SRC after the model's "
        "training; earlier ones bring its ratings up to date.",
    )
    add_sample(parser)
    parser.add_argument(
        "--beside",
        metavar="CHECKPOINT",
        nargs="+",
        default=[],
        help="other checkpoints, such as those of other seeds: are the roles of the heads, and "
        "the contributions, the same there?",
    )
    parser.add_argument("--plot", metavar="FILE", help="a picture too: .svg, .png or .pdf")
    add_formats(parser)
    add_out(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.balls < 1:
        raise InputError(f"--balls {options.balls} is no sample", remedy="give a number from 1")
    if options.seed < 0:
        raise InputError(f"--seed {options.seed} is negative", remedy="give 0 or more")
    if isinstance(options.beside, str):  # from the environment or attnlens.toml
        options.beside = options.beside.split()
    check_outputs(
        {"--out": options.out, "--plot": options.plot},
        sources=(*options.sources, options.history),
        inputs=(options.model, *options.beside),
    )
    picture = None if options.plot is None else check_picture(options.plot)

    from attnlens.cricket.trained import load_predictor
    from attnlens.cricket.window import one_thread

    predictors = [load_predictor(name) for name in (options.model, *options.beside)]
    skipped: list[MatchFileError] = []
    with one_thread():
        data = _measured(options, predictors, skipped)
    progress("")
    report_skipped(f"skipped {len(skipped)} files", skipped)
    if picture is not None:
        from attnlens.files import written_beside
        from attnlens.render.heads_plot import save_heads

        with written_beside(options.plot) as part:
            save_heads(data, part, picture)
    if options.format == "json":
        emit_json(data, options.out)
        return 0
    from attnlens.render.heads_table import render_heads

    emit(render_heads(data, **page(options.out)), options.out)
    return 0


def _measured(
    options: argparse.Namespace,
    predictors: list[TrainedPredictor],
    skipped: list[MatchFileError],
) -> dict[str, Any]:
    """The whole document."""
    from attnlens.cricket.head_report import head_report
    from attnlens.cricket.head_stability import contributions_alike, roles, same_innings
    from attnlens.cricket.heads import HeadStudy

    reports: list[dict[str, Any]] = []
    innings: list[list[EncodedInnings]] = []
    about: dict[str, Any] = {}
    for number, predictor in enumerate(predictors):
        # The same files give the same faults: they are reported once.
        held = held_out_of(options, predictor, skipped if number == 0 else [])
        innings.append(list(held.innings(progress)))
        if number:
            same_innings(innings[0], innings[-1], options.beside[number - 1])
        else:
            about = {
                "model": model_data(predictor),
                "dates": list(held.dates),
                "notes": list(held.notes),
                "seed": options.seed,
            }
        study = HeadStudy(predictor.model, innings[-1], balls=options.balls, seed=options.seed)
        if not len(study.sample):
            raise InputError(
                "holds no innings with a ball that has 36 before it",
                path=options.sources[0],
                remedy="give longer innings",
            )
        reports.append(head_report(study, report=progress))
    data = {**about, **reports[0]}
    if len(predictors) > 1:
        data["beside"] = {
            "checkpoints": [model_data(one) for one in predictors[1:]],
            "scales": roles(reports),
            "contributions": contributions_alike(
                predictors,
                innings,
                balls=min(options.balls, CONTRIBUTION_BALLS),
                seed=options.seed,
                report=progress,
            ),
        }
    return data


def model_data(predictor: TrainedPredictor) -> dict[str, Any]:
    """Which checkpoint it is."""
    return {
        "name": predictor.name,
        "sha256": predictor.sha256,
        "trained_from": predictor.card.get("trained_from"),
        "trained_until": predictor.card.get("trained_until"),
    }
