"""Sentences with slots, for `grounding_sentences`.

`TUNED` are those that the checker was made with; `FIRST_ROUND` to `FOURTH_ROUND` were each set
aside until it had been measured on them, and then used too; `HELD_OUT` were written last and no
rule was changed for them.
"""

TUNED = {
    "expected": (
        "{bowler} to {batter}, {score}: the model sees a {now} chance of {moved}, against {base} "
        "for "
        "a ball it knows nothing about.",
        "At {score} the probability of {moved} is {now}, {way} than the baseline of {base}.",
        "For this ball from {bowler} to {batter}, {moved} stands at {now} (baseline {base}).",
        "P({moved_code}) is {now}, where {base} would be usual.",
        "The likeliest outcome is {top}, at {top_now}.",
    ),
    "claim": (
        "It looked at balls {labels}; removing them {verb} the chance of {hit} from {before} to "
        "{after}, which is {verdict}.",
        "The model focused on {labels}. With those balls hidden, {hit} goes from {before} to "
        "{after}, "
        "and the claim is {verdict}.",
        "Without balls {labels}, P({hit_code}) would be {after} rather than {before} ({verdict}).",
        "Hiding {labels} {verb} {hit} to {after}: {verdict}.",
    ),
    "cause": ("Because of balls {labels}, the model moves {hit} from {after} to {before}.",),
    "counted": (
        "It looked at balls {labels}, with boundaries off {some} of the {many}.",
        "Of balls {labels}, {some} of the {many} were boundaries.",
    ),
    "group": (
        "What {adds} {moved} is {group} ({points} points).",
        "{Group} {moves} {moved} by {size} points.",
    ),
    "happened": (
        "The ball brought {actual}, which the model had given {actual_now}: a surprise of {bits} "
        "bits.",
        "It was {actual} in the end, a {actual_now} chance.",
    ),
    "event": (
        "{Event} came at ball {event_ball}, {event_bowler} to {event_batter}.",
        "Ball {event_ball} was {event}.",
    ),
    "attention": (
        "{share} of its attention to recent balls went to {relation}; even attention would give "
        "{uniform}.",
    ),
    "chase": ("They need {runs} runs from {left} balls, with {target} the target.",),
}

FIRST_ROUND = {
    "expected": (
        "With {bowler} bowling to {batter}, {moved} comes out at {now}, versus {base} by default.",
        "Our forecast gives {moved} a probability of {now}; the starting point was {base}.",
        "{batter} faces {bowler} with the score {score}, and {now} is the figure for {moved}.",
        "Most likely here is {top}: the model puts it at {top_now}.",
    ),
    "claim": (
        "Attention fell on deliveries {labels}, and masking those takes {hit} from {before} to "
        "{after} - {verdict}.",
        "Take away {labels} and the probability of {hit} {verb_third} to {after}, a result that is "
        "{verdict}.",
        "The test of balls {labels} came out as {verdict}: {before} with them, {after} without "
        "them, "
        "for {hit}.",
    ),
    "cause": ("Thanks to balls {labels}, {hit} sits at {before} and not {after}.",),
    "counted": ("Balls {labels} drew its eye; {some} of those {many} went for boundaries.",),
    "group": (
        "{Group} {pushes} {moved} ({points} points).",
        "Measured in points, {group} accounts for {points} points of the chance of {moved}.",
    ),
    "happened": (
        "In the event it was {actual}, to which {actual_now} had been given, {bits} bits of "
        "surprise.",
        "What followed was {actual}.",
    ),
    "event": (
        "{event_batter} saw {event} off {event_bowler} at {event_ball}.",
        "There was {event} on {event_ball}.",
    ),
    "attention": (
        "Recent balls: {share} of the attention fell on {relation}, and uniform attention would "
        "put "
        "{uniform} there.",
    ),
    "chase": ("The chase stands at {score}, {runs} needed off {left} balls.",),
}

SECOND_ROUND = {
    "expected": (
        "{bowler} runs in to {batter} and the model makes {moved} a {now} shot, when {base} is "
        "what "
        "it gives on average.",
        "{now} for {moved}: that is {way} than its baseline, {base}.",
        "At {score}, with {batter} facing, the top call is {top} ({top_now}).",
    ),
    "claim": (
        "Balls {labels} got its attention. Hide them, and {hit} {verb_third} from {before} to "
        "{after}; "
        "that finding is {verdict}.",
        "When {labels} are removed, the chance of {hit} is {after} instead of {before}, so the "
        "idea "
        "that they matter is {verdict}.",
        "Did balls {labels} matter for {hit}? The verdict is {verdict}, with {before} before and "
        "{after} after hiding them.",
    ),
    "cause": ("The chance of {hit} is {before} and not {after} due to balls {labels}.",),
    "counted": ("The model dwelt on balls {labels}, {some} of the {many} boundaries.",),
    "group": (
        "{Group} {moves} the chance of {moved} by {size} percentage points.",
        "The biggest single influence on {moved} is {group}, worth {points} points.",
    ),
    "happened": (
        "As it turned out, {actual}: the model had it at {actual_now}, which is {bits} bits of "
        "surprise.",
        "The result was {actual}, rated {actual_now} beforehand.",
    ),
    "event": (
        "Earlier, {event_bowler} bowled {event} to {event_batter} with ball {event_ball}.",
        "{event_ball} brought {event}.",
    ),
    "attention": (
        "Among recent balls, {relation} drew {share} of the attention, where an even spread would "
        "be {uniform}.",
    ),
    "chase": (
        "Chasing {target}, they want {runs} more from {left} balls.",
        "At {score} the target is {target}.",
    ),
}

THIRD_ROUND = {
    "expected": (
        "Before this delivery the model rates {moved} at {now}, compared with {base} when it is "
        "told "
        "nothing.",
        "As {bowler} prepares to bowl to {batter}, {top} leads the list with {top_now}.",
        "The chance of {moved} stands {way} than usual: {now}, and {base} is the usual figure.",
        "{batter} is on strike against {bowler} at {score}.",
    ),
    "claim": (
        "Its attention went to balls {labels}. If those are hidden, P({hit_code}) moves from "
        "{before} "
        "to {after}. Verdict: {verdict}.",
        "Looking back to {labels}, the model had {hit} at {before}; with them masked it has "
        "{after}, "
        "and so this is {verdict}.",
        "One claim, that balls {labels} matter, is {verdict}: hiding them {verb} the chance of "
        "{hit} "
        "from {before} to {after}.",
    ),
    "cause": ("{hit} is {before} rather than {after} as a result of balls {labels}.",),
    "counted": (
        "The balls it looked at, {labels}, included {some} boundaries among the {many}.",
        "It attended to balls {labels} ({some} of the {many} were boundaries).",
    ),
    "group": (
        "On balance {group} {moves} the chance of {moved}, by {size} points.",
        "For {moved}, {group} contributes {points} points.",
    ),
    "happened": (
        "The actual outcome was {actual}, given {actual_now} in advance, a surprise of {bits} "
        "bits.",
        "{batter} got {actual} from this ball.",
    ),
    "event": (
        "At {event_ball}, {event_bowler} conceded {event} to {event_batter}.",
        "The last we saw of note was {event} at {event_ball}.",
    ),
    "attention": (
        "It spent {share} of its attention on {relation}, though {uniform} would be an even share.",
    ),
    "chase": (
        "With {left} balls left, {runs} are required.",
        "A target of {target} leaves {runs} to get from {left} balls.",
    ),
}

FOURTH_ROUND = {
    "expected": (
        "For {bowler} against {batter} the model settles on {moved} with a probability of {now}; "
        "had it "
        "known nothing, it would have said {base}.",
        "The outlook: {moved} {now}, baseline {base}.",
        "{top_now} goes to {top}, the outcome it thinks most likely.",
        "The innings stood at {score} as {batter} took guard to {bowler}.",
    ),
    "claim": (
        "It had its eye on {labels}. Cover them up and the probability of {hit} becomes {after}, "
        "down "
        "or up from {before}; the evidence says {verdict}.",
        "What about balls {labels}? Their removal shifts {hit} from {before} to {after}, which "
        "the test "
        "calls {verdict}.",
        "{before} for {hit} turns into {after} once balls {labels} are hidden ({verdict}).",
    ),
    "cause": ("Balls {labels} are the reason why {hit} is at {before} instead of {after}.",),
    "counted": ("Among balls {labels} there were {some} boundaries.",),
    "group": (
        "{Group} {pushes} the likelihood of {moved}, a matter of {size} points.",
        "Contributions to {moved}: {group}, {points} points.",
    ),
    "happened": (
        "It ended as {actual}, for which the forecast was {actual_now}.",
        "The surprise was {bits} bits, since {actual} was what came.",
    ),
    "event": (
        "{event_bowler} had {event_batter} facing at {event_ball}, and it was {event}.",
        "Think of {event} off ball {event_ball}.",
    ),
    "attention": (
        "{relation} took up {share} of the attention (an equal share would be {uniform}).",
    ),
    "chase": ("{runs} to win from {left} deliveries, the target being {target}.",),
}

HELD_OUT = {
    "expected": (
        "So what does it make of {bowler} against {batter}? Chiefly this: {moved} at {now}, "
        "where a ball "
        "without any context would get {base}.",
        "Its forecast for {moved} is {now} ({base} before it knows a thing).",
        "Nothing is likelier here than {top}, which has {top_now}.",
        "{score} on the board, {bowler} with the ball, {batter} waiting.",
    ),
    "claim": (
        "Of everything it could look at, balls {labels} drew it; with those gone {hit} would be at "
        "{after}, not {before}. That is {verdict}.",
        "Were {labels} hidden, the chance of {hit} would go from {before} to {after} - {verdict}.",
        "The story of balls {labels} is {verdict}: {hit} {verb_third} from {before} to {after} "
        "when they "
        "are taken away.",
    ),
    "cause": ("It is because of balls {labels} that {hit} has {before} and not {after}.",),
    "counted": ("It dwelt on {labels}; of these {many}, {some} went to the boundary.",),
    "group": (
        "{Group} {moves} {moved}, {size} points' worth.",
        "Take {group}: {points} points for {moved}.",
    ),
    "happened": (
        "And then? {actual}, a {actual_now} shot.",
        "{bits} bits of surprise greeted {actual}.",
    ),
    "event": (
        "We had seen {event} at {event_ball}, when {event_bowler} bowled to {event_batter}.",
        "Remember {event} at {event_ball}?",
    ),
    "attention": (
        "{relation} had {share} of its attention, against {uniform} if it were spread evenly.",
    ),
    "chase": ("Needing {runs} off {left}, chasing {target}, the side has work to do.",),
}
