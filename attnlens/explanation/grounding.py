"""Is a text about an explanation borne out by it? Every number, name, ball and verdict.

Each is looked for where its words say it must be: "an 18% chance of a four" is the probability of a
four, and no other 0.18. What is found wrong comes with the nearest true value and its JSON pointer.
A text can also mislead by what it leaves out, or in words that this cannot read; `docs/check.md`
tells how often.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attnlens.explanation.grounding_balls import Balls
from attnlens.explanation.grounding_claims import check_claims
from attnlens.explanation.grounding_clause import Reading, read_clause
from attnlens.explanation.grounding_counts import Counts
from attnlens.explanation.grounding_directions import Directions
from attnlens.explanation.grounding_facts import Facts, Unsupported, as_data
from attnlens.explanation.grounding_names import Vocabulary, check_names, vocabulary_of
from attnlens.explanation.grounding_numbers import Numbers
from attnlens.explanation.grounding_players import Players
from attnlens.explanation.grounding_spelt import in_digits
from attnlens.explanation.grounding_text import clauses_of, lines_of, sentences_of
from attnlens.explanation.grounding_verdicts import verdicts_in

__all__ = ["Checker", "Unsupported", "check_grounding"]


def check_grounding(explanation: Any, text: str) -> list[Unsupported]:
    """What a text says that the explanation does not, in the order of the text.

    Args:
        explanation: an `Explanation`, the same as plain data, or its JSON.
        text: plain text or Markdown, in English.

    Returns:
        Each unsupported claim once; nothing where all of the text is borne out.

    Raises:
        InputError: ``explanation`` is none.
    """
    return Checker(explanation).check(text)


class Checker:
    """Checks texts against one explanation.

    Raises:
        InputError: ``explanation`` is none.
    """

    def __init__(self, explanation: Any) -> None:
        self._facts = Facts(as_data(explanation))
        self._vocabulary: Vocabulary = vocabulary_of(self._facts)
        for role, signs in self._facts.signs.items():
            signs |= self._vocabulary.signs_of(self._facts.ball[role])
        self._players = Players(self._facts, self._vocabulary)
        self._balls = Balls(self._facts)
        self._numbers = Numbers(self._facts)
        self._counts = Counts(self._facts)
        self._directions = Directions(self._facts)

    def check(self, text: str) -> list[Unsupported]:
        """What a text says that the explanation does not, in the order of the text."""
        return [found for _, several in self.sentences(text) for found in several]

    def sentences(self, text: str) -> Iterator[tuple[str, list[Unsupported]]]:
        """Each sentence of a text, with what is unsupported in it."""
        last: Reading | None = None
        for line in lines_of(self._vocabulary.named(text), self._vocabulary.marked):
            for told in sentences_of(line):
                plain = self._vocabulary.plain(told)
                sentence, spelt = in_digits(told)
                found: list[Unsupported] = []
                for rank, clause in enumerate(clauses_of(sentence)):
                    if clause.host is None:
                        reading = last = read_clause(clause.text, sentence, self._facts, last)
                    else:
                        host = read_clause(clause.host, sentence, self._facts, last)
                        reading = read_clause(clause.text, sentence, self._facts, host)
                    found += self._clause(reading, plain)
                    found += check_names(clause, self._facts, self._vocabulary, plain, rank == 0)
                yield plain, self._shown(found, spelt)

    def _clause(self, reading: Reading, plain: str) -> Iterator[Unsupported]:
        yield from self._players.check(reading.text, plain, reading.places if reading.named else ())
        yield from self._balls.check(reading, plain)
        yield from self._numbers.check(reading, plain)
        yield from self._counts.check(reading, plain)
        yield from check_claims(reading, self._facts, verdicts_in(reading.text), plain)
        yield from self._directions.check(reading, plain)

    def _shown(self, found: Iterable[Unsupported], spelt: Mapping[str, str]) -> list[Unsupported]:
        """Each once, names and numbers as they were written."""
        plain = self._vocabulary.plain
        kept: dict[tuple[str, str], Unsupported] = {}
        for one in found:
            said = plain(spelt.get(one.text, one.text))
            shown = Unsupported(one.sentence, said, one.kind, one.problem, one.nearest, one.pointer)
            kept.setdefault((shown.text, shown.kind), shown)
        return list(kept.values())
