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
        names = next(names for team, names in squads if (team == place.innings["team"]) == batting)
        busy = {*pair(place.ball), place.ball["bowler"]}
        return self.dice.choice([name for name in names if name not in busy])

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
    def inside(self) -> bool:
        return 0 < self.at < len(self.deliveries) - 1

    @property
    def quiet(self) -> bool:
        """Whether nothing happens on it, nor on the ball before and the ball after."""
        return all(map(plain, self.deliveries[self.at - 1 : self.at + 2]))

    @property
    def in_last_over(self) -> bool:
        return self.over == len(self.innings["overs"]) - 1


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

    def _fallen(self) -> Place:
        """A ball with one wicket that counts, and another ball after it."""
        return self.one_of([
            place
            for place in self.balls()
            if len(place.ball.get("wickets", ())) == 1
            and not place.ball["wickets"][0]["kind"].startswith("retired")
            and place.ball["wickets"][0]["player_out"] in pair(place.ball)
            and (not place.in_last_over or place.at < len(place.deliveries) - 1)
        ])  # fmt: skip

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

    def a_wide_becomes_a_bye(self) -> None:
        place = self.ball(extras_only("wides"))
        need(not ("wickets" in place.ball or place.in_last_over))
        place.ball["extras"] = {"byes": place.ball["extras"]["wides"]}

    def extras_do_not_add_up(self) -> None:
        extras = self.ball(lambda ball: "extras" in ball).ball["extras"]
        extras[next(iter(extras))] += 1

    def a_fielder_bats(self) -> None:
        place = self.quiet_ball()
        place.ball["batter"] = self.another(place, batting=False)

    def somebody_from_the_pavilion_bats(self) -> None:
        place = self.quiet_ball()
        place.ball["batter"] = self.another(place, batting=True)

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

    def a_wicket_is_taken_away(self) -> None:
        del self._fallen().ball["wickets"]

    def the_other_batter_is_out(self) -> None:
        place = self._fallen()
        wicket = place.ball["wickets"][0]
        wicket["player_out"] = next(iter(pair(place.ball) - {wicket["player_out"]}))

    def somebody_is_out_twice(self) -> None:
        chosen = self.innings()
        places = [place for place in self.balls() if place.innings is chosen]
        single = [place.ball["wickets"][0] for place in places
                  if len(place.ball.get("wickets", ())) == 1]  # fmt: skip
        wickets = [wicket for wicket in single if not wicket["kind"].startswith("retired")]
        need(len(wickets) > 1)
        at = self.dice.randrange(1, len(wickets))
        wickets[at]["player_out"] = wickets[at - 1]["player_out"]

    def _caught(self) -> tuple[Place, Document]:
        place = self._fallen()
        wicket = place.ball["wickets"][0]
        need(wicket["kind"] == "caught")
        return place, wicket

    def a_stranger_takes_a_catch(self) -> None:
        self._caught()[1]["fielders"] = [{"name": "Nobody Known"}]

    def the_batting_side_takes_a_catch(self) -> None:
        place, wicket = self._caught()
        wicket["fielders"] = [{"name": self.another(place, batting=True)}]

    def nobody_takes_a_catch(self) -> None:
        self._caught()[1]["fielders"] = []

    def one_of_the_eleven_catches_as_a_substitute(self) -> None:
        place, wicket = self._caught()
        squads = self.match["info"]["players"].items()
        [fielding] = [names for team, names in squads if team != place.innings["team"]]
        need(len(fielding) == 11)
        wicket["fielders"] = [
            {"name": self.another(place, batting=False), "substitute": True},
        ]

    def somebody_retires_hurt_and_stays(self) -> None:
        places = [place for place in self.balls() if place.quiet and place.inside]
        place = self.dice.choice(places)
        place.ball["wickets"] = [
            {"kind": "retired hurt", "player_out": place.ball["non_striker"]},
        ]

    def the_ball_is_handled_after_2017(self) -> None:
        need(self.match["info"]["dates"][0] >= "2017-10-01")
        self._caught()[1].update(kind="handled the ball", fielders=[])

    def the_bowler_stumps(self) -> None:
        place, wicket = self._caught()
        wicket |= {"kind": "stumped", "fielders": [{"name": place.ball["bowler"]}]}

    def another_takes_the_bowlers_own_catch(self) -> None:
        self._caught()[1]["kind"] = "caught and bowled"

    def somebody_is_vaporised(self) -> None:
        self._caught()[1]["kind"] = "vaporised"

    def somebody_who_bats_is_timed_out(self) -> None:
        self._caught()[1].update(kind="timed out", fielders=[])

    def runs_are_scored_off_a_catch(self) -> None:
        add_runs(self._caught()[0].ball, 1)

    def both_batters_are_out(self) -> None:
        ball = self._caught()[0].ball
        ball["wickets"].append({"kind": "run out", "player_out": ball["non_striker"]})

    def a_wicket_falls_on_a_free_hit(self) -> None:
        place = self.ball(plain)
        no_ball = place.deliveries[place.at - 1]
        need(plain(no_ball))
        no_ball |= {"extras": {"noballs": 1}}
        no_ball["runs"] |= {"extras": 1, "total": no_ball["runs"]["total"] + 1}
        place.ball["wickets"] = bowled(place.ball)

    def a_ball_is_numbered_otherwise(self) -> None:
        self.quiet_ball().ball["actual_delivery"] = "7.9"

    def a_review_of_another_match(self) -> None:
        ball = self.quiet_ball().ball
        ball["review"] = {"by": "Atlantis", "batter": ball["batter"], "decision": "struck down"}

    def a_review_that_changes_nothing(self) -> None:
        place = self.quiet_ball()
        review = {"by": self._bowling(place), "batter": place.ball["batter"], "decision": "upheld"}
        place.ball["review"] = review

    def a_review_of_the_bowler(self) -> None:
        place = self.quiet_ball()
        ball, by = place.ball, place.innings["team"]
        ball["review"] = {"by": by, "batter": ball["bowler"], "decision": "upheld"}

    def a_review_that_decides_nothing(self) -> None:
        place = self.quiet_ball()
        place.ball["review"] = {"by": place.innings["team"], "decision": "perhaps"}

    def a_review_that_is_a_list(self) -> None:
        self.quiet_ball().ball["review"] = ["upheld"]

    def somebody_from_the_pavilion_is_run_out(self) -> None:
        place, wicket = self._caught()
        wicket |= {"kind": "run out", "player_out": self.another(place, batting=True)}

    def the_bowler_takes_two_wickets_on_a_ball(self) -> None:
        ball = self._caught()[0].ball
        ball["wickets"].append({"kind": "bowled", "player_out": ball["batter"]})

    def somebody_comes_in_for_himself(self) -> None:
        place = self.quiet_ball()
        name = self.another(place, batting=True)
        change = {"in": name, "out": name, "team": place.innings["team"]}
        place.ball["replacements"] = {"match": [change]}

    def _bowling(self, place: Place) -> str:
        teams = self.match["info"]["teams"]
        return str(next(team for team in teams if team != place.innings["team"]))

    def _replaced(self, kind: str, **change: str) -> None:
        place = self.quiet_ball()
        team = place.innings["team"]
        whole = {"in": self.another(place, batting=True), "out": place.ball["batter"],
                 "team": team, "reason": "unknown"} | change  # fmt: skip
        place.ball["replacements"] = {kind: [whole]}

    def who_was_replaced_plays_on(self) -> None:
        self._replaced("match")

    def a_stranger_comes_in(self) -> None:
        self._replaced("match", **{"in": "Nobody Known"})

    def somebody_comes_in_for_another_team(self) -> None:
        self._replaced("match", team="Atlantis")

    def somebody_comes_in_to_bowl_and_does_not(self) -> None:
        self._replaced("role", role="bowler")

    def the_other_side_won(self) -> None:
        teams, outcome = self.match["info"]["teams"], self.match["info"]["outcome"]
        outcome["winner"] = next(team for team in teams if team != outcome["winner"])

    def by_another_margin(self) -> None:
        by = self.match["info"]["outcome"]["by"]
        unit = next(iter(by))
        by[unit] += self.dice.choice([-1, 1, 2]) if by[unit] > 1 else 1

    def the_toss_was_not_followed(self) -> None:
        toss = self.match["info"]["toss"]
        need("decision" in toss)
        toss["decision"] = {"bat": "field", "field": "bat"}[toss["decision"]]

    def another_target(self) -> None:
        target = self.match["innings"][1].get("target", {})
        need(bool(target))
        target["runs"] += self.dice.choice([-7, -2, -1, 1, 3, 10])

    def in_days_to_come(self) -> None:
        self.match["info"]["dates"] = [f"{self.dice.randint(2090, 2999)}-05-01"]

    def before_the_game_was(self) -> None:
        self.match["info"]["dates"] = [f"{self.dice.randint(1877, 2001)}-05-01"]

    def in_another_season(self) -> None:
        info = self.match["info"]
        year = int(str(info["season"])[:4]) - self.dice.randint(2, 9)
        need(year > 2003)
        info["dates"] = [f"{year}-05-01"]


BALL_CHANGES: dict[str, tuple[Callable[[Document], bool], Callable[[Play, Place], None]]] = {
    "more_runs_than_can_be": (
        plain, lambda play, place: add_runs(place.ball, play.dice.randint(8, 60))),
    "byes_off_a_hit": (extras_only("legbyes"), lambda _, place: add_runs(place.ball, 1)),
    "a_wide_is_hit": (is_wide_alone, lambda _, place: add_runs(place.ball, 4)),
    "three_penalty_runs": (plain, lambda _, place: place.ball.update(
        extras={"penalty": 3}, runs={"batter": 0, "extras": 3, "total": 3})),
    "a_single_to_the_rope_all_run": (
        lambda ball: plain(ball) and ball["runs"]["batter"] == 1,
        lambda _, place: place.ball["runs"].update(non_boundary=True)),
    "one_batter_at_both_ends": (
        plain, lambda _, place: place.ball.update(non_striker=place.ball["batter"])),
    "the_batter_bowls": (
        plain,
        lambda play, place: place.ball.update(bowler=play.dice.choice(sorted(pair(place.ball))))),
    "a_batter_of_the_side_bowls": (
        plain, lambda play, place: place.ball.update(bowler=play.another(place, batting=True))),
    "somebody_unknown_bowls": (plain, lambda _, place: place.ball.update(bowler="Nobody Known")),
    "a_wicket_is_added": (plain, lambda _, place: place.ball.update(wickets=bowled(place.ball))),
    "somebody_is_bowled_off_a_wide": (
        is_wide_alone, lambda _, place: place.ball.update(wickets=bowled(place.ball))),
}  # fmt: skip
"""By name, the balls that fit and what is changed on one of them."""


KINDS = (*(name for name in vars(Changes) if not name.startswith("_")), *BALL_CHANGES)


def mutant(sound: str, kind: str, dice: random.Random) -> tuple[str, bool] | None:
    """Return a wrong match's text, and whether it is impossible; ``None`` where nothing fits."""
    changes = Changes(json.loads(sound), dice)
    impossible = True
    try:
        if kind in BALL_CHANGES:
            fits, change = BALL_CHANGES[kind]
            change(changes, changes.ball(fits))
        else:
            impossible = getattr(changes, kind)() is not False
    except NoWay:
        return None
    return json.dumps(changes.match, ensure_ascii=False), impossible
