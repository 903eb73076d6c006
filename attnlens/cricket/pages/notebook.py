"""What Python and Jupyter show of an explanation, of a match's story and of a "what if"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attnlens.cricket.pages.ball_page import render_story
from attnlens.cricket.pages.documents import render_html
from attnlens.cricket.pages.match_story import render_match_story, render_story_html
from attnlens.cricket.pages.what_if import render_what_if
from attnlens.cricket.words.clauses import explanation_clauses
from attnlens.cricket.words.facts import OUTCOME_WORDS
from attnlens.render.notebook import WIDTH, framed, preformatted
from attnlens.render.safe import clean

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import Explanation
    from attnlens.cricket.story.types import MatchStory
    from attnlens.cricket.whatif.types import WhatIf


def explanation_line(explanation: Explanation) -> str:
    """Which ball, what is expected of it, and how its claims fared."""
    top = max(explanation.prediction.outcomes, key=lambda entry: entry.probability)
    tested = [
        claim.verdict
        for claim in explanation.evidence
        if claim.removed_from == "model" and claim.q is not None and not claim.reference
    ]
    fared = f"{tested.count('supported')} of {len(tested)} tested claims supported"
    return clean(
        f"<Explanation of {explanation.match.match_id}: {explanation.ball.echo} | "
        f"{OUTCOME_WORDS[top.outcome]} {top.probability:.0%} | "
        f"{fared if tested else 'no claim was tested'}>"
    )


def what_if_line(answer: WhatIf) -> str:
    """Which ball, and what was different."""
    changes = "; ".join(change.text for change in answer.changes)
    return clean(f"<WhatIf of {answer.match.match_id}: {answer.before.echo} | {changes}>")


def story_line(story: MatchStory) -> str:
    """Which match, and how it ended."""
    sides = " v ".join(story.match.teams)
    return clean(f"<MatchStory of {story.match.match_id}: {sides} | {story.result}>")


FORMS: Final = {
    "Explanation": {
        "line": explanation_line,
        "text": lambda one: render_story(one, width=WIDTH, color=False),
        "html": lambda one: framed(render_html(one), "An explanation"),
        "clauses": explanation_clauses,
    },
    "MatchStory": {
        "line": story_line,
        "text": lambda one: render_match_story(one, width=WIDTH, color=False),
        "html": lambda one: framed(render_story_html(one), "The story of a match"),
    },
    "WhatIf": {
        "line": what_if_line,
        "text": lambda one: render_what_if(one, width=WIDTH, color=False),
        "html": lambda one: preformatted(render_what_if(one, width=WIDTH, color=False)),
    },
}
