"""``attnlens evaluate --model cricket``: the next over, beside overs of the same phase."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from attnlens.cli.output import emit, emit_json, page, progress, report_skipped
from attnlens.cli.sources import held_out_of
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.errors import MatchFileError


def evaluate_overs(options: argparse.Namespace) -> int:
    """Judge an encoder-decoder of overs; the options are those of ``evaluate``."""
    for name in ("plot", "calibration_out"):
        if getattr(options, name) is not None:
            raise InputError(
                f"--{name.replace('_', '-')} is about single balls, and this model writes overs",
                remedy="leave it out",
            )
    from attnlens.cricket.held_out import last_day
    from attnlens.cricket.over_evaluation import judge_overs, over_evaluation, phase_overs
    from attnlens.cricket.trained_overs import load_overs

    trained = load_overs(options.model)
    skipped: list[MatchFileError] = []
    try:
        held = held_out_of(options, trained, skipped)
        until = trained.date("weights_until")
        judged = {match.match_id for match in held.matches}
        learnt = [
            match
            for match in held.given.values()
            if match.match_id not in judged
            and (day := last_day(match)) is not None
            and (until is None or day <= until)
        ]
        if not learnt:
            raise InputError(
                "no match of the training dates is given to draw overs of the same phase from",
                remedy="give the matches it was trained on with --history",
            )
        overs = judge_overs(held, phase_overs(learnt), seed=options.seed, report=progress)
    finally:
        progress("")
    data = over_evaluation(
        held, overs, fitted_on=len(learnt), draws=options.bootstrap, seed=options.seed
    )
    report_skipped(f"skipped {len(skipped)} files", skipped)
    for line in data["notes"]:
        print(f"attnlens: {line}", file=sys.stderr)
    if options.format == "json":
        emit_json(data, options.out)
        return 0
    from attnlens.render.over_evaluation import render_over_evaluation

    emit(render_over_evaluation(data, **page(options.out)), options.out)
    return 0
