"""Ways to make a match of Cricsheet JSON wrong, for `test_doubts.py`.

Nobody can have played such a match, but where a change returns ``False``: that is told from the
change alone, without the rules of the readers.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Document = dict[str, Any]
Change = Callable[["Play"], bool | None]
"""Makes a match wrong, or raises `NoWay`; ``False`` where somebody might have played it."""


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
        """One of the two."""
        return self.dice.choice(self.match["innings"][:2])

    def over(self, innings: Document) -> int:
        """The place of an over that is not the last."""
        need(len(innings["overs"]) > 2)
        return self.dice.randrange(len(innings["overs"]) - 1)

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

    def batters(self, place: Place) -> list[str]:
        names: list[str] = self.match["info"]["players"][place.innings["team"]]
        return names

    def fielders(self, place: Place) -> list[str]:
        squads = self.match["info"]["players"]
        return next(squad for team, squad in squads.items() if team != place.innings["team"])

    def told_total(self, innings: Document) -> bool:
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
        found: list[Document] = self.innings["overs"][self.over]["deliveries"]
        return found

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
    return "extras" not in ball and "wickets" not in ball and "replacements" not in ball


def runs_of(ball: Document) -> int:
    return int(ball["runs"]["total"])


def add_runs(ball: Document, more: int) -> None:
    ball["runs"]["batter"] += more
    ball["runs"]["total"] += more


def pair(ball: Document) -> set[str]:
    return {ball["batter"], ball["non_striker"]}


def renumbered(innings: Document) -> None:
    for number, over in enumerate(innings["overs"]):
        over["over"] = number


def an_over_is_cut_out(play: Play) -> None:
    innings = play.innings()
    at = play.over(innings)
    del innings["overs"][at]


def an_over_is_cut_out_and_the_rest_renumbered(play: Play) -> bool:
    innings = play.innings()
    at = play.over(innings)
    gone = innings["overs"].pop(at)
    renumbered(innings)
    scored = sum(map(runs_of, gone["deliveries"]))
    return bool(scored and play.told_total(innings))


def the_last_over_is_cut_off(play: Play) -> bool:
    innings = play.innings()
    need(len(innings["overs"]) >= 2)
    gone = innings["overs"].pop()
    scored = sum(map(runs_of, gone["deliveries"]))
    won = innings is play.match["innings"][1] and not play.by_runs
    return bool(scored and (play.told_total(innings) or won))


def an_over_is_there_twice(play: Play) -> bool:
    innings = play.innings()
    at = play.over(innings)
    innings["overs"].insert(at, json.loads(json.dumps(innings["overs"][at])))
    renumbered(innings)
    scored = sum(map(runs_of, innings["overs"][at]["deliveries"]))
    return play.six or bool(scored and play.told_total(innings))


def two_overs_stand_the_other_way_round(play: Play) -> None:
    innings = play.innings()
    at = play.over(innings)
    overs = innings["overs"]
    overs[at], overs[at + 1] = overs[at + 1], overs[at]


def overs_are_numbered_from_one(play: Play) -> None:
    for over in play.innings()["overs"]:
        over["over"] += 1


def an_over_too_many(play: Play) -> None:
    innings = play.innings()
    need(len(innings["overs"]) >= 20)
    innings["overs"].append({**innings["overs"][17], "over": 20})


def a_legal_ball_is_cut_out(play: Play) -> None:
    place = play.ball(plain)
    need(not place.in_last_over)
    del place.deliveries[place.at]


def a_ball_with_runs_in_extras_is_cut_out(play: Play) -> bool:
    place = play.ball(lambda ball: "extras" in ball and "wickets" not in ball)
    del place.deliveries[place.at]
    return play.told_total(place.innings)


def a_ball_is_there_twice(play: Play) -> None:
    place = play.ball(plain)
    need(not place.in_last_over)
    place.deliveries.insert(place.at, place.ball)


def runs_off_the_bat_are_changed(play: Play) -> bool:
    place = play.ball(plain)
    more = play.dice.randint(1, 4)
    add_runs(place.ball, -min(more, runs_of(place.ball)) or more)
    return play.told_total(place.innings)


def the_target_is_reached_before(play: Play) -> bool:
    need(not play.by_runs)
    chase = play.match["innings"][1]
    balls = [ball for over in chase["overs"][:-1] for ball in over["deliveries"] if plain(ball)]
    need(len(balls) > 1 and len(chase["overs"]) > 2)
    for ball in play.dice.sample(balls, 2):
        add_runs(ball, 4)
    return sum(map(runs_of, chase["overs"][-1]["deliveries"][-1:])) < 8


def more_runs_than_can_be(play: Play) -> None:
    add_runs(play.ball(plain).ball, play.dice.randint(8, 60))


def byes_off_a_hit(play: Play) -> None:
    place = play.ball(lambda ball: set(ball.get("extras", ())) == {"legbyes"})
    add_runs(place.ball, 1)


def a_wide_becomes_a_bye(play: Play) -> None:
    place = play.ball(lambda ball: set(ball.get("extras", ())) == {"wides"})
    need(not ("wickets" in place.ball or place.in_last_over))
    place.ball["extras"] = {"byes": place.ball["extras"]["wides"]}


def extras_do_not_add_up(play: Play) -> None:
    place = play.ball(lambda ball: "extras" in ball)
    kind = next(iter(place.ball["extras"]))
    place.ball["extras"][kind] += 1


def one_batter_at_both_ends(play: Play) -> None:
    place = play.ball(plain)
    place.ball["non_striker"] = place.ball["batter"]


def the_batter_bowls(play: Play) -> None:
    place = play.ball(plain)
    place.ball["bowler"] = play.dice.choice(sorted(pair(place.ball)))


def a_fielder_bats(play: Play) -> None:
    place = play.quiet_ball()
    names = [name for name in play.fielders(place) if name != place.ball["bowler"]]
    place.ball["batter"] = play.dice.choice(names)


def a_batter_of_the_side_bowls(play: Play) -> None:
    place = play.ball(plain)
    names = [name for name in play.batters(place) if name not in pair(place.ball)]
    place.ball["bowler"] = play.dice.choice(names)


def somebody_from_the_pavilion_bats(play: Play) -> None:
    place = play.quiet_ball()
    names = [name for name in play.batters(place) if name not in pair(place.ball)]
    place.ball["batter"] = play.dice.choice(names)


def somebody_unknown_bowls(play: Play) -> None:
    place = play.ball(plain)
    place.ball["bowler"] = "Nobody Known"


def another_bowls_in_the_middle_of_an_over(play: Play) -> None:
    place = play.ball(plain)
    need(not (len({ball["bowler"] for ball in place.deliveries}) > 1))
    names = [name for name in play.fielders(place) if name != place.ball["bowler"]]
    place.ball["bowler"] = play.dice.choice(names)


def a_bowler_goes_on(play: Play) -> None:
    need(play.six)
    innings = play.innings()
    at = play.over(innings)
    bowler = innings["overs"][at]["deliveries"][-1]["bowler"]
    for ball in innings["overs"][at + 1]["deliveries"]:
        ball["bowler"] = bowler


def a_bowler_bowls_every_other_over(play: Play) -> None:
    innings = play.innings()
    need(len(innings["overs"]) >= 16)
    bowler = innings["overs"][0]["deliveries"][0]["bowler"]
    for over in innings["overs"][::2]:
        for ball in over["deliveries"]:
            ball["bowler"] = bowler


def the_batters_are_exchanged_on_a_ball(play: Play) -> bool:
    place = play.quiet_ball()
    before, ball, after = place.deliveries[place.at - 1 : place.at + 2]
    # Beside a short run it would only move that.
    sure = follows(before, ball) and follows(ball, after)
    ball["batter"], ball["non_striker"] = ball["non_striker"], ball["batter"]
    return sure


def follows(before: Document, ball: Document) -> bool:
    """Whether the runs of the ball before bring this one's batter to face it."""
    return bool(
        ball["batter"] == before["non_striker" if before["runs"]["batter"] % 2 else "batter"]
    )


def an_innings_is_there_twice(play: Play) -> None:
    play.match["innings"].append(play.innings())


def both_innings_are_one(play: Play) -> None:
    first, second = play.match["innings"][:2]
    second["overs"] = first["overs"]


def one_side_bats_twice(play: Play) -> None:
    first, second = play.match["innings"][:2]
    second["team"] = first["team"]


def the_sides_are_exchanged(play: Play) -> None:
    first, second = play.match["innings"][:2]
    first["team"], second["team"] = second["team"], first["team"]


def fallen(play: Play) -> Place:
    """A ball with one wicket that counts, and another ball after it."""
    found = [
        place
        for place in play.balls()
        if len(place.ball.get("wickets", ())) == 1
        and not place.ball["wickets"][0]["kind"].startswith("retired")
        and place.ball["wickets"][0]["player_out"] in pair(place.ball)
        and (not place.in_last_over or place.at < len(place.deliveries) - 1)
    ]
    return play.one_of(found)


def a_wicket_is_taken_away(play: Play) -> None:
    place = fallen(play)
    del place.ball["wickets"]


def a_wicket_is_added(play: Play) -> None:
    place = play.ball(plain)
    place.ball["wickets"] = [{"kind": "bowled", "player_out": place.ball["batter"]}]


def the_other_batter_is_out(play: Play) -> None:
    place = fallen(play)
    wicket = place.ball["wickets"][0]
    wicket["player_out"] = next(iter(pair(place.ball) - {wicket["player_out"]}))


def somebody_is_out_twice(play: Play) -> None:
    places = [place for place in play.balls() if len(place.ball.get("wickets", ())) == 1]
    chosen = play.innings()
    wickets = [place.ball["wickets"][0] for place in places if place.innings is chosen]
    wickets = [wicket for wicket in wickets if not wicket["kind"].startswith("retired")]
    need(len(wickets) > 1)
    at = play.dice.randrange(1, len(wickets))
    wickets[at]["player_out"] = wickets[at - 1]["player_out"]


def somebody_is_bowled_off_a_wide(play: Play) -> None:
    place = play.ball(lambda ball: "wides" in ball.get("extras", ()) and "wickets" not in ball)
    place.ball["wickets"] = [{"kind": "bowled", "player_out": place.ball["batter"]}]


def the_other_side_won(play: Play) -> None:
    teams, outcome = play.match["info"]["teams"], play.match["info"]["outcome"]
    outcome["winner"] = next(team for team in teams if team != outcome["winner"])


def by_another_margin(play: Play) -> None:
    by = play.match["info"]["outcome"]["by"]
    unit = next(iter(by))
    by[unit] += play.dice.choice([-1, 1, 2]) if by[unit] > 1 else 1


def the_toss_was_not_followed(play: Play) -> None:
    toss = play.match["info"]["toss"]
    need("decision" in toss)
    toss["decision"] = {"bat": "field", "field": "bat"}[toss["decision"]]


def another_target(play: Play) -> None:
    target = play.match["innings"][1].get("target", {})
    need(bool(target))
    target["runs"] += play.dice.choice([-7, -2, -1, 1, 3, 10])


def in_days_to_come(play: Play) -> None:
    play.match["info"]["dates"] = [f"{play.dice.randint(2090, 2999)}-05-01"]


def before_the_game_was(play: Play) -> None:
    play.match["info"]["dates"] = [f"{play.dice.randint(1877, 2001)}-05-01"]


def in_another_season(play: Play) -> None:
    info = play.match["info"]
    year = int(str(info["season"])[:4]) - play.dice.randint(2, 9)
    need(year > 2003)
    info["dates"] = [f"{year}-05-01"]


KINDS: tuple[Change, ...] = tuple(
    change
    for change in list(globals().values())
    if getattr(change, "__annotations__", {}).keys() == {"play", "return"}
    and change.__annotations__["return"] in ("bool", "None")
)
"""Every way above, in that order."""


@dataclass(frozen=True)
class SoundMatch:
    """A match without doubts: its file's name and its text."""

    name: str
    text: str


def mutant(sound: SoundMatch, change: Change, dice: random.Random) -> tuple[str, bool] | None:
    """Return a wrong match's text, and whether it is impossible; ``None`` where nothing fits."""
    match = json.loads(sound.text)
    try:
        impossible = change(Play(match, dice)) is not False
    except NoWay:
        return None
    return json.dumps(match, ensure_ascii=False), impossible
