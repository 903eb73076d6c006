"""Ways to make a match of Cricsheet JSON wrong, for `test_doubts.py`.

Nobody can have played such a match, unless the change returns ``False``; the rules of the readers
have no part in that.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Document = dict[str, Any]


class NoWay(Exception):
    """There is no place for a change."""


def need(holds: bool) -> None:
    if not holds:
        raise NoWay


@dataclass
class Play:
    """A match to be made wrong, with dice."""

    match: Document
    dice: random.Random

    @property
    def six(self) -> bool:
        """Whether an over has six balls, so that ends change after each."""
        return bool(self.match["info"].get("balls_per_over", 6) == 6)

    def innings(self) -> Document:
        return self.dice.choice(self.match["innings"][:2])

    def over(self) -> tuple[Document, int]:
        """An innings and the place in it of an over that is not the last."""
        innings = self.innings()
        need(len(innings["overs"]) > 2)
        return innings, self.dice.randrange(len(innings["overs"]) - 1)

    def ball(self, fits: Callable[[Document], bool]) -> Place:
        """A ball with another before and after it in its over."""
        return self.one_of([place for place in self.balls() if place.inside and fits(place.ball)])

    def quiet_ball(self) -> Place:
        """A ball on which nothing happens, nor on the one before and the one after."""
        return self.one_of([place for place in self.balls() if place.inside and place.quiet])

    def one_of(self, places: Sequence[Place]) -> Place:
        need(bool(places))
        return self.dice.choice(places)

    def balls(self) -> Iterator[Place]:
        for innings in self.match["innings"][:2]:
            for number, over in enumerate(innings["overs"]):
                for at in range(len(over["deliveries"])):
                    yield Place(innings, number, at)

    def another(self, place: Place, *, batting: bool) -> str:
        """Somebody of one of the two sides who has nothing to do with a ball."""
        squads = self.match["info"]["players"].items()
        names = next(names for team, names in squads if (team == place.team) == batting)
        busy = {*pair(place.ball), place.ball["bowler"]}
        return str(self.dice.choice([name for name in names if name not in busy]))

    def fallen(self) -> Place:
        """A ball with one wicket that counts, and another ball after it."""
        return self.one_of([
            place
            for place in self.balls()
            if len(place.ball.get("wickets", ())) == 1
            and not place.ball["wickets"][0]["kind"].startswith("retired")
            and place.ball["wickets"][0]["player_out"] in pair(place.ball)
            and (not place.in_last_over or place.at < len(place.deliveries) - 1)
        ])  # fmt: skip

    def caught(self) -> Place:
        place = self.fallen()
        need(place.wicket["kind"] == "caught")
        return place

    def bowling(self, place: Place) -> str:
        teams = self.match["info"]["teams"]
        return str(next(team for team in teams if team != place.team))

    def states_total(self, innings: Document) -> bool:
        """Whether the file says elsewhere what this innings made."""
        first, second = self.match["innings"][:2]
        return self.by_runs or (innings is first and "target" in second)

    @property
    def by_runs(self) -> bool:
        return "runs" in self.match["info"]["outcome"]["by"]


@dataclass
class Place:
    """Where a ball stands."""

    innings: Document
    over: int
    at: int

    @property
    def deliveries(self) -> list[Document]:
        deliveries: list[Document] = self.innings["overs"][self.over]["deliveries"]
        return deliveries

    @property
    def ball(self) -> Document:
        return self.deliveries[self.at]

    @property
    def wicket(self) -> Document:
        wicket: Document = self.ball["wickets"][0]
        return wicket

    @property
    def team(self) -> str:
        """The side that bats."""
        return str(self.innings["team"])

    @property
    def inside(self) -> bool:
        return 0 < self.at < len(self.deliveries) - 1

    @property
    def quiet(self) -> bool:
        """Whether nothing happens on it, nor on the ball before and the ball after."""
        return all(map(plain, self.deliveries[self.at - 1 : self.at + 2]))

    @property
    def in_last_over(self) -> bool:
        return self.over == len(self.innings["overs"]) - 1


Choice = Callable[[Play], Place]
Alteration = Callable[[Play, Place], Any]


def plain(ball: Document) -> bool:
    return not {"extras", "wickets", "replacements"} & set(ball)


def scored(*balls: Document) -> int:
    return sum(int(ball["runs"]["total"]) for ball in balls)


def add_runs(ball: Document, more: int) -> None:
    ball["runs"]["batter"] += more
    ball["runs"]["total"] += more


def pair(ball: Document) -> set[str]:
    return {ball["batter"], ball["non_striker"]}


def extras_only(name: str) -> Callable[[Document], bool]:
    return lambda ball: set(ball.get("extras", ())) == {name}


def is_wide_alone(ball: Document) -> bool:
    return "wides" in ball.get("extras", ()) and "wickets" not in ball


def bowled(ball: Document) -> list[Document]:
    return [{"kind": "bowled", "player_out": ball["batter"]}]


def renumbered(innings: Document) -> None:
    for number, over in enumerate(innings["overs"]):
        over["over"] = number


def follows(before: Document, ball: Document) -> bool:
    """Whether the runs of the ball before bring this one's batter to face it."""
    return bool(
        ball["batter"] == before["non_striker" if before["runs"]["batter"] % 2 else "batter"]
    )


class Changes(Play):
    """Each public method makes the match wrong in the way that its name says, or raises `NoWay`.

    It returns ``False`` where somebody might have played the match.
    """

    def _cut_out(self) -> tuple[Document, bool]:
        """An innings that lost an over, and whether the file still shows its runs."""
        innings, at = self.over()
        gone = innings["overs"].pop(at)
        return innings, bool(scored(*gone["deliveries"]) and self.states_total(innings))

    def an_over_is_cut_out(self) -> None:
        self._cut_out()

    def an_over_is_cut_out_and_the_rest_renumbered(self) -> bool:
        innings, missed = self._cut_out()
        renumbered(innings)
        return missed

    def the_last_over_is_cut_off(self) -> bool:
        innings = self.innings()
        need(len(innings["overs"]) >= 2)
        gone = innings["overs"].pop()
        won = innings is self.match["innings"][1] and not self.by_runs
        return bool(scored(*gone["deliveries"]) and (self.states_total(innings) or won))

    def an_over_is_there_twice(self) -> bool:
        innings, at = self.over()
        over = innings["overs"][at]
        innings["overs"].insert(at, json.loads(json.dumps(over)))
        renumbered(innings)
        return self.six or bool(scored(*over["deliveries"]) and self.states_total(innings))

    def two_overs_stand_the_other_way_round(self) -> None:
        innings, at = self.over()
        innings["overs"][at : at + 2] = innings["overs"][at : at + 2][::-1]

    def overs_are_numbered_from_one(self) -> None:
        for over in self.innings()["overs"]:
            over["over"] += 1

    def an_over_too_many(self) -> None:
        innings = self.innings()
        need(len(innings["overs"]) >= 20)
        innings["overs"].append({**innings["overs"][17], "over": 20})

    def a_legal_ball_is_cut_out(self) -> None:
        place = self.ball(plain)
        need(not place.in_last_over)
        del place.deliveries[place.at]

    def a_ball_with_runs_in_extras_is_cut_out(self) -> bool:
        place = self.ball(lambda ball: "extras" in ball and "wickets" not in ball)
        del place.deliveries[place.at]
        return self.states_total(place.innings)

    def a_ball_is_there_twice(self) -> None:
        place = self.ball(plain)
        need(not place.in_last_over)
        place.deliveries.insert(place.at, place.ball)

    def runs_off_the_bat_are_changed(self) -> bool:
        place = self.ball(plain)
        more = self.dice.randint(1, 4)
        add_runs(place.ball, -min(more, scored(place.ball)) or more)
        return self.states_total(place.innings)

    def the_target_is_reached_before(self) -> bool:
        need(not self.by_runs)
        *overs, last = self.match["innings"][1]["overs"]
        balls = [ball for over in overs for ball in over["deliveries"] if plain(ball)]
        need(len(balls) > 1 and len(overs) > 1)
        for ball in self.dice.sample(balls, 2):
            add_runs(ball, 4)
        return scored(*last["deliveries"][-1:]) < 8

    def another_bowls_in_the_middle_of_an_over(self) -> None:
        place = self.ball(plain)
        need(len({ball["bowler"] for ball in place.deliveries}) == 1)
        place.ball["bowler"] = self.another(place, batting=False)

    def a_bowler_goes_on(self) -> None:
        need(self.six)
        innings, at = self.over()
        bowler = innings["overs"][at]["deliveries"][-1]["bowler"]
        for ball in innings["overs"][at + 1]["deliveries"]:
            ball["bowler"] = bowler

    def a_bowler_bowls_every_other_over(self) -> None:
        overs = self.innings()["overs"]
        need(len(overs) >= 16)
        bowler = overs[0]["deliveries"][0]["bowler"]
        for over in overs[::2]:
            for ball in over["deliveries"]:
                ball["bowler"] = bowler

    def the_batters_are_exchanged_on_a_ball(self) -> bool:
        place = self.quiet_ball()
        before, ball, after = place.deliveries[place.at - 1 : place.at + 2]
        # Beside a short run it would only move that.
        sure = follows(before, ball) and follows(ball, after)
        ball["batter"], ball["non_striker"] = ball["non_striker"], ball["batter"]
        return sure

    def an_innings_is_there_twice(self) -> None:
        self.match["innings"].append(self.innings())

    def both_innings_are_one(self) -> None:
        first, second = self.match["innings"][:2]
        second["overs"] = first["overs"]

    def one_side_bats_twice(self) -> None:
        first, second = self.match["innings"][:2]
        second["team"] = first["team"]

    def the_sides_are_exchanged(self) -> None:
        first, second = self.match["innings"][:2]
        first["team"], second["team"] = second["team"], first["team"]

    def somebody_is_out_twice(self) -> None:
        chosen = self.innings()
        places = [place for place in self.balls() if place.innings is chosen]
        single = [place.ball["wickets"][0] for place in places
                  if len(place.ball.get("wickets", ())) == 1]  # fmt: skip
        wickets = [wicket for wicket in single if not wicket["kind"].startswith("retired")]
        need(len(wickets) > 1)
        at = self.dice.randrange(1, len(wickets))
        wickets[at]["player_out"] = wickets[at - 1]["player_out"]

    def one_of_the_eleven_catches_as_a_substitute(self) -> None:
        place = self.caught()
        squads = self.match["info"]["players"].items()
        [fielding] = [names for team, names in squads if team != place.team]
        need(len(fielding) == 11)
        fielder = {"name": self.another(place, batting=False), "substitute": True}
        place.wicket["fielders"] = [fielder]

    def the_ball_is_handled_after_2017(self) -> None:
        need(self.match["info"]["dates"][0] >= "2017-10-01")
        self.caught().wicket.update(kind="handled the ball", fielders=[])

    def a_wicket_falls_on_a_free_hit(self) -> None:
        place = self.ball(plain)
        no_ball = place.deliveries[place.at - 1]
        need(plain(no_ball))
        no_ball |= {"extras": {"noballs": 1}}
        no_ball["runs"] |= {"extras": 1, "total": no_ball["runs"]["total"] + 1}
        place.ball["wickets"] = bowled(place.ball)


def a_ball(fits: Callable[[Document], bool]) -> Choice:
    return lambda play: play.ball(fits)


def replaced(kind: str, **change: str) -> Alteration:
    """Somebody of the batting side comes in for the batter."""
    return lambda play, at: at.ball.update(replacements={kind: [{
        "in": play.another(at, batting=True), "out": at.ball["batter"], "team": at.team,
        "reason": "unknown", **change,
    }]})  # fmt: skip


PLAIN, QUIET, FALLEN, CAUGHT = a_ball(plain), Play.quiet_ball, Play.fallen, Play.caught

BALL_CHANGES: dict[str, tuple[Choice, Alteration, str]] = {
    "more_runs_than_can_be": (
        PLAIN, lambda play, at: add_runs(at.ball, play.dice.randint(8, 60)), "runs off the bat"),
    "byes_off_a_hit": (
        a_ball(extras_only("legbyes")), lambda _, at: add_runs(at.ball, 1),
        "byes are combined with other runs"),
    "a_wide_is_hit": (
        a_ball(is_wide_alone), lambda _, at: add_runs(at.ball, 4),
        "a wide has runs other than wides"),
    "three_penalty_runs": (PLAIN, lambda _, at: at.ball.update(
        extras={"penalty": 3}, runs={"batter": 0, "extras": 3, "total": 3}), "3 penalty runs"),
    "a_single_to_the_rope_all_run": (
        a_ball(lambda ball: plain(ball) and ball["runs"]["batter"] == 1),
        lambda _, at: at.ball["runs"].update(non_boundary=True),
        "non_boundary is set for 1 run"),
    "extras_do_not_add_up": (a_ball(lambda ball: "extras" in ball), lambda _, at: at.ball[
        "extras"].update(dict.fromkeys(at.ball["extras"], 9)), ""),
    "a_wide_becomes_a_bye": (
        lambda play: play.one_of([at for at in play.balls() if at.inside and not at.in_last_over
                                  and extras_only("wides")(at.ball) and "wickets" not in at.ball]),
        lambda _, at: at.ball.update(extras={"byes": at.ball["extras"]["wides"]}), ""),
    "one_batter_at_both_ends": (
        PLAIN, lambda _, at: at.ball.update(non_striker=at.ball["batter"]), "is at both ends"),
    "a_fielder_bats": (
        QUIET, lambda play, at: at.ball.update(batter=play.another(at, batting=False)), ""),
    "somebody_from_the_pavilion_bats": (
        QUIET, lambda play, at: at.ball.update(batter=play.another(at, batting=True)), ""),
    "the_batter_bowls": (PLAIN, lambda play, at: at.ball.update(
        bowler=play.dice.choice(sorted(pair(at.ball)))), "bats and bowls on one ball"),
    "a_batter_of_the_side_bowls": (
        PLAIN, lambda play, at: at.ball.update(bowler=play.another(at, batting=True)), ""),
    "somebody_unknown_bowls": (PLAIN, lambda _, at: at.ball.update(bowler="Nobody Known"), ""),
    "a_wicket_is_added": (PLAIN, lambda _, at: at.ball.update(wickets=bowled(at.ball)), ""),
    "somebody_is_bowled_off_a_wide": (
        a_ball(is_wide_alone), lambda _, at: at.ball.update(wickets=bowled(at.ball)),
        "is out bowled off a wide"),
    "somebody_retires_hurt_and_stays": (QUIET, lambda _, at: at.ball.update(wickets=[
        {"kind": "retired hurt", "player_out": at.ball["non_striker"]}]), ""),
    "a_wicket_is_taken_away": (FALLEN, lambda _, at: at.ball.pop("wickets"), ""),
    "the_other_batter_is_out": (FALLEN, lambda _, at: at.wicket.update(
        player_out=next(iter(pair(at.ball) - {at.wicket["player_out"]}))),
        "did not face the ball"),
    "a_stranger_takes_a_catch": (
        CAUGHT, lambda _, at: at.wicket.update(fielders=[{"name": "Nobody Known"}]),
        "Nobody Known fields, but is in neither squad"),
    "the_batting_side_takes_a_catch": (
        CAUGHT, lambda play, at: at.wicket.update(
            fielders=[{"name": play.another(at, batting=True)}]), "fields for the other side"),
    "nobody_takes_a_catch": (
        CAUGHT, lambda _, at: at.wicket.update(fielders=[]), "but the file lists no fielder"),
    "the_bowler_stumps": (CAUGHT, lambda _, at: at.wicket.update(
        kind="stumped", fielders=[{"name": at.ball["bowler"]}]),
        "is named as the fielder for a batter out stumped"),
    "another_takes_the_bowlers_own_catch": (
        CAUGHT, lambda _, at: at.wicket.update(kind="caught and bowled"),
        "takes the catch of a batter who is out caught and bowled"),
    "somebody_is_vaporised": (
        CAUGHT, lambda _, at: at.wicket.update(kind="vaporised"), "which is not a way to be out"),
    "somebody_who_bats_is_timed_out": (
        CAUGHT, lambda _, at: at.wicket.update(kind="timed out", fielders=[]),
        "is timed out, but bats"),
    "runs_are_scored_off_a_catch": (
        CAUGHT, lambda _, at: add_runs(at.ball, 1), "is out caught, but runs are scored"),
    "both_batters_are_out": (CAUGHT, lambda _, at: at.ball["wickets"].append(
        {"kind": "run out", "player_out": at.ball["non_striker"]}),
        "two batters are out on one ball"),
    "somebody_from_the_pavilion_is_run_out": (CAUGHT, lambda play, at: at.wicket.update(
        kind="run out", player_out=play.another(at, batting=True)),
        "is out, but was not at the crease"),
    "the_bowler_takes_two_wickets_on_a_ball": (
        CAUGHT, lambda _, at: at.ball["wickets"].extend(bowled(at.ball)),
        "the bowler takes 2 wickets with one ball"),
    "a_ball_is_numbered_otherwise": (
        QUIET, lambda _, at: at.ball.update(actual_delivery="7.9"), "has actual_delivery 7.9"),
    "a_review_of_another_match": (QUIET, lambda _, at: at.ball.update(review={
        "by": "Atlantis", "batter": at.ball["batter"], "decision": "struck down"}),
        "the review was requested by Atlantis"),
    "a_review_that_changes_nothing": (QUIET, lambda play, at: at.ball.update(review={
        "by": play.bowling(at), "batter": at.ball["batter"], "decision": "upheld"}),
        "was upheld, but no wicket fell"),
    "a_review_of_the_bowler": (QUIET, lambda _, at: at.ball.update(review={
        "by": at.team, "batter": at.ball["bowler"], "decision": "upheld"}),
        "who is not at the crease"),
    "a_review_that_decides_nothing": (QUIET, lambda _, at: at.ball.update(
        review={"by": at.team, "decision": "perhaps"}), "the decision of the review is perhaps"),
    "a_review_that_is_a_list": (QUIET, lambda _, at: at.ball.update(review=["upheld"]),
        "a required field of the review is missing or is not text"),
    "who_was_replaced_plays_on": (QUIET, replaced("match"), "was replaced, but continues to play"),
    "a_stranger_comes_in": (QUIET, replaced("match", **{"in": "Nobody Known"}),
        "Nobody Known takes part in a replacement"),
    "somebody_comes_in_for_another_team": (
        QUIET, replaced("match", team="Atlantis"), "replaces a player of Atlantis"),
    "somebody_comes_in_to_bowl_and_does_not": (
        QUIET, replaced("role", role="bowler"), "is not the bowler on this ball"),
    "somebody_comes_in_for_himself": (QUIET, lambda play, at: replaced(
        "match", **dict.fromkeys(("in", "out"), play.another(at, batting=True)))(play, at),
        "replaces himself"),
}  # fmt: skip
"""By name: how a ball is chosen, what is changed on it, and what the doubt about it says."""

PROBLEMS = {name: problem for name, (_, _, problem) in BALL_CHANGES.items() if problem} | {
    "a_wicket_falls_on_a_free_hit": "is out bowled on a free hit",
}


KINDS = (*(name for name in vars(Changes) if not name.startswith("_")), *BALL_CHANGES)


def mutant(sound: str, kind: str, dice: random.Random) -> tuple[str, bool] | None:
    """Return a wrong match's text, and whether it is impossible; ``None`` where nothing fits."""
    changes = Changes(json.loads(sound), dice)
    impossible = True
    try:
        if kind in BALL_CHANGES:
            choose, change, _ = BALL_CHANGES[kind]
            change(changes, choose(changes))
        else:
            impossible = getattr(changes, kind)() is not False
    except NoWay:
        return None
    return json.dumps(changes.match, ensure_ascii=False), impossible
