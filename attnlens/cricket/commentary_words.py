"""What a commentator says: the phrases of `attnlens.cricket.commentary`.

In a phrase ``{fielder}``, ``{other}`` (the batter at the other end), ``{striker}``, ``{bowler}``,
``{place}`` and ``{out}`` (whoever is run out) are filled in. A key is the token that a scorer
writes down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Shot:
    """A way to hit a ball.

    Attributes:
        verbs: what the striker does with it: "cuts it".
        done: what is done to it: "cut".
        nouns: what it is called: "the cut".
        lengths: deliveries that it is played to.
        places: where it goes.
        aerial: whether a fielder may catch it.
    """

    verbs: tuple[str, ...]
    done: tuple[str, ...]
    nouns: tuple[str, ...]
    lengths: tuple[str, ...]
    places: tuple[str, ...]
    aerial: bool = True


_SHORT_WIDE = ("short and wide", "a little short outside off", "width on offer", "back of a length")
_SHORT = ("short", "banged in halfway", "a bouncer", "back of a length and into the ribs")
_FULL = ("full", "pitched right up", "overpitched", "full outside off", "floated up on off stump")
_PADS = ("on the pads", "straying on to leg stump", "angling in", "full and at the pads")
_SLOW = ("tossed up", "flighted", "a slower one", "looped up on leg stump", "turning in")
_GOOD = ("a good length", "on off stump", "tight line", "hitting the deck", "nipping away")

SHOTS: Final = {
    "drive": Shot(
        ("drives it", "leans into a drive", "drives handsomely", "strokes it"),
        ("driven", "stroked"),
        ("the drive", "a drive on the up"),
        _FULL,
        ("cover", "extra-cover", "mid-off", "mid-on", "straight"),
    ),
    "cut": Shot(
        ("cuts it", "slashes it", "rocks back and cuts", "throws the hands and cuts"),
        ("cut", "slashed"),
        ("the cut", "a late cut"),
        _SHORT_WIDE,
        ("point", "third", "cover"),
    ),
    "pull": Shot(
        ("pulls it", "hooks it", "swivels and pulls", "is on to the pull early"),
        ("pulled", "hooked"),
        ("the pull", "the hook"),
        _SHORT,
        ("mid-wicket", "square-leg", "fine-leg"),
    ),
    "flick": Shot(
        ("flicks it", "works it away", "clips it", "whips it off the toes"),
        ("flicked", "clipped", "worked away"),
        ("the flick", "a whip off the hip"),
        _PADS,
        ("mid-wicket", "square-leg", "fine-leg", "mid-on"),
    ),
    "sweep": Shot(
        ("sweeps it", "goes down and sweeps", "paddles it"),
        ("swept", "paddled"),
        ("the sweep", "a hard sweep"),
        _SLOW,
        ("square-leg", "fine-leg", "mid-wicket"),
    ),
    "loft": Shot(
        ("lofts it", "goes aerial", "lifts it", "comes down and launches it"),
        ("lofted", "lifted", "launched"),
        ("the lofted hit", "the big hit"),
        (*_FULL, *_SLOW),
        ("long-on", "long-off", "straight", "extra-cover"),
    ),
    "slog": Shot(
        ("slogs it", "heaves it", "mows it across the line"),
        ("slogged", "heaved"),
        ("the slog", "a heave"),
        (*_SLOW, *_GOOD),
        ("mid-wicket", "long-on", "square-leg"),
    ),
    "push": Shot(
        ("pushes it", "nudges it", "dabs it", "plays it softly"),
        ("pushed", "nudged", "dabbed"),
        ("the push", "a soft dab"),
        (*_GOOD, *_FULL),
        ("cover", "mid-off", "mid-on", "mid-wicket", "point"),
        aerial=False,
    ),
    "edge": Shot(
        ("edges it", "gets a thick edge", "nicks it"),
        ("edged", "off the edge"),
        ("the edge", "a thick outside edge"),
        (*_GOOD, *_SHORT_WIDE),
        ("third", "fine-leg", "point"),
    ),
    "reverse": Shot(
        ("reverses it", "switches and reverses", "plays the reverse sweep"),
        ("reverse-swept", "reversed"),
        ("the reverse sweep", "the switch hit"),
        _SLOW,
        ("point", "third"),
    ),
    "defend": Shot(
        ("defends it", "blocks it", "is solid behind it"),
        ("blocked", "defended"),
        ("the block", "a straight bat"),
        _GOOD,
        ("cover", "point", "mid-on", "mid-off"),
        aerial=False,
    ),
}

PLACES: Final = {
    "cover": ("cover", "the covers", "short cover"),
    "extra-cover": ("extra cover", "extra-cover"),
    "point": ("point", "backward point"),
    "third": ("third man", "deep third", "third"),
    "mid-off": ("mid-off", "the man at mid-off"),
    "mid-on": ("mid-on", "the man at mid-on"),
    "mid-wicket": ("mid-wicket", "midwicket", "deep mid-wicket", "cow corner"),
    "square-leg": ("square leg", "backward square leg", "square-leg"),
    "fine-leg": ("fine leg", "long leg", "fine-leg"),
    "long-on": ("long-on", "long on"),
    "long-off": ("long-off", "long off"),
    "straight": ("the bowler", "the non-striker", "the umpire"),
}
"""What a place is called, by its token."""

PAST: Final = ("past {place}", "through {place}", "beyond {place}", "wide of {place}")
TOWARDS: Final = ("to {place}", "towards {place}", "into the gap at {place}", "out to {place}")
OVER: Final = ("over {place}", "high over {place}")
STRAIGHT: Final = {
    "past {place}": ("straight past {place}", "straight back past {place}"),
    "to {place}": ("straight down the ground",),
    "over {place}": ("straight over {place}", "straight back over {place}"),
}

RUNS: Final = {
    "0": (
        "no run",
        "straight to {fielder} , no run",
        "{fielder} stops it , no single in that",
        "they think about one , but no",
        "{other} is sent back , no run",
        "dot ball",
        "{fielder} is there already , no run",
        "four all the way , but {fielder} dives and saves the lot , no run",
        "no chance of a run there",
    ),
    "1": (
        "for one",
        "for a single",
        "they take the single",
        "they think of two but settle for one",
        "only one where three looked likely",
        "just a single , {fielder} is quick to it",
        "one , not the four they wanted",
        "and {other} gets across for one",
        "no second , {fielder} has the arm , just the one",
    ),
    "2": (
        "for two",
        "they come back for the second",
        "a couple of runs",
        "two , and they turn down a third",
        "looked like four , {fielder} hauls it in , two",
        "one became two there when {fielder} fumbled",
        "not four , only a pair , well stopped by {fielder}",
    ),
    "3": (
        "for three",
        "they run three",
        "{fielder} pulls it back just inside the rope , three",
        "three , with {fielder} saving the boundary",
        "they wanted four and had to run three",
    ),
    "4": (
        "for four",
        "away to the rope",
        "{fielder} gives chase in vain , four",
        "one bounce and over the rope",
        "is that six ? no , it lands just inside , four",
        "no need to run for those , boundary",
        "they ran two before it crossed the rope , so four",
        "four all along the ground",
    ),
    "5": (
        "one , and the overthrow goes for four more , five in all",
        "{fielder} throws it past the stumps , five with the overthrows",
    ),
    "6": (
        "for six",
        "into the crowd",
        "all the way , six",
        "is it four ? no , it carries , six",
        "over the rope on the full",
        "{fielder} can only watch , that is the maximum",
        "that was never going to be four , that is six",
    ),
}
"""How many runs, by how many."""

DROPPED: Final = {
    "0": (
        "in the air , dropped ! {fielder} had it and lost it , no run",
        "a chance to {fielder} , and it goes down , they do not run",
    ),
    "1": (
        "in the air , dropped ! {fielder} puts it down and they take one",
        "{fielder} gets both hands to it and spills it , a single",
    ),
    "2": ("in the air , dropped by {fielder} on the run , and they get two",),
}
"""A catch that was not held, by the runs taken."""

NOTHING: Final = {
    "beaten": (
        "beats the outside edge",
        "{striker} plays and misses",
        "past everything , {fielder} collects",
        "nearly bowled , it just missed off stump",
        "{striker} goes for {noun} and connects with nothing",
        "an appeal for caught behind , not out , there was daylight",
    ),
    "pads": (
        "on the pad , a huge appeal for leg before , not out",
        "struck on the pads , they go up , the umpire is not moved",
        "off the pad and no leg bye taken",
    ),
    "left": (
        "{striker} lets it go",
        "left alone",
        "close to the wide line , but {striker} leaves it and the umpire says nothing",
    ),
}
"""No run and no stroke that counts, by the scorer's word."""

CAUGHT: Final = (
    "and {fielder} takes the catch , out",
    "gone , caught by {fielder}",
    "straight down the throat of {fielder} , out",
    "in the air , {fielder} under it , and this time it is held",
    "it looked to be going for six , but {fielder} hangs on , out",
)
BEHIND: Final = (
    "a thin nick and {fielder} takes it behind , out",
    "through to {fielder} behind the stumps , caught , that was bat",
)
RETURN_CATCH: Final = (
    "straight back to the bowler , who holds on , caught and bowled",
    "a return catch , {bowler} clings on , out",
)
BOWLED: Final = (
    "bowled through the gate",
    "clean bowled , middle stump is back",
    "beaten , and this one does hit off stump , bowled",
    "{striker} goes for {noun} and drags it on , bowled",
)
LBW: Final = (
    "trapped in front , leg before , and up goes the finger",
    "on the pad , a huge appeal , given out leg before",
    "no bat in it , plumb , lbw",
)
STUMPED: Final = (
    "down the track and beaten , {fielder} whips off the bails , stumped",
    "{fielder} does the rest behind the wicket , stumped",
)
HIT_WICKET: Final = (
    "{striker} treads on the stumps , hit wicket",
    "hit wicket , the bails are off",
)
RUN_OUT: Final = {
    "0": (
        "a mix-up , no run , and {out} is run out by {fielder}",
        "{fielder} hits the stumps before a run is made , {out} run out",
    ),
    "1": (
        "one taken , no way back for the second , {out} is run out",
        "{fielder} to the keeper , they got one , and {out} is run out going for two",
    ),
    "2": ("they have two , want a third , and {out} is run out by {fielder}",),
}
"""By the runs that counted."""

WIDES: Final = {
    "1": (
        "down the leg side , wide",
        "too far outside off , wide called",
        "no stroke , no contact , wide",
    ),
    "2": ("wide , and they pinch another , two in all",),
    "3": ("wide , and they run two more , three in all",),
    "5": (
        "wide , and it beats {fielder} to the rope , five",
        "wide down leg , four more with it , five wides",
    ),
}
NO_BALL: Final = (
    "the foot is over , no-ball",
    "no-ball called",
    "above the waist , no-ball",
)
BYES: Final = {
    "1": ("past bat and keeper , one bye", "nobody touched it , {fielder} fumbles , a bye"),
    "2": ("past bat and keeper , two byes",),
    "3": ("past everyone , they run three byes",),
    "4": ("past bat and keeper , four byes , away to the rope",),
}
LEG_BYES: Final = {
    "1": (
        "off the pads , that will be one leg bye",
        "no bat on it , off the thigh , a leg bye",
    ),
    "2": ("off the pads , two leg byes",),
    "3": ("off the pads , they run three , leg byes",),
    "4": ("off the pads and away to the rope , four leg byes",),
}

MILESTONES: Final = {
    "fifty": ("and that is fifty for {striker}", "{striker} raises the bat , a half-century"),
    "hundred": ("and that is a hundred for {striker}", "{striker} has a century"),
}

STRAYS: Final = (
    "off the inside edge when {noun} was the plan",
    "having shaped for {noun}",
    "though {noun} was on his mind",
)
"""The stroke that was not played."""

CLOSINGS: Final = (
    "good running by {other}",
    "the crowd likes it",
    "{fielder} looks rueful",
    "{bowler} is not amused",
    "the dressing room is on its feet",
    "that eases the pressure",
    "the pressure grows",
    "{other} has a word with {striker}",
    "a word from the captain to {bowler}",
    "the field is spread now",
)
