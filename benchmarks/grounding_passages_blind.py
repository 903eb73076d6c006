"""The fifth and sixth set of passages for `grounding_passages`, written blind to the check.

The fifth is an analyst's voice, the sixth a commentator's. ``{moved.idiom}`` and the like are in
`grounding_words`.
"""

FIFTH_PASSAGES = {
    "expected": (
        "**{bowler.last} to {batter.last}, {score}.** The standout is {moved}: {now}, {diff} "
        "points <<north|south>> of its {base} baseline.",
        "The model leans towards {top} here — {top_now} — and its largest departure from the "
        "baseline is on {moved}, priced at {now} where {base} would be par.",
        "At {now.words}, the chance of {moved} sits <<above|below>> the {base} "
        "that a ball with no context would be given.",
        "No outcome is favoured more than {top}, which carries {top_now.cent} of the probability.",
        "* **Situation:** {batting} {score}, {batter} on strike\n* **Forecast:** {top}, "
        "{top_now}\n* **Deviation:** {moved}, {diff} points <<over|under>> baseline",
        "Stripped of context the model would have said {base} for {moved}; knowing what it knows "
        "about this one, it says {now}.",
        "Had this been an average ball, the chance of {moved} would have been {base}. It isn't, "
        "and the figure <<grows|shrinks>> to {now}.",
        "With {batter.last} facing and {bowler.last} bowling, {now.words} of the probability goes "
        "to {moved} – {diff} points <<more|less>> than average.",
        "{fielding} have turned to {bowler.last}, {batting} having lost {down.wickets} for "
        "{runs_so_far}, and the forecast <<warms to|cools on>> {moved}: {base} becomes {now}.",
        "Nothing moves further from its usual value than the chance of {moved}, which lands on "
        "{now} rather than {base}.",
        "Baseline {base}, forecast {now} — a <<gain|loss>> of {diff} points for {moved}.",
        "Facing up is {batter}; {bowler} has the ball. The largest slice of probability, "
        "{top_now.near}, belongs to {top}.",
        "The likeliest result is {top}, at {top_now}; the ball's distinguishing mark is its number "
        "for {moved}, {now} against a customary {base}.",
        "{batter} will be the one to deal with {bowler}'s next delivery, which the model thinks "
        "<<likelier|less likely>> than most to produce {moved} ({now}, as opposed to {base}).",
        "With the score at {score}, a probability of {now} for {moved} is {diff} percentage points "
        "<<clear of|short of>> what a typical ball is assigned.",
        "Just one figure to remember: {top_now}, the probability of {top} and the largest of the "
        "lot.",
    ),
    "odds": (
        "Put another way, the model is giving {thing} a one-in-{in} probability.",
        "If this delivery were bowled {in} times, you would expect {thing} from roughly one of "
        "them.",
        "Roughly one delivery in {in} under these conditions would yield {thing}.",
    ),
    "ranked": (
        "The pecking order: **{first}** ({first_now}), then **{second}** ({second_now}), then "
        "**{third}** ({third_now}).",
        "{second.cap}, at {second_now}, trails only {first}, at {first_now}.",
        "The two front-runners are {first} and {second} — {first_now} and {second_now} "
        "respectively — which leaves {third} on {third_now}.",
        "It gives {first_now} to {first}, {second_now} to {second} and {third_now} to {third}, in "
        "descending order.",
        "The likeliest alternative to {first} is {second}, rated {second_now} to the favourite's "
        "{first_now}.",
    ),
    "claim": (
        "Attention pooled on {number} earlier deliveries ({labels}). Conceal them and the model's "
        "figure for {hit} <<grows|shrinks>> from {before} to {after} — {verdict}, according to the "
        "test.",
        "The model attended to balls {labels}, and the counterfactual — the same delivery minus "
        "those balls — has {hit} at {after} in place of {before}. That difference "
        "[[holds up|does not hold up]] under testing.",
        "Were balls {labels} struck from the record, the chance of {hit} would move <<up|down>> "
        "from {before} to {after}; the claim that they shaped the forecast is {verdict}.",
        "**Where it looked:** {labels}. **What that was worth:** {before} for {hit} with those "
        "balls visible, {after} with them masked. **Status:** {verdict}.",
        "The chance of {hit} is {before}. It becomes {after} — that is, it "
        "<<increases|decreases>> — once balls {labels} are withheld, a shift classed as {verdict}.",
        "Masking the {number} deliveries it kept in focus, {labels}, leaves the probability of "
        "{hit} on {after}, having been on {before}.",
        "A model blind to balls {labels} would quote {after} for {hit}. Ours, which saw them, "
        "quotes {before}; as evidence, that is {verdict}.",
    ),
    "told_verdict": (
        "Balls {labels} were prominent in its attention, and [[the check bears them out|the check "
        "finds that balls picked at random would do just as well]].",
        "Its attention to balls {labels} makes for [[a sound story|an unsafe story]]: tested, it "
        "came back {verdict}.",
        "[[There is statistical backing|There is no statistical backing]] for the idea that the "
        "balls it attended to, {labels}, influenced the forecast.",
        "Hiding balls {labels}, the ones that held its attention, does [[more|no more]] to the "
        "forecast than hiding an arbitrary set would.",
        "- **{labels}** — heavily attended, {verdict}",
        "Balls {labels} attracted attention; their influence has [[been|not been]] established by "
        "the test.",
    ),
    "cause": (
        "It is balls {labels} that take {hit} to {before}; in their absence the model would "
        "settle on {after}.",
        "Balls {labels} are responsible for moving the chance of {hit} from {after} to {before}, "
        "and the test supports that.",
        "The {before} quoted for {hit} reflects the influence of balls {labels}, without which "
        "{after} would have been quoted.",
    ),
    "counted": (
        "Reading back over the balls it fixed on, {labels}, one finds {some.boundaries} in {many} "
        "deliveries.",
        "Of note: {some} of the {many} balls it attended to ({labels}) crossed the rope.",
        "Its attention covered {many} balls — {labels} — that brought {some.boundaries} in total.",
        "- Balls attended: {labels}\n- Boundaries among them: {some}",
    ),
    "group": (
        "No input shifts the chance of {moved} further than {group}, at {points} points; the "
        "strongest push in the opposite direction, {other_points}, comes from {other}.",
        "Through {group} the chance of {moved} <<gains|loses>> {size} points, and through {other} "
        "it <<loses|gains>> {other_size}.",
        "**Biggest influence on {moved}:** {group} ({points} points). **Biggest offset:** {other} "
        "({other_points} points).",
        "Split by input, the probability of {moved} is <<lifted|depressed>> by {size} points on "
        "account of {group}.",
        "{size} points are <<put on|taken off>> {moved} by {group}, with {other} responsible for "
        "{other_size} the other way.",
    ),
    "record": (
        "Blind the model to {what} and its figure for {hit} <<rises|drops>> to {after}, from "
        "{before}; the effect is {verdict}.",
        "The chance of {hit} is {before} with {what} in the picture, {after} without — a "
        "difference that [[clears|does not clear]] the bar of chance.",
        "**Role of {what}:** [[confirmed|unconfirmed]]. Dropping it turns {before} for {hit} "
        "into {after}.",
        "{after} is what {hit} would get were {what} unknown; {before} is what it gets.",
    ),
    "calls": (
        "Over {cases} balls where the model's figure for {moved} averaged {said}, the observed "
        "frequency was {came}.",
        "Forecasts in this range — {said} on average for {moved} — have been borne out {came} of "
        "the time.",
        "Historically, {said} from this model has meant {came} in practice for {moved}.",
        "Its calibration here rests on {cases} deliveries: {said} forecast, {came} realised.",
    ),
    "happened": (
        "As it turned out, the result was {actual}, to which the model had allotted "
        "{actual_now.near}.",
        "**Result:** {actual} — forecast at {actual_now}, so worth {bits} bits of surprise.",
        "The outcome, {actual}, carried a pre-delivery probability of {actual_now}; in information "
        "terms, {bits} bits.",
        "{bits} bits of surprise attach to the result, which was {actual}.",
        "Reality delivered {actual}, a result given {actual_now.words} beforehand, with {batter} "
        "on strike.",
    ),
    "event": (
        "Earlier, {event_bowler} to {event_batter} at {event_ball} had ended in {event}.",
        "{event_batter} had already met {event_bowler}: ball {event_ball}, {event}.",
        "Ball {event_ball} is on the model's books as {event}, with {event_batter.last} on strike "
        "to {event_bowler.last}.",
        "One of the deliveries in its history, {event_ball}, brought {event} from "
        "{event_bowler.last}'s bowling.",
        "When {event_bowler.last} bowled {event_ball}, the result was {event}.",
    ),
    "attention": (
        "On the medium scale, {relation} drew {share} of the weight; an indifferent model would "
        "have placed {uniform} there.",
        "Attention to {relation} ran at {share}, versus {uniform} had every ball been treated "
        "alike.",
        "A uniform spread would have left {relation} with {uniform}; in fact the share was "
        "{share}.",
    ),
    "weights": (
        "When the memories are combined, the {scale} scale has a share of {weight}.",
        "{weight.near.cap} of the fused prediction is drawn from the {scale} scale.",
    ),
    "chase": (
        "{runs.runs} from {left.balls} is the ask, {score} being the position and {target} the "
        "target.",
        "To reach the {target} they were set, the batters still need {runs}, with {left.balls} "
        "left.",
        "Chasing {target} — {score} so far — leaves {runs} to find in {left}.",
        "The innings has {left.balls} left in it and the target is {runs.runs} away.",
    ),
    "rate": (
        "Against {fielding}, {batting} have moved along at {rate} an over to reach {score}.",
        "A scoring rate of {rate} has carried {batting} to {score}.",
        "{fielding} are conceding {rate} runs per over.",
    ),
    "nothing": (
        "None of the above should be read as advice — it is a description of one model's view.",
        "**Caveat:** attention tells you what was looked at; influence has to be tested.",
        "What follows is the detail, for those who like detail.",
        "Whether {batter.last} attacks or waits is a matter for {batter.last}.",
        "A single delivery can embarrass any forecast.",
        "Forecasts of single balls are never certain, and this one is no exception.",
        "{bowler.last} and {batter.last} are the two to watch here.",
    ),
}

SIXTH_PASSAGES = {
    "expected": (
        "{bowler.last} running in, {batter.last} waiting. {top.idiom.cap} the favourite, "
        "{top_now}.",
        "Chance of {moved.idiom}: {now}. Ordinarily: {base}.",
        "{batting}, {runs_so_far} up and {down.wickets} gone, send {batter.last} to face "
        "{bowler.last}; the number for {moved.idiom} is {now}.",
        "The smart money is on {top.idiom} at {top_now.cent}.",
        "{moved.idiom.cap} has <<shortened|drifted>> in the betting: {base} on any other ball, "
        "{now} on this.",
        "{fielding} toss it to {bowler.last}. {batter.last} is on strike for {batting}, and it's "
        "{now} for {moved.idiom} — {diff} points <<over|under>> par.",
        "{score}, and {bowler} has {batter} to bowl at: {top.idiom} the percentage call, "
        "{top_now}.",
        "They have {moved.idiom} at {now} off this ball, <<up|down>> {diff} points on the run of "
        "the mill.",
        "You'd normally pencil in {base} for {moved.idiom}. Make that {now} here.",
        "Pick one result for {bowler.last}'s next ball and {top.idiom} is it — {top_now.near}, "
        "nothing higher.",
        "The needle has swung <<towards|away from>> {moved.idiom}, from {base} to {now}.",
        "{batter} takes guard to {bowler}. The numbers men have {moved.idiom} <<above|below>> its "
        "usual {base}, at {now}.",
        "{runs_so_far} on the board, {down.wickets} down, {bowler.last} to bowl, {batter.last} to "
        "bat.",
        "{now.words.cap}. That's the figure for {moved.idiom} as {bowler.last} runs in, {base} "
        "being the norm.",
        "Off {bowler.last}'s bowling, {moved.idiom} is <<more|less>> on the cards than it usually "
        "is: {now} plays {base}.",
    ),
    "odds": (
        "A one-in-{in} ball for {thing.idiom}, this.",
        "Bowl it {in} times and {thing.idiom} comes along once, near enough.",
        "The price on {thing.idiom}: one in {in}.",
    ),
    "ranked": (
        "{first.idiom.cap} heads the market on {first_now}, {second.idiom} lies next at "
        "{second_now}, {third.idiom} at {third_now}.",
        "Favourite: {first.idiom}, {first_now}. Danger: {second.idiom}, {second_now}.",
        "{first_now} says {first.idiom}; {second_now} says {second.idiom}; {third_now} says "
        "{third.idiom}.",
        "Behind {first.idiom} on {first_now} it's {second.idiom} next in the queue with "
        "{second_now}.",
        "Nothing beats {first.idiom} ({first_now}), not even {second.idiom} ({second_now}).",
    ),
    "claim": (
        "The model had its eye on {labels}. Wipe them off the tape and {hit.idiom} goes "
        "<<up|down>> from {before} to {after}. The ruling: {verdict}.",
        "Balls {labels} are in its head. {hit.idiom.cap} is {after} without them, {before} with "
        "them, and that's {verdict}.",
        "Cut {labels} out of the highlights and the number for {hit.idiom} reads {after}; leave "
        "them in and it's {before}. Call it {verdict}.",
        "It remembers {labels}, {number} balls in all, and forgetting them would <<push|bring>> "
        "its figure for {hit.idiom} <<up|down>> to {after} from {before}.",
        "Scrub balls {labels} and {hit.idiom} is {after}. As things stand it's {before}. "
        "[[Statistically solid|Statistically unproven]].",
        "{before} for {hit.idiom} — {after} had {labels} never been bowled. The stats team say "
        "{verdict}.",
        "{hit.idiom.cap}, {before} as they line up, would be {after} for a viewer who'd missed "
        "{labels}. It's a theory that [[stands|falls]] when tested.",
    ),
    "told_verdict": (
        "There was a lot of looking back at {labels}, [[and rightly so: it stands up|but it counts "
        "for nothing the test can find]].",
        "The balls it stared at, {labels}, [[made a difference|made no difference you could tell "
        "from luck]].",
        "The model points to {labels}. Third umpire? [[Given, it's supported|Not given, it's no "
        "better than chance]].",
        "The model makes much of {labels}. [[Justly, for the evidence backs it|Unjustly, for the "
        "evidence does not back it]].",
        "It was looking at {labels}, and the stats say those balls [[swayed the call|swayed the "
        "call no more than any others might]].",
    ),
    "cause": (
        "Credit {labels}: they take {hit.idiom} from {after} to {before}.",
        "{before} for {hit.idiom}, and it's down to balls {labels} — otherwise we'd be talking "
        "{after}.",
        "It's {labels} that did it, {hit.idiom} moving from {after} to {before} on the strength "
        "of them.",
    ),
    "counted": (
        "{some.boundaries.cap} in the {many} it had in mind, {labels}.",
        "It was thinking of {labels}: {many} balls, {some.boundaries}.",
        "Of {labels}, the {many} on its mind, {some} went to the fence or over it.",
    ),
    "group": (
        "{Group} had the loudest say on {moved.idiom}, {points} points; {other} went the other "
        "way, {other_points}.",
        "{Group} <<helped|hurt>> the case for {moved.idiom} by {size} points, {other} "
        "<<hurt|helped>> it by {other_size}.",
        "For {moved.idiom}, chalk up {points} points to {group} and {other_points} to {other}.",
        "That's {size} points <<on|off>> {moved.idiom} courtesy of {group}.",
    ),
    "record": (
        "Forget {what} and you'd be quoting {after} for {hit.idiom}, not {before}. [[The test "
        "backs it|The test doesn't back it]].",
        "{hit.idiom.cap} is {before} with {what} known and {after} with that a blank: {verdict}.",
        "{what.cap} [[does|doesn't]] count, say the testers: {hit.idiom}, {before} now, would go "
        "<<up|down>> to {after}.",
    ),
    "calls": (
        "Numbers like {said} on {moved.idiom} have come good {came} of the time.",
        "It has called {moved.idiom} at about {said} before, {cases} times, and it came in on "
        "{came} of them.",
        "Form guide for {moved.idiom}: quoted {said}, landed {came}.",
    ),
    "happened": (
        "In the event it {actual.went}, which the model had at {actual_now}.",
        "{actual.idiom.cap}! {actual_now} before the ball, and {bits} bits of surprise.",
        "{batter.last} facing, the ball {actual.went}. The model's number on that: {actual_now}.",
        "The scorer writes down {actual.idiom}, and it's {bits} bits' worth of surprise.",
        "End result, {actual.idiom}, at {actual_now.near}.",
    ),
    "event": (
        "{event_bowler.last} to {event_batter.last} at {event_ball}: it {event.went}.",
        "Ball {event_ball} from {event_bowler.last} {event.went}.",
        "At {event_ball} came {event.idiom}, {event_batter.last} the batter, {event_bowler.last} "
        "the bowler.",
        "{event.idiom.cap} off {event_bowler.last} at {event_ball}, {event_batter.last} on strike.",
        "It hasn't forgotten {event_ball}, which {event.went}.",
    ),
    "attention": (
        "{share} of the looking was at {relation}; an even hand would make it {uniform}.",
        "{relation.cap} got {share} of its gaze, {uniform} being the cut with no favourites.",
    ),
    "weights": (
        "{weight} of this forecast is the {scale} scale talking.",
        "Memory on the {scale} scale chips in {weight} of the forecast.",
    ),
    "chase": (
        "{runs} to win, {left.balls} to do it in.",
        "{score}, {target} wanted: {runs} short with {left} to come.",
        "They want {runs} more off {left.balls} to get to {target}.",
    ),
    "rate": (
        "{batting} are going along at {rate}.",
        "{score} and {rate} an over: that's where {batting} are against {fielding}.",
        "{rate} an over is what {fielding}'s bowlers are going for.",
    ),
    "nothing": (
        "Whatever the quick has in mind, the press box won't hear it first.",
        "Settle in, this one could go either way.",
        "{bowler.last} at the top of the mark, {batter.last} tapping the crease.",
        "Cricket has a habit of making fools of forecasters.",
        "A hush, then the run-up.",
        "You can look at a ball all day and learn nothing from it.",
    ),
}
