"""Passages for `grounding_passages`, in the styles that language models answer prompts in.

`FIRST_PASSAGES` were measured once before any rule was changed for them; they have been used since.
"""

FIRST_PASSAGES = {
    "expected": (
        "{bowler.last} to {batter.last}, and the machine likes {top} here: {top_now}, the pick of "
        "the bunch.",
        "The model assigns {moved} a probability of {now}, which is {diff} percentage points "
        "<<above|below>> the baseline of {base}.",
        "Relative to its baseline ({base}), {moved} is <<more|less>> likely at {now}.",
        "- **Expected:** {moved} at {now} (baseline {base})\n- **Most likely:** {top} ({top_now})",
        "Score: {score}. Bowler: {bowler}. Batter: {batter}. Headline: {moved} <<up|down>> to {now} "
        "from {base}.",
        "{score}, {bowler.last} v {batter.last}. Most likely? {top}, {top_now}. #T20",
        "It's {bowler} from his end, {batter} on strike, {batting} {score}.",
        "{batting} have made {runs_so_far} for the loss of {down} wickets as {bowler.last} comes in "
        "to {batter.last}.",
        "Chances of {moved} have <<climbed|slipped>> to {now}; normally you'd be looking at {base}.",
        "Compared with what we would expect of any old ball, {moved} is <<over-represented|"
        "under-represented>>: {now} where the norm is {base}.",
        "There's a {now} likelihood of {moved} on this one, <<well up on|some way short of>> the "
        "usual {base}.",
        "{fielding} have {bowler.last} bowling to {batter.last}, and what the model is really "
        "thinking about is {moved} ({now}; it would say {base} blind).",
        "Before the ball, the forecast had {top} on top with {top_now}.",
    ),
    "odds": (
        "{thing} is roughly a one-in-{in} chance for this delivery.",
        "About one time in {in}, a ball like this brings {thing}, the model reckons.",
    ),
    "ranked": (
        "In order, it expects {first} ({first_now}), {second} ({second_now}) and {third} "
        "({third_now}).",
        "{first} leads at {first_now}, with {second} next on {second_now}.",
        "| outcome | chance |\n|---|---|\n| {first} | {first_now} |\n| {second} | {second_now} |",
        "While {first} is favourite at {first_now}, {second} isn't out of it at {second_now}.",
    ),
    "claim": (
        "Its gaze settled on balls {labels}. Blot those out and {hit} <<climbs|drops>> from "
        "{before} to {after}; verdict: {verdict}.",
        "- Looked at: {labels}\n- Effect of hiding: {hit} {before} to {after}\n- Verdict: {verdict}",
        "One head concentrated on balls {labels}; when they were hidden from the model, the "
        "probability of {hit} shifted from {before} to {after} ({verdict}).",
        "Erase balls {labels} from its memory and the likelihood of {hit} would be {after} as "
        "opposed to {before}, a claim that is {verdict}.",
        "Balls {labels} were the focus, yet the chance of {hit} with them is {before} and without "
        "them {after}, which the testing labels {verdict}.",
        "For {hit}, it's {before} with balls {labels} in view and {after} with them out of view - "
        "{verdict}.",
    ),
    "told_verdict": (
        "Balls {labels} caught its eye, and that [[passed the test|did not beat chance]].",
        "The suggestion that balls {labels} shaped the call is [[supported|not supported]] by the "
        "evidence.",
        "Attention fell on {labels}, [[and that attention mattered beyond chance|but other balls "
        "did as much when hidden, so it could be luck]].",
        "We [[can|cannot]] say that balls {labels} made a difference: the claim is {verdict}.",
        "Hiding balls {labels} <<lifts|cuts>> {hit} to {after}. [[That one stands|That one is no "
        "better than chance]].",
    ),
    "cause": (
        "{hit} is at {before}, in part because of what happened on balls {labels}; hidden, they "
        "leave it at {after}.",
        "Balls {labels} informed the chance of {hit}, which would otherwise have been {after} "
        "instead of {before}.",
    ),
    "counted": (
        "Of the {many} balls it studied ({labels}), {some} had reached the boundary.",
        "It kept going back to {labels}: {some} boundaries in {many} balls.",
        "{labels} - {some} of those {many} deliveries were hit to or over the rope.",
    ),
    "group": (
        "The single largest factor for {moved} is {group} ({points}), with {other} pulling the "
        "other way ({other_points} points).",
        "What <<pushes|drags>> {moved} <<up|down>> most is {group}, by {size} points; {other} "
        "works against that with {other_size} points.",
        "- Main driver of {moved}: {group}, {points} points\n- Counterweight: {other}, "
        "{other_points} points",
        "{Group} <<boosts|dents>> {moved} by {size} points.",
    ),
    "record": (
        "Take {what} away and {hit} goes from {before} to {after}, a change that is {verdict}.",
        "Knowing {what} moves {hit} from {after} to {before}, and that is {verdict}.",
        "Does {what} matter? [[Yes, the test supports it|Not beyond chance]]: {hit} would be "
        "{after} rather than {before} without it.",
    ),
    "calls": (
        "How reliable is this? When the model said about {said} for {moved}, it came true {came} "
        "of the time, across {cases} balls.",
        "Calls of around {said} have come off {came} of the time ({cases} balls).",
        "Track record: {said} predicted, {came} observed.",
    ),
    "happened": (
        "In the end {batter.last} got {actual}, something the model had put at {actual_now}.",
        "Result: {actual}. Pre-ball probability: {actual_now}. Surprise: {bits} bits.",
        "{actual} it was, and at {actual_now} that counts as {bits} bits of surprise.",
        "What actually unfolded was {actual}, a {actual_now} event.",
    ),
    "event": (
        "Back at {event_ball}, {event_batter.last} had taken {event} off {event_bowler.last}.",
        "Ball {event_ball} ({event_bowler} to {event_batter}): {event}.",
        "{event_bowler.last}'s ball at {event_ball} went for {event}.",
        "You may recall {event} off ball {event_ball}.",
    ),
    "attention": (
        "A full {share} of the attention to recent balls landed on {relation}, as opposed to the "
        "{uniform} you'd get from looking everywhere alike.",
        "{relation} accounted for {share} of its attention (uniform: {uniform}).",
    ),
    "weights": (
        "The {scale} scale carries {weight} of the prediction, more than any other scale.",
        "Of the four memories, the {scale} one weighs in at {weight}.",
    ),
    "chase": (
        "They're {score} in pursuit of {target}: {runs} required, {left} deliveries remaining.",
        "Equation: {runs} off {left}.",
        "It boils down to {runs} from the last {left} balls, target {target}.",
    ),
    "rate": (
        "{batting} are going at {rate} an over.",
        "We're at delivery {delivery} of the innings, the rate {rate}.",
    ),
    "nothing": (
        "Remember that attention shows where the model looked, not why it decided.",
        "{batter.last} will want to be watchful here against {bowler.last}.",
        "It's a fascinating little contest between {bowler.last} and {batter.last}.",
        "In short: a balanced ball, with no strong story to tell either way.",
        "None of this tells us what the bowler was thinking, of course.",
        "Treat the unsupported stories with caution.",
    ),
}
