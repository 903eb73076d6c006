"""The simulator's coefficients as Markdown tables.

python benchmarks/simulator_model.py
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attnlens.cricket.outcomes import OUTCOMES
from attnlens.cricket.simulate import Coefficients
from attnlens.cricket.simulated_causes import CAUSES, CHASING
from attnlens.cricket.simulated_events import BYES, DISMISSAL_SHARES, LEG_BYES, NO_BALLS, WIDES
from attnlens.cricket.simulated_players import SHARED_DAY
from attnlens.cricket.simulated_rates import (
    BASE,
    CORRELATIONS,
    DIRECTIONS,
    GROUPS,
    LEG_BYE,
    PLACES,
    RUN_OUT_RUNS,
    RUN_OUT_STRIKER,
    SECOND_INNINGS,
    SPREADS,
    STUMPED_OFF_WIDE,
    TWO_FIELDERS,
    UNIT_MEANS,
)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, numbers to the right."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines) + "\n"


def numbers(values: Iterable[float]) -> list[str]:
    return [f"{value:g}" for value in values]


def model_tables() -> str:
    """Every coefficient, with headings."""
    strengths = Coefficients().by_cause()
    groups = list(GROUPS)
    text = "### Base, b(over, outcome), and second innings, s(outcome)\n\n"
    rows = [[str(over), *numbers(row)] for over, row in enumerate(BASE, 1)]
    rows.append(["s", *numbers(SECOND_INNINGS)])
    text += table(["over", *OUTCOMES], rows)
    text += "### Strengths, β(cause), and directions, d(cause, outcome)\n\n"
    moved = [name for name in OUTCOMES if any(name in row for row in DIRECTIONS.values())]
    text += table(
        ["cause", "β", *moved],
        (
            [cause, f"{strengths[cause]:g}", *numbers(DIRECTIONS[cause].get(n, 0) for n in moved)]
            for cause in CAUSES
        ),
    )
    text += "### Ordinary units, m(cause, over)\n\n"
    text += f"({' and '.join(CHASING)} in the second innings only.)\n\n"
    means = [[str(over + 1), *numbers(UNIT_MEANS[c][over] for c in CAUSES)] for over in range(20)]
    text += table(["over", *CAUSES], means)
    text += "### Groups of outcomes, and places in the batting order\n\n"
    text += "; ".join(f"{group}: {', '.join(names)}" for group, names in GROUPS.items()) + "\n\n"
    text += table(
        ["place", *groups], ([str(place), *numbers(row)] for place, row in enumerate(PLACES, 1))
    )
    text += "### Spreads of the random effects (standard deviations)\n\n"
    text += table(["of", *groups], ([of, *numbers(row)] for of, row in SPREADS.items()))
    text += f"Share of a match's and an innings' variance that is common: {SHARED_DAY:g}\n\n"
    text += "### Correlations of the random effects\n\n"
    for of, matrix in CORRELATIONS.items():
        names = groups
        if len(matrix) > len(groups):
            names = [f"{group}, {does}" for does in ("batting", "bowling") for group in groups]
        text += table([of, *names], ([n, *numbers(r)] for n, r in zip(names, matrix, strict=True)))
    text += "### What an outcome class leaves open\n\n"
    shares: dict[str, dict[str, float]] = {
        name: {str(key): value for key, value in those.items()}
        for name, those in (
            ("runs in a wide", WIDES),
            ("off the bat from a no-ball", NO_BALLS),
            ("byes", BYES),
            ("leg byes", LEG_BYES),
            ("runs before a run out", RUN_OUT_RUNS),
            ("how a wicket falls", DISMISSAL_SHARES),
        )
    }
    shares["of those that are so"] = {
        "leg byes, not byes": LEG_BYE,
        "stumped off a wide": STUMPED_OFF_WIDE,
        "the striker is run out": RUN_OUT_STRIKER,
        "two fielders in a run out": TWO_FIELDERS,
    }
    for name, those in shares.items():
        text += f"- {name}: " + ", ".join(f"{key} {value:g}" for key, value in those.items()) + "\n"
    return text


if __name__ == "__main__":
    print(model_tables(), end="")
