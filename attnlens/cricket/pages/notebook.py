"""What Python and Jupyter show of an explanation and of a "what if"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attnlens.cricket.words.facts import outcome_words
from attnlens.show.notebook import WIDTH, framed, preformatted
from attnlens.show.safe import clean

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import Explanation
    from attnlens.cricket.whatif.types import WhatIf


def explanation_line(explanation: Explanation) -> str:
    """Which ball, what is expected of it, and how its claims fared."""
    top = max(explanation.prediction.outcomes, key=lambda entry: entry.probability)
    verdicts = [one.verdict for one in explanation.evidence if one.removed_from == "model"]
    tested = [verdict for verdict in verdicts if verdict is not None]
    fared = f"{tested.count('supported')} of {len(tested)} tested claims supported"
    return clean(
        f"<Explanation of {explanation.match.match_id}: {explanation.ball.echo} | "
        f"{outcome_words(top.outcome)} {top.probability:.0%} | "
        f"{fared if tested else 'no claim was tested'}>"
    )


def explanation_text(explanation: Explanation) -> str:
    """The page that ``explain`` prints."""
    from attnlens.cricket.pages.terminal import render_terminal

    return render_terminal(explanation, width=WIDTH, color=False)


def explanation_html(explanation: Explanation) -> str:
    """The page of an explanation, as ``explain --format html`` writes it."""
    from attnlens.cricket.pages.html import render_html

    return framed(render_html(explanation), "An explanation")


def what_if_line(answer: WhatIf) -> str:
    """Which ball, and what was different."""
    changes = "; ".join(change.text for change in answer.changes)
    return clean(f"<WhatIf of {answer.match.match_id}: {answer.before.echo} | {changes}>")


def what_if_text(answer: WhatIf) -> str:
    """The page that ``whatif`` prints."""
    from attnlens.cricket.pages.what_if import render_what_if

    return render_what_if(answer, width=WIDTH, color=False)


def what_if_html(answer: WhatIf) -> str:
    """The same, in letters of one width."""
    return preformatted(what_if_text(answer))


FORMS: Final = {
    "Explanation": {
        "line": explanation_line,
        "text": explanation_text,
        "html": explanation_html,
    },
    "WhatIf": {"line": what_if_line, "text": what_if_text, "html": what_if_html},
}
