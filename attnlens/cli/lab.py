"""The commands of ``attnlens lab``: train models, measure models, and simulate matches."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from attnlens.cli.arguments import (
    MAX_COUNT,
    MAX_SEED,
    Commands,
    Parser,
    add_formats,
    add_shared,
    date,
    given_options,
    number,
    whole_number,
)
from attnlens.cli.output import (
    check_files,
    check_outputs,
    emit,
    emit_json,
    progress,
    report_skipped,
    say,
    show,
    since_now,
)
from attnlens.errors import InputError, count
from attnlens.files import write_text

if TYPE_CHECKING:
    import datetime

    from attnlens.cricket.errors import MatchFileError
    from attnlens.cricket.lab.held_out import HeldOut
    from attnlens.cricket.predictor.trained import Added
    from attnlens.files import Json
    from attnlens.render.canvas import Renderer

_MAX_THREADS = 1024
_NOTHING_NEWER = 1
_BASELINES = ("prior", "logistic", "boosted_trees")
_MAX_MATCHES = 100_000


def add_lab(commands: Commands) -> None:
    parser = commands.add_parser(
        "lab",
        help="train and measure models, and simulate matches",
        description="Train the predictors, simulate matches, and measure the quality of "
        "predictions and explanations.",
    )
    actions = parser.command_group("lab_command", required=True)
    _add_train(actions)
    _add_ratings(actions)
    _add_evaluate(actions)
    _add_faithfulness(actions)
    _add_heads(actions)
    _add_planted(actions)
    _add_simulate(actions)
    _add_text_train(actions)


def _add_counts(parser: Parser, *rows: tuple[str, int, str], most: int = MAX_COUNT) -> None:
    """Add options for whole numbers. Each row is a name, the smallest value and the help."""
    for name, least, words in rows:
        parser.option(name, "N", words, type=whole_number(least, most))


def _add_train(commands: Commands) -> None:
    parser = commands.add_parser(
        "train",
        run=_train,
        help="train a predictor on match files",
        description="Train a predictor and its ratings on the matches of SRC. The matches are "
        "split by date into training and validation. On one machine, runs with the same seed, "
        "matches and --threads give the same model.",
    )
    add_shared(parser, "sources")
    add_shared(parser, "--out", required=True, help="the checkpoint file to write")
    parser.add_argument(
        "--model",
        choices=("temporal", "cricket"),
        default="temporal",
        help="temporal: the predictor of the next ball (default); cricket: the "
        "encoder-decoder that predicts the next over",
    )
    validation = (
        "the last day of the validation matches; give the same day as --train-until to train "
        "without validation"
    )
    parser.option("--train-until", "DATE", "the last day of the training matches", type=date)
    parser.option("--validate-until", "DATE", validation, type=date)
    parser.option("--epochs", "N", "number of passes over the training matches", type=int)
    parser.option("--seed", "N", "random seed (default 5)", type=int)
    parser.option("--hidden-dim", "N", "width of the predictor's vectors", type=int)
    parser.option(
        "--set",
        "NAME=VALUE",
        "another hyperparameter of the training or the model, such as "
        "learning_rate=0.001, dropout=0.2 or heads.medium=8; may be given several "
        "times",
        action="append",
        default=[],
    )
    parser.add_argument(
        "--teacher",
        choices=("boosted_trees",),
        help="also distil the predictions of gradient-boosted trees, which are trained on all "
        "running totals",
    )
    parser.add_argument(
        "--device",
        choices=("cpu", "cuda"),
        default="cpu",
        help="device to train on; with torchrun each process uses its own GPU",
    )
    head_balls = (
        "number of sampled balls on which the heads are measured and named (default 200; fewer "
        "balls take less time)"
    )
    _add_counts(parser, ("--head-balls", 1, head_balls))
    # An extremely large number of threads would crash the process.
    _add_counts(
        parser, ("--threads", 1, "number of threads (default: all cores)"), most=_MAX_THREADS
    )
    parser.option(
        "--state",
        "FILE",
        "the file that stores the training state after every epoch; if the file exists, training "
        "resumes from this state",
    )


def _train(options: argparse.Namespace) -> int:
    check_outputs({"--out": options.out, "--state": options.state}, sources=options.sources)
    for name in ("teacher", "head_balls", "hidden_dim") if options.model == "cricket" else ():
        if getattr(options, name):
            raise InputError(
                f"--{name.replace('_', '-')} cannot be used with --model cricket",
                remedy="leave the option out; set sizes with --set",
            )
    from pathlib import Path

    from attnlens.cricket.lab.training import TRAINERS, TrainingPlan, recipe_and_sizes, use_threads
    from attnlens.cricket.lab.training_loop import TrainingLoop, processes

    kind, train = TRAINERS[options.model]
    numbers = given_options(options, "epochs", "seed", "hidden_dim")
    recipe, sizes = recipe_and_sizes(kind, options.set, numbers)
    plan = TrainingPlan(
        sizes=sizes,
        **given_options(options, "train_until", "validate_until", "teacher", "head_balls"),
    )
    among = processes(options.device)
    use_threads(options.threads, among.count)
    report = since_now() if among.first else lambda _: None
    state = None if options.state is None else Path(options.state)
    loop = TrainingLoop(state, report=report, among=among)
    train(options.sources, options.out, plan, recipe, loop)
    among.close()
    return 0


def _add_ratings(commands: Commands) -> None:
    parser = commands.add_parser(
        "ratings",
        run=_ratings,
        help="update player and venue ratings without retraining",
        description="Update the checkpoint's ratings with the matches of SRC that are newer than "
        "the ratings, and write the new checkpoint. The matches are added in the order of their "
        "dates. The network's weights do not change. If the checkpoint lacks a table of ratings, "
        "such as the levels of competitions, that table is computed from every match of SRC. If "
        "there is nothing to update, no file is written and the exit status is 1.",
    )
    add_shared(parser, "sources")
    add_shared(parser, "--out", required=True, help="the checkpoint file to write")
    add_shared(parser, "--model", "--until")
    win_until = "also refit the win probabilities, on the matches of SRC up to this day"
    parser.option("--win-until", "DATE", win_until, type=date)
    add_formats(parser)


def _ratings(options: argparse.Namespace) -> int:
    from dataclasses import asdict

    from attnlens.cricket.lab.winning import refit_win
    from attnlens.cricket.predictor.trained import save_predictor, update_ratings
    from attnlens.cricket.readers import matches_to_learn
    from attnlens.cricket.session import Session, file_digest

    # The checkpoint itself may be updated in place.
    check_outputs({"--out": options.out}, sources=options.sources)
    predictor = Session(options.model).predictor
    skipped: list[MatchFileError] = []
    matches = list(matches_to_learn(options.sources, skipped, progress, "{} matches read"))
    updated, added = update_ratings(predictor, matches, last=options.last)
    if options.win_until is not None:
        updated = refit_win(updated, matches, options.win_until, progress)
        progress("")
    is_written = bool(added.matches or added.completed or options.win_until)
    if is_written:
        save_predictor(options.out, updated)
    report_skipped(skipped)
    until = updated.ratings.until
    if options.format == "json":
        emit_json(
            asdict(added)
            | {
                "dates": [None if day is None else day.isoformat() for day in added.dates],
                "ratings_until": None if until is None else until.isoformat(),
                "win_until": updated.card.get("win_until"),
                "sha256": file_digest(options.out) if is_written else None,
            },
            None,
        )
    else:
        fitted = options.win_until
        emit(_learnt_sentence(predictor.ratings.until, until, added, options.out, fitted), None)
    return 0 if is_written else _NOTHING_NEWER


def _learnt_sentence(
    before: datetime.date | None,
    until: datetime.date | None,
    added: Added,
    out: str,
    fitted: datetime.date | None,
) -> str:
    parts = [
        (added.already_known, "{} were already included"),
        (added.undated, "{} without a date were left out"),
        (
            added.completed,
            "{} were already included, and were used to fill missing tables",
        ),
    ]
    notes = [text.format(count(number, "match", "matches")) for number, text in parts if number]
    if fitted is not None:
        notes.append(f"win probabilities were fitted on matches until {fitted}")
    learnt = count(added.matches, "match", "matches")
    result = f"wrote {out}: ratings until {until} (before: {before}), {learnt} added"
    if fitted is None and not added.matches and not added.completed:
        result = f"SRC holds no match after {before}, so no file was written"
    return "; ".join([result, *notes])


def _add_evaluate(commands: Commands) -> None:
    parser = commands.add_parser(
        "evaluate",
        run=_evaluate,
        help="measure log-loss, Brier score, calibration and accuracy, and compare with baselines",
        description="Evaluate a predictor on the matches of SRC that were played after the "
        "predictor's training. Each match is evaluated with the ratings as of the match's date. "
        "The baselines are fitted to matches from the predictor's training dates. The intervals "
        "are 95% confidence intervals from resampling whole matches.",
    )
    _add_matches(parser)
    history_help = "more matches, used to update the ratings and to fit the baselines"
    add_shared(parser, "--history", nargs="+", help=history_help)
    parser.option(
        "--baselines",
        "NAMES",
        f"a comma-separated list of {','.join(_BASELINES)} (default: all three), or "
        "none; fitting the trees takes minutes",
        type=_baselines,
        default=_BASELINES,
    )
    parser.flag(
        "--win",
        "evaluate only the win probabilities before every ball, and compare them with models that "
        "see only the state of the match",
    )
    parser.flag(
        "--usual",
        "evaluate only each competition's usual outcome probabilities, which explanations compare "
        "with the prediction",
    )
    parser.flag(
        "--reasons",
        "evaluate only the reasons: for each kind of reason, regress the actual outcomes on the "
        "percentage points that explanations state, and report the slope",
    )
    _add_counts(parser, ("--balls", 1, "number of balls to sample with --reasons (default 6600)"))
    parser.option(
        "--calibration-out",
        "FILE",
        "write the calibration table to this file: the observed frequency of each outcome for "
        "each range of predicted probabilities; explanations read NAME.calibration.json next to "
        "NAME.safetensors; with --reasons, add the slopes to the file",
    )


def _add_faithfulness(commands: Commands) -> None:
    parser = commands.add_parser(
        "faithfulness",
        run=_faithfulness,
        help="measure whether attention identifies the past balls that mattered",
        description="Sample balls with at least 36 balls before them, and measure how the "
        "prediction changes when past balls are hidden. Report how well attention and other "
        "scores agree with these changes, compared with recency, uniform and random scores. Only "
        "matches of SRC that were played after the model's training are measured. Earlier matches "
        "update the model's ratings.",
    )
    _add_matches(parser, sample=True)
    wide = (
        "number of balls, from any part of an innings, on which the log-loss is measured three "
        "times: with the past balls, without the past balls, and with permuted outcomes of the "
        "past balls (default 5000)"
    )
    _add_counts(parser, ("--wide", 0, wide))
    parser.flag(
        "--stability",
        "measure only the stability: how often the explained outcome, the most influential ball "
        "and the verdicts stay the same after changes that should not matter",
    )
    parser.option("--against", "MODEL", "with --stability: another checkpoint for comparison")
    claims = "with --stability: number of balls on which verdicts are compared (default 100)"
    _add_counts(parser, ("--claims", 0, claims))


def _add_heads(commands: Commands) -> None:
    parser = commands.add_parser(
        "heads",
        run=_heads,
        help="measure what each head does, and name the heads accordingly",
        description="For every head, measure the learned biases, the attention relative to "
        "uniform attention, and the prediction's loss without the head, with 95% intervals. Name "
        "the head if its attention and the effects of hiding balls support a name. Only matches "
        "of SRC that were played after the model's training are measured. Earlier matches update "
        "the model's ratings.",
    )
    _add_matches(parser, sample=True)


def _add_matches(parser: Parser, *, sample: bool = False) -> None:
    """Add the options for measuring a model on matches, or on a ``sample`` of balls."""
    add_shared(parser, "sources", "--model")
    if sample:
        add_shared(parser, "--history", nargs="+")
        _add_counts(
            parser,
            ("--balls", 1, "number of balls to sample (default 500)"),
            ("--seed", 0, "seed of the sample (default 5)"),
        )
    add_shared(parser, "--from", "--until")
    parser.flag(
        "--allow-in-sample",
        "also measure matches from the model's training dates; the results will look too good",
    )
    add_formats(parser)
    add_shared(parser, "--out")


def _baselines(text: str) -> tuple[str, ...]:
    if text.strip() == "none":
        return ()
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in _BASELINES:
            raise argparse.ArgumentTypeError(
                f"{name!r} is not a baseline; use {', '.join(_BASELINES)}, or none"
            )
    return tuple(name for name in _BASELINES if name in names)


def _evaluate(options: argparse.Namespace) -> int:
    check_files(options, "calibration_out")
    modes = [name for name in ("win", "usual", "reasons") if getattr(options, name)]
    if len(modes) > 1:
        names = " and ".join(f"--{name}" for name in modes)
        raise InputError(f"{names} exclude each other", remedy="give only one of them")
    if options.balls is not None and not options.reasons:
        raise InputError(
            "--balls works only with --reasons",
            remedy="omit --balls to evaluate every ball, or add --reasons",
        )
    if options.calibration_out is not None and (options.win or options.usual):
        raise InputError(
            f"--calibration-out cannot be combined with --{modes[0]}",
            remedy="leave one of the two out",
        )
    if options.win:
        from attnlens.cricket.lab.winning import render_winning, win_evaluation

        baselines = [name for name in options.baselines if name != "prior"]
        measure_win = partial(win_evaluation, baselines=baselines, report=progress)
        return _measure_held_out(options, measure_win, render_winning, digits=9)
    if options.usual:
        from attnlens.cricket.lab.evaluation import render_usual, usual_evaluation

        measure_usual = partial(usual_evaluation, report=progress)
        return _measure_held_out(options, measure_usual, render_usual, digits=6)
    return _evaluate_reasons(options) if options.reasons else _evaluate_outcomes(options)


def _evaluate_outcomes(options: argparse.Namespace) -> int:
    from attnlens.cricket.lab import evaluation
    from attnlens.cricket.lab.baselines import compare

    def measure(held: HeldOut) -> Json:
        balls = evaluation.judge(held, progress)
        baselines = compare(held, balls, options.baselines, report=progress)
        if options.calibration_out is not None:
            _write_calibration(options, evaluation.calibration_table(held, balls))
        document = evaluation.evaluation(held, balls, baselines)
        progress("")
        for line in evaluation.remarks(document):
            say(line)
        return document

    return _measure_held_out(options, measure, evaluation.render_evaluation, digits=6)


def _evaluate_reasons(options: argparse.Namespace) -> int:
    from attnlens.cricket.lab import reasons_evaluation as reasons

    def measure(held: HeldOut) -> Json:
        out, table = options.calibration_out, {}
        if out is not None:
            table = reasons.calibration_file(out, held.predictor.sha256)
        sizes = given_options(options, "balls")
        document = reasons.reasons_evaluation(held, report=progress, **sizes)
        if out is not None:
            _write_calibration(options, table | {"reasons": reasons.reasons_table(document)})
        return document

    return _measure_held_out(options, measure, reasons.render_reasons, digits=6)


def _write_calibration(options: argparse.Namespace, table: Json) -> None:
    write_text(options.calibration_out, json.dumps(table, allow_nan=False) + "\n")


def _faithfulness(options: argparse.Namespace) -> int:
    check_files(options)
    if options.stability:
        return _stability(options)
    for name in ("against", "claims"):
        if getattr(options, name) is not None:
            raise InputError(
                f"--{name} works only with --stability", remedy="add --stability, or leave it out"
            )
    from attnlens.cricket.lab.attention_faithfulness import measure, render_faithfulness

    def document(held: HeldOut) -> Json:
        innings = list(held.innings(progress))
        sizes = {"wide": 5000} | given_options(options, "balls", "seed", "wide")
        return measure(held.predictor.model, innings, report=progress, **sizes).document(held)

    return _measure_held_out(options, document, render_faithfulness)


def _stability(options: argparse.Namespace) -> int:
    from attnlens.cricket.lab.stability import render_stability, stability
    from attnlens.cricket.session import Session

    def document(held: HeldOut) -> Json:
        against = None
        if options.against is not None:
            against = held.by_another(Session(options.against).predictor, progress)
        sizes = given_options(options, "balls", "claims", "seed")
        return stability(held, against, report=progress, **sizes)

    return _measure_held_out(options, document, render_stability)


def _heads(options: argparse.Namespace) -> int:
    check_files(options)
    from attnlens.cricket.lab.head_study import head_report, render_heads

    sizes = given_options(options, "balls", "seed")
    return _measure_held_out(options, partial(head_report, report=progress, **sizes), render_heads)


def _measure_held_out(
    options: argparse.Namespace,
    measure: Callable[[HeldOut], Json],
    render: Renderer,
    *,
    digits: int | None = None,
) -> int:
    """Measure the model on held-out matches. JSON numbers are rounded to ``digits`` decimals."""
    from attnlens.cricket.lab.figures import to_json
    from attnlens.cricket.lab.held_out import held_out
    from attnlens.cricket.session import Session
    from attnlens.render.numbers import rounded_all

    skipped: list[MatchFileError] = []
    try:
        held = held_out(
            Session(options.model).predictor,
            options.sources,
            history=options.history or [],
            first=options.first,
            last=options.last,
            allow_in_sample=options.allow_in_sample,
            skipped=skipped,
            report=progress,
        )
        document = measure(held)
    finally:
        progress("")
    report_skipped(skipped)

    def data() -> Json:
        members: Json = to_json(document)
        return members if digits is None else dict(rounded_all(members, digits))

    return show(options, data, partial(render, document))


def _add_planted(commands: Commands) -> None:
    parser = commands.add_parser(
        "planted",
        run=_planted,
        help="train on matches with known dependencies, and test whether explanations find the "
        "dependencies",
        description="Simulate matches by known rules. The rules determine which past balls each "
        "ball depends on, and how strongly. Train a small predictor on these matches. Then "
        "measure how well attention and the effects of hiding balls identify the past balls that "
        "each ball depends on, and how often a false claim gets the verdict `supported`. "
        "docs/evidence.md explains each figure.",
    )
    parser.flag("--quick", "run a small and fast version of every part, for tests")
    _add_counts(
        parser,
        ("--matches", 1, "number of simulated matches to train on (default 300)"),
        ("--epochs", 1, "number of passes over these matches (default 8)"),
        ("--balls", 1, "number of balls on which every method is scored (default 200)"),
        ("--claims", 1, "number of balls on which claims are tested (default 50)"),
        ("--seed", 0, "random seed (default 5)"),
    )
    add_formats(parser)
    add_shared(parser, "--out")


def _planted(options: argparse.Namespace) -> int:
    import dataclasses

    from attnlens.cricket.lab.figures import to_json
    from attnlens.cricket.lab.planted_truth import FULL, QUICK, planted, render_planted

    check_files(options)  # before the slow part
    changed = given_options(options, "matches", "epochs", "balls", "claims", "seed")
    plan = dataclasses.replace(QUICK if options.quick else FULL, **changed)
    data = to_json(planted(plan, report=since_now()))
    return show(options, lambda: data, lambda **_: render_planted(data))


def _add_simulate(commands: Commands) -> None:
    parser = commands.add_parser(
        "simulate",
        run=_simulate,
        help="write simulated T20 matches",
        description="Write simulated T20 matches as Cricsheet CSV2 or JSON. The same seed always "
        "gives the same bytes.",
    )
    out_help = "the file to write: .csv or .json for one match, .zip for several"
    add_shared(parser, "--out", required=True, help=out_help)
    parser.option(
        "--seed",
        "N",
        "seed of the first match (default 0)",
        type=whole_number(0, MAX_SEED),
        default=0,
    )
    parser.option(
        "--matches",
        "N",
        "number of matches, with consecutive seeds (default 1)",
        type=whole_number(1, _MAX_MATCHES),
        default=1,
    )
    parser.add_argument(
        "--format",
        choices=("csv2", "json"),
        help="the format of the files in a zip (default csv2); the format of a single "
        "file follows from its suffix",
    )


def _simulate(options: argparse.Namespace) -> int:
    from attnlens.cricket.lab.simulator import save_simulated

    if not options.out:
        raise InputError("the file name of --out is empty", remedy="give a file name")
    try:
        save_simulated(
            options.out,
            range(options.seed, options.seed + options.matches),
            file_format=options.format,
            report=lambda done: progress(f"simulating: {done} of {options.matches} matches"),
        )
    finally:
        progress("")
    return 0


def _add_text_train(commands: Commands) -> None:
    parser = commands.add_parser(
        "text-train",
        run=_text_train,
        help="train an encoder-decoder on a CSV of sentence pairs",
        description="Train an encoder-decoder on sentence pairs. A tenth of the inputs is held "
        "out. All pairs with certain combinations of answer tokens are held out too. The command "
        "prints the accuracy on both held-out sets. On one machine, the same pairs and seed give "
        "the same weights.",
    )
    parser.option(
        "csv", "CSV", "a file with one sentence pair per row, and column names in the first row"
    )
    parser.option(
        "--columns",
        "A,B",
        "the names of the input column and the output column (default: the first two columns)",
    )
    parser.option(
        "--separator",
        "C",
        "the character between columns, or `tab` (default: a comma)",
        type=_separator,
        default=",",
    )
    add_shared(parser, "--out", required=True, help="the checkpoint file to write")
    for name, low, high, words in (
        ("epochs", 1, 10_000, "number of passes over the pairs (default 30)"),
        ("seed", 0, MAX_SEED, "random seed (default 0)"),
        ("batch", 1, 10_000, "number of pairs per training step (default 64)"),
        ("width", 1, 4096, "width of the vectors (default 64)"),
        ("heads", 1, 64, "number of heads of each attention layer (default 4)"),
        ("d-ff", 1, 16_384, "width of the feed-forward networks' hidden layer (default 128)"),
        ("encoder-layers", 1, 24, "number of encoder layers (default 1)"),
        ("decoder-layers", 1, 24, "number of decoder layers (default 1)"),
    ):
        parser.option(f"--{name}", "N", words, type=whole_number(low, high))
    parser.option(
        "--learning-rate", "X", "the highest learning rate (default 0.003)", type=number(0, 1)
    )
    parser.option(
        "--leading",
        "N",
        "how many tokens at the start of each answer are names; the held-out combinations ignore "
        "these tokens (default 0)",
        type=whole_number(0, 100),
        default=0,
    )


def _separator(text: str) -> str:
    sign = "\t" if text in ("tab", "\\t") else text
    if len(sign) != 1 or sign in '\r\n"' or not sign.isascii():
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a single character such as `;`, or the word `tab`"
        )
    return sign


def _two_columns(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2:
        raise InputError(f"--columns {text!r} is not a pair of names", remedy="give INPUT,OUTPUT")
    return names


def _text_train(options: argparse.Namespace) -> int:
    check_files(options)
    columns = None if options.columns is None else _two_columns(options.columns)
    from attnlens.reference.text_model import (
        HeldOutRule,
        TextRecipe,
        TextSizes,
        read_pairs,
        train_text,
    )

    pairs = read_pairs(options.csv, columns=columns, separator=options.separator)
    sizes = given_options(options, "width", "heads", "d_ff", "encoder_layers", "decoder_layers")
    model = train_text(
        pairs,
        recipe=TextRecipe(**given_options(options, "epochs", "batch", "learning_rate", "seed")),
        sizes=TextSizes(**sizes),
        rule=HeldOutRule.of(pairs.pairs, leading=options.leading),
        report=since_now(),
    )
    model.save(options.out)
    return 0
