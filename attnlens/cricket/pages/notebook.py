"""What Python and Jupyter show of an explanation, of a match's story and of a "what if"."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from attnlens.cricket.pages.ball_page import render_ball
from attnlens.cricket.pages.documents import render_html
from attnlens.cricket.pages.match_story import render_match_story, render_story_html
from attnlens.cricket.pages.what_if_page import render_what_if
from attnlens.cricket.words.facts import OUTCOME_WORDS
from attnlens.render.notebook import WIDTH, frame_page, preformatted
from attnlens.render.safe import clean

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import Explanation
    from attnlens.cricket.story.story_types import MatchStory
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


def match_story_line(story: MatchStory) -> str:
    """Which match, and how it ended."""
    sides = " v ".join(story.match.teams)
    return clean(f"<MatchStory of {story.match.match_id}: {sides} | {story.result}>")


def explanation_html(explanation: Explanation) -> str:
    return frame_page(render_html(explanation), "An explanation")


def match_story_html(story: MatchStory) -> str:
    return frame_page(render_story_html(story), "The story of a match")


def what_if_html(answer: WhatIf) -> str:
    return preformatted(what_if_text(answer))


explanation_text = partial(render_ball, width=WIDTH, color=False)
match_story_text = partial(render_match_story, width=WIDTH, color=False)
what_if_text = partial(render_what_if, width=WIDTH, color=False)
