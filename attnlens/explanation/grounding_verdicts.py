"""Words in a text that give a verdict: a test bears a claim out, does not, was not made."""

from __future__ import annotations

import re
from typing import Final

SUPPORTED, CHANCE, CONTRADICTED = "supported", "not better than chance", "contradicted"
NOT, PICTURE = "not supported", "a picture"
_NO: Final = r"(?:not|never|n't|no|nor|neither|hardly|without|cannot)"
# What a test finds, in other words than its own.
_STORY: Final = (
    r"(?:story|claim|explanation|account|reading|evidence|link|effect|influence|difference|footing"
    r"|grounds?|basis|theory|idea|picture|case|connection|finding|result|argument|relationship)"
)
_HELD: Final = (
    r"bears? (?:\w+ ){1,2}out|bore (?:\w+ ){1,2}out|bear(?:s|ing)? out (?:that|the|this|its)"
    r"|clear(?:s|ed)? (?:the|that|its) (?:bar|hurdle|threshold)"
    r"|(?:statistical|empirical|firm|solid|clear|strong|good|real) (?:backing|support|footing"
    r"|standing|substance|grounds|evidence)"
    r"|(?:has|have|had|is|are|was|were)(?: now| since| duly)? (?:been )?(?:established|demonstrated"
    r"|verified|validated|vindicated|substantiated|corroborated|endorsed|justified|shown to"
    r" (?:matter|count|be real))"
    r"|(?:tests?|check|evidence|numbers|figures|statistics|data) (?:\w+ )?(?:establish(?:es|ed)"
    r"|demonstrat(?:es|ed)|verif(?:ies|ied)|validat(?:es|ed)|vindicat(?:es|ed)"
    r"|substantiat(?:es|ed)|corroborat(?:es|ed)|endors(?:es|ed)|justif(?:ies|ied)|agrees?|agreed)"
    rf"|(?:sound|solid|safe|robust|credible|reliable|convincing|trustworthy|well-founded|genuine"
    rf"|verified|proper) {_STORY}"
    r"|mov(?:ed|es) the needle|left (?:its|their|a) mark|had (?:a|some|any) (?:real )?bearing"
    r"|evidence (?:is|was|looks|seems) (?:\w+ )?(?:firm|strong|solid|clear|good|convincing|sound"
    r"|plain)"
    r"|(?:there is|there's|we have|has|have|gives?|offers?) (?:\w+ )?evidence (?:that|for|of)"
    r"|(?:vouch(?:es|ed)?|speaks?|spoke) for (?:it|this|that|them)"
    r"|(?:luck|chance|coincidence) (?:alone )?(?:cannot|can't|could not|does not|doesn't"
    r"|won't) (?:explain|account|manage|do)"
    r"|(?:rules?|ruled|ruling) out (?:luck|chance|coincidence)"
    r"|holds? (?:good|water|true)|held (?:good|water|true)|checks? out|checked out|passes muster"
    r"|(?:withstands?|withstood) (?:\w+ )?(?:test\w*|scrutiny|check\w*)"
    r"|(?:does|did|matters?|mattered|counts?|counted|do) more (?:[\w ]{0,32})?than (?:hiding"
    r"|masking"
    r"|removing|covering)?(?: ?(?:an?|any|the))? ?(?:arbitrary|random\w*|other|equal|similar|chance"
    r"|control)(?: \w+)?"
    r"|(?:outdo(?:es)?|outdid|outperform(?:s|ed)?|beats?|exceeds?|exceeded|surpass(?:es|ed)?"
    r"|outweigh(?:s|ed)?) (?:[\w ]{0,24}\b)?(?:random|arbitrary|control|other) \w+"
    r"|(?:an? )?(?:real|demonstrable|measurable|genuine|clear|definite|proven) (?:effect|influence"
    r"|difference|impact)|exceed(?:s|ed|ing)? (?:what )?(?:chance|luck)|more than (?:a )?(?:fluke"
    r"|accident|noise|luck)"
    r"|(?:is|are|was|were) (?:no|not an?|hardly an?) (?:fluke|accident|coincidence)"
    r"|(?:thumbs|given) (?:the )?(?:green light|thumbs up)"
)
_FELL: Final = (
    r"(?:no|little|scant|insufficient|not enough|precious little|hardly any"
    r"|without) (?:\w+ )?evidence"
    r"|evidence (?:is|was|looks|seems) (?:\w+ )?(?:thin|weak|scant|lacking|missing|wanting|flimsy"
    r"|slim)"
    r"|(?:cannot|can't|could not|does not|doesn't) (?:rule out|exclude) (?:luck|chance|coincidence)"
    r"|(?:would|could|might|will)(?: have)? (?:do|done) (?:just|every bit|exactly"
    r"|quite)? ?(?:as (?:well|much)|the same)"
    r"|(?:is|are|was|were|be|looks?|seems?|perhaps|possibly|merely|just|only) (?:an? )?(?:fluke"
    r"|accident|noise|guesswork)"
    rf"|(?:unsafe|shaky|flimsy|doubtful|dubious|questionable|unreliable|unconvincing|unfounded"
    rf"|baseless|weak|thin) {_STORY}"
    r"|(?:does|do|did|has|had|matters?|mattered|counts?|counted) (?:no|not|nothing|little"
    r"|hardly) (?:do )?"
    r"(?:more|better) (?:[\w ]{0,32})?than"
    r"|inconclusive|unsubstantiated|unverified|unestablished|unconvincing|unfounded"
    r"|no (?:better|different) (?:from|than|to)(?= (?:any|other|an|the|hiding|masking|random|balls"
    r"|those|picking|guess|a))"
    r"|falls? short of (?:the bar|significance|proof|the mark)|fell short of (?:the bar"
    r"|significance"
    r"|proof|the mark)"
    r"|(?:came|comes) (?:back|up) (?:empty|negative|blank|short)|(?:comes|came|amounts?|amounted)"
    r" to nothing|fails? to (?:clear|convince|hold|stand|bear|establish|show|match)"
    r"|failed to (?:clear|convince|hold|stand|bear|establish|show)"
    r"|(?:just )?as (?:much|well) as (?:any|hiding|masking|random|an? (?:random|arbitrary))"
    r"|refut(?:es?|ed)|disprov(?:es?|ed|en)|debunk(?:s|ed)|ruled out by the (?:test|check)"
)
_VERDICTS: Final = (
    (
        CHANCE,
        rf"\b(?:{_NO}|nothing)(?: \w+){{0,3}}? (?:better|more|greater|clearer|further|beyond|above)"
        r"(?: \w+)?(?: than)?(?: \w+)? (?:chance|random|luck)\b|\b(?:could|may|might"
        r"|can) (?:\w+ )?be "
        r"(?:\w+ )?(?:chance|luck|noise)\b|\bwithin (?:chance|noise)\b|\bat chance\b|"
        r"\b(?:in|no )?distinguish\w* from (?:chance|luck|noise|random)\b|"
        r"\b(?:down to|put down to|as good as) (?:chance|luck|noise)\b"
        r"|(?<!more than )(?<!better than )\bchance (?:alone )?(?:does|would|could)\b"
        rf"|\b(?:fail(?:s|ed)?|{_NO}(?: \w+)?) (?:to )?beat (?:chance|luck)"
        r"|\b(?:possibly|mere|just|pure|perhaps|probably|likely)(?: a)? coincidence\b",
    ),
    (
        NOT,
        rf"\b(?:{_NO})(?: \w+){{0,2}}? (?:supported|support|borne out|backed|upheld|confirm\w*"
        rf"|prove[dn]?|"
        r"held up|hold up|holds up|stand up|stood up|survive|pass|bear it out|significant)\b|"
        r"\bunsupported\b|\bunproven\b|\bfail(?:s|ed)?(?: the| its| that)? (?:test|check)\b"
        rf"|\bno proof\b|\b(?:{_FELL})\b",
    ),
    (CONTRADICTED, r"\bcontradict\w*\b|\bthe opposite of what\b"),
    (
        PICTURE,
        r"\b(?:a|only a|just a|no more than a) picture\b|\b(?:was|were|is|are)? ?(?:not|never"
        r"|un)[ -]?tested\b|\b(?:was|were|is|are) (?:never|not) put to (?:the|a|any) test\b"
        r"|\b(?:no|without an?y?) (?:test|check) (?:was|were|has been|is|ran|could be) ?(?:run"
        r"|made|done"
        r"|carried out|possible)?\b|\bfor illustration\b|\billustrati(?:on|ve) only\b"
        r"|\bwent untested\b|\bunchecked\b",
    ),
    (
        SUPPORTED,
        r"\bsupported\b|\bsupports?\b(?! act)|\bborne out\b|\bbacked (?:up|by (?:the )?(?:test"
        r"|evidence))\b|"
        r"\bback(?:s|ed)? (?:that|it|this|them) up\b|\bmore than (?:a )?coincidence\b|"
        r"\bupheld\b|\b(?:holds?|held|stands?|stood) up\b|\bsurvive[sd]?\b|"
        r"\bpass(?:es|ed)(?: the| its)? (?:test|check)\b|\b(?:better|more) than (?:chance|luck"
        r"|random)\b|"
        r"\b(?:beats?|beyond|above) (?:chance|luck)\b|\bconfirm(?:s|ed)?\b|\bprove[sdn]?\b"
        r"|\bproof\b|"
        r"\b(?:statistically )?significant\b|\bclearly matter(?:s|ed)?\b|\breally matter(?:s"
        r"|ed)?\b|"
        r"\bundoubtedly\b|\bwithout (?:a )?doubt\b|\bmade (?:a|any|the) (?:\w+ )?difference\b"
        rf"|\b(?:{_HELD})\b",
    ),
)
DENIED: Final = re.compile(
    rf"\b{_NO}(?: \w+){{0,2}} ?$|\b(?:lacks?|lacking|fails? to|failed to) (?:\w+ ){{0,2}}$"
    rf"|\bwhether(?: \w+){{0,3}} ?$|\b(?:far from|rather than|instead"
    rf" of) ?$",
    re.IGNORECASE,
)
_NONE_OF: Final = re.compile(r"\W*(?:neither|none|nothing|not one|not a single)\b", re.I)
_MATTERED: Final = re.compile(r"difference|needle|mark$|bearing")
_CANNOT: Final = re.compile(rf"\b{_NO} (?:say|tell|claim|conclude|be sure)\b", re.IGNORECASE)
_SUPPOSED: Final = re.compile(
    r"\b(?:ideas?|claims?|suggest\w*|whether|notion|hypothes[ie]s|thought|believ\w+|did|do|does|if"
    r"|evidence)\b",
    re.IGNORECASE,
)
_CALLS: Final = re.compile(
    r"\b(?:such calls?|calls? (?:like|of|at|near|by|on|hold|held|run|ran)"
    r"|where it said|came true|of the time|calibrat\w+)\b",
    re.IGNORECASE,
)


def verdicts_in(text: str) -> list[tuple[str, str]]:
    """Verdicts that a clause gives, each with its words."""
    if _CALLS.search(text):
        return []
    found: list[tuple[int, str, str]] = []
    taken: list[tuple[int, int]] = []
    for verdict, pattern in _VERDICTS:
        for match in re.finditer(pattern, text, re.IGNORECASE):
            if any(match.start() < end and start < match.end() for start, end in taken):
                continue
            taken.append((match.start(), match.end()))
            if re.search(r"\b(?:it|that|this) prove[sd]$", text[: match.end()]):
                continue  # what the ball proved to be
            if re.search(
                r"\b(?:whether|if|would be|only if|unless)(?: \w+){0,3} ?$", text[: match.start()]
            ) or (_MATTERED.search(match.group()) and _SUPPOSED.search(text[: match.start()])):
                continue
            if verdict == SUPPORTED and (
                DENIED.search(text[: match.start()])
                or _NONE_OF.match(text)
                or (_MATTERED.search(match.group()) and _CANNOT.search(text[: match.start()]))
            ):
                found.append((match.start(), NOT, match.group()))
                continue
            found.append((match.start(), verdict, match.group()))
    return [(verdict, words) for _, verdict, words in sorted(found)]
