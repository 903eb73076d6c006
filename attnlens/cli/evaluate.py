"""``attnlens evaluate``: how well a predictor's probabilities fit, beside baselines."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from attnlens.cli.options import add_days, add_formats, add_out, listed, whole
from attnlens.cli.output import check_outputs, emit, emit_json, page, progress, report_skipped
from attnlens.cli.pictures import check_picture
from attnlens.cli.sources import held_out_of

if TYPE_CHECKING:
    from attnlens.cricket.evaluate import JudgedBalls
    from attnlens.cricket.held_out import HeldOut

KNOWN = ("prior", "state_table", "logistic", "boosted_trees")


def add_to(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "evaluate",
        help="log-loss, Brier, calibration and accuracy, beside the baselines",
        description="Judge a predictor on the matches of SRC that were played after its "
        "training, with ratings as of each match's date, beside baselines fitted on the dates "
        "it was trained on. Intervals are 95%, from resampling whole matches.",
    )
    parser.add_argument("sources", metavar="SRC", nargs="+", help="match files, folders or zips")
    parser.add_argument(
        "--model",
        metavar="PATH",
        help="a checkpoint, or `bundled` (default) or `measured`; `cricket`, or another "
        "encoder-decoder: the next over, beside overs of the same phase",
    )
    parser.add_argument(
        "--history",
        metavar="SRC",
        nargs="+",
        help="more matches for the ratings and for the baselines to be fitted on",
    )
    add_days(parser)
    parser.add_argument(
        "--baselines",
        type=_baselines,
        default=KNOWN,
        metavar="NAMES",
        help=f"of {','.join(KNOWN)} (default all), or none; the trees take minutes",
    )
    parser.add_argument(
        "--allow-in-sample",
        action="store_true",
        help="judge on matches inside the training dates too: flattering figures",
    )
    add_formats(parser)
    add_out(parser)
    parser.add_argument("--plot", metavar="FILE", help="a reliability diagram: .svg, .png or .pdf")
    parser.add_argument(
        "--calibration-out",
        metavar="FILE",
        help="write how often calls came true, per outcome and level; as NAME.calibration.json "
        "beside NAME.safetensors, explanations quote it",
    )
    parser.add_argument(
        "--bootstrap",
        type=whole(10, 100_000),
        default=1000,
        metavar="N",
        help="resamples of the intervals (default 1000)",
    )
    parser.add_argument(
        "--seed",
        type=whole(0, 999_999_999),
        default=5,
        metavar="N",
        help="of resamples and trees (default 5)",
    )
    parser.set_defaults(run=run)


def _baselines(text: str) -> tuple[str, ...]:
    if text.strip() == "none":
        return ()
    wanted = [name.strip() for name in text.split(",")]
    for name in wanted:
        if name not in KNOWN:
            raise argparse.ArgumentTypeError(
                f"{name!r} is no baseline; use {', '.join(KNOWN)}, or none"
            )
    return tuple(name for name in KNOWN if name in wanted)


def run(options: argparse.Namespace) -> int:
    from attnlens.files import written_beside

    check_outputs(
        {
            "--out": options.out,
            "--plot": options.plot,
            "--calibration-out": options.calibration_out,
        },
        sources=(*options.sources, *listed(options.history)),
        inputs=(options.model,),
    )
    picture = None if options.plot is None else check_picture(options.plot)
    from attnlens.cricket.trained_overs import writes_overs

    if writes_overs(options.model):
        from attnlens.cli.evaluate_overs import evaluate_overs

        return evaluate_overs(options)
    from attnlens.cricket.evaluate import evaluation, judge
    from attnlens.cricket.trained import load_predictor
    from attnlens.errors import MatchFileError
    from attnlens.training.comparison import compare

    predictor = load_predictor(options.model)
    skipped: list[MatchFileError] = []
    try:
        held = held_out_of(options, predictor, skipped)
        balls = judge(held, progress)
        compared = compare(held, balls, options.baselines, seed=options.seed, report=progress)
    finally:
        progress("")
    data = evaluation(
        held,
        balls,
        compared.chances,
        left_out=compared.left_out,
        fitted_on=compared.fitted_on,
        draws=options.bootstrap,
        seed=options.seed,
    )
    report_skipped(f"skipped {len(skipped)} files", skipped)
    _remarks(data, own_prior=compared.own_prior and "prior" in compared.chances)
    if options.calibration_out is not None:
        _write_calibration(held, balls, options)
    if picture is not None:
        from attnlens.render.reliability import save_diagram

        with written_beside(options.plot) as part:
            save_diagram(data, part, picture)
    if options.format == "json":
        emit_json(data, options.out)
        return 0
    from attnlens.render.evaluation import render_evaluation

    emit(render_evaluation(data, **page(options.out)), options.out)
    return 0


def _write_calibration(held: HeldOut, balls: JudgedBalls, options: argparse.Namespace) -> None:
    import json

    from attnlens.cricket.calibration_table import calibration_table
    from attnlens.files import write_text

    table = calibration_table(held, balls, draws=options.bootstrap, seed=options.seed)
    write_text(options.calibration_out, json.dumps(table, allow_nan=False) + "\n")


def _remarks(data: dict[str, Any], *, own_prior: bool) -> None:
    """What a reader of the figures should know first, on stderr."""
    said = list(data["notes"])
    outside = data["outside_training"]
    if outside["matches"]:
        kinds = ", ".join(f"{count} {kind}" for kind, count in outside["kinds"].items())
        said.append(
            f"{outside['matches']} of {data['matches']} matches are unlike those the model was "
            f"trained on ({kinds})"
        )
    reasons: dict[str, list[str]] = {}
    for name, reason in data["left_out"].items():
        reasons.setdefault(reason, []).append(name)
    said += [f"left out {', '.join(names)}: {reason}" for reason, names in reasons.items()]
    if own_prior:
        said.append("the prior is the checkpoint's own")
    for line in said:
        print(f"attnlens: {line}", file=sys.stderr)
