"""Passages for `grounding_passages`, in the styles that language models answer prompts in.

Each set was written before it was measured, measured once, and used since.
"""

FIRST_PASSAGES = {
    "expected": (
        "{bowler.last} to {batter.last}, and the machine likes {top} here: {top_now}, the pick of "
        "the bunch.",
        "The model assigns {moved} a probability of {now}, which is {diff} percentage points "
        "<<above|below>> the baseline of {base}.",
        "Relative to its baseline ({base}), {moved} is <<more|less>> likely at {now}.",
        "- **Expected:** {moved} at {now} (baseline {base})\n- **Most likely:** {top} ({top_now})",
        "Score: {score}. Bowler: {bowler}. Batter: {batter}. Headline: {moved} <<up|down>> to"
        " {now} "
        "from {base}.",
        "{score}, {bowler.last} v {batter.last}. Most likely? {top}, {top_now}. #T20",
        "It's {bowler} from his end, {batter} on strike, {batting} {score}.",
        "{batting} have made {runs_so_far} for the loss of {down} wickets as {bowler.last} comes"
        " in "
        "to {batter.last}.",
        "Chances of {moved} have <<climbed|slipped>> to {now}; normally you'd be looking at"
        " {base}.",
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
        "- Looked at: {labels}\n- Effect of hiding: {hit} {before} to {after}\n- Verdict:"
        " {verdict}",
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

SECOND_PASSAGES = {
    "expected": (
        "So here's {bowler.last} again, {batter.last} the man he has to dislodge, and our numbers "
        "make {top} the likeliest thing at {top_now}.",
        "{batting} sit on {score}. Against {bowler}, the model thinks {batter} is <<more|less>> "
        "prone than usual to {moved}: {now}, when an anonymous ball rates {base}.",
        "Key takeaway: {moved}'s probability ({now}) is {diff} points <<higher|lower>> than its "
        "baseline.",
        "**{bowler} to {batter}** | {score}\n\n* Top outcome: {top}, {top_now}\n* Biggest shift: "
        "{moved}, {base} to {now}",
        "{bowler.last} steams in. The forecast? {moved} at {now} percent-wise, baseline {base}.",
        "The model isn't fence-sitting: {top} is its number one at {top_now}.",
        "What stands out is {moved}, which has <<gone up|come down>> {diff} points from its "
        "baseline and is now {now}.",
        "As {bowler.last} turns at the end of his run, {batting} are {runs_so_far} for {down}, "
        "and a {now} chance of {moved} is what the model offers ({base} being par).",
        "Model says: {top} ({top_now}). You say? 🏏 {bowler.last} vs {batter.last} #cricket",
        "Par for {moved} is {base}. Today's figure: {now}.",
        "Facing {bowler} is {batter}, and the model expects {top} more than anything else, with a "
        "probability of {top_now}.",
        "By the model's lights, the likelihood of {moved} <<outstrips|trails>> the baseline, {now} "
        "to {base}.",
        "{batter.last} is the one taking strike, {bowler.last} the one with ball in hand.",
    ),
    "odds": (
        "Put simply, {thing} should turn up about once in {in} such deliveries.",
        "You'd back {thing} to happen one ball in {in}.",
    ),
    "ranked": (
        "{first} tops the chart ({first_now}); {second} is runner-up ({second_now}); {third} "
        "completes the podium ({third_now}).",
        "Only {first} ({first_now}) is rated above {second} ({second_now}).",
        "Outcomes to watch:\n1. {first}: {first_now}\n2. {second}: {second_now}\n3. {third}: "
        "{third_now}",
        "{second} comes in second at {second_now}, some distance behind {first} on {first_now}.",
    ),
    "claim": (
        "To get there it leaned on balls {labels}. When these are withheld, {hit} <<rises|falls>> "
        "to {after} (it was {before}), and statistically that is {verdict}.",
        "Attention centred on deliveries {labels}. Their removal would <<raise|reduce>> the chance "
        "of {hit} from {before} to {after}. This claim is {verdict}.",
        "Balls {labels}: {hit} {before} with, {after} without. {verdict}.",
        "If we pretend balls {labels} never happened, {hit} ends up at {after} and not {before}, "
        "so the story is {verdict}.",
        "The {number} balls {labels} held its attention; without them {hit} would stand at "
        "{after}, compared to {before} with them - {verdict}.",
        "Mask {labels} and you get {after} for {hit} instead of {before} (verdict: {verdict}).",
    ),
    "told_verdict": (
        "It dwelt on balls {labels}, [[and the test backs that up|though the test does not back "
        "that up]].",
        "As for balls {labels}: [[real effect, supported by the test|no real effect, not better "
        "than chance]].",
        "The link to balls {labels} is [[more than coincidence|possibly coincidence]], in other "
        "words {verdict}.",
        "Did balls {labels} matter? [[They did, the test says|The test says no better than "
        "chance]].",
        "Balls {labels} drew the eye, but [[unlike most such stories this one is supported|like "
        "most such stories this one is not supported]].",
    ),
    "cause": (
        "Thanks largely to balls {labels}, the model has {hit} at {before} where it would have had "
        "{after}.",
        "Balls {labels} are why {hit} sits at {before}; take them out and it would be {after}.",
    ),
    "counted": (
        "It looked hard at {labels} - {some} of the {many} found the boundary.",
        "Among the {many} deliveries it remembered ({labels}) there were {some} boundaries.",
        "The balls in question are {labels}, which yielded {some} boundaries between them.",
    ),
    "group": (
        "More than anything, {group} moves {moved}, to the tune of {points} points.",
        "{Group} (worth {points} points) and {other} ({other_points}) pull in opposite directions "
        "on {moved}.",
        "On the contributions side, {group} has the largest say in {moved} at {points} points, "
        "partly offset by {other} at {other_points}.",
        "{Group} <<nudges up|eats into>> {moved}: {points} points.",
    ),
    "record": (
        "If the model knew nothing of {what}, {hit} would be {after} instead of {before} "
        "({verdict}).",
        "Leaving out {what} <<pushes|brings>> {hit} <<up|down>> from {before} to {after}; that is "
        "[[supported|not better than chance]].",
        "{what} is [[a supported influence|not a supported influence]]: {before} for {hit} with "
        "it, {after} without.",
    ),
    "calls": (
        "In the past, when it gave {moved} about {said}, that happened {came} of the time.",
        "For calibration: predictions near {said} were right {came} of the time over {cases} "
        "deliveries.",
        "Such a forecast has come true in {came} of {cases} cases.",
    ),
    "happened": (
        "And the ball itself? {actual}. The model had that down as a {actual_now} shot.",
        "It turned out to be {actual}, carrying {bits} bits of surprise.",
        "{batter.last} ended up with {actual} - {actual_now} before the ball, {bits} bits.",
        "Outcome: {actual} ({actual_now} beforehand).",
    ),
    "event": (
        "{event_bowler.last} had sent down {event} to {event_batter.last} at {event_ball}.",
        "{event_ball}: {event_bowler} to {event_batter}, {event}.",
        "The {event_ball} delivery, from {event_bowler.last} to {event_batter.last}, resulted in "
        "{event}.",
        "Among the earlier balls is {event} at {event_ball}.",
    ),
    "attention": (
        "{relation} soaked up {share} of its attention, when blind chance would have handed them "
        "{uniform}.",
        "Where did it look? {relation} got {share} of the attention, against an even share of "
        "{uniform}.",
    ),
    "weights": (
        "By weight, the {scale} scale supplies {weight} of the final prediction.",
        "Of the memory scales, {scale} matters most to the prediction, with {weight}.",
    ),
    "chase": (
        "Still {runs} to get, {left} balls in which to get them.",
        "{runs} more runs are wanted from {left} deliveries to reach {target}.",
        "The requirement is {runs} from {left}, with {target} to win and {score} on the board.",
    ),
    "rate": (
        "The run rate stands at {rate} after {score}.",
        "{batting}, {score}, scoring at {rate} runs per over.",
    ),
    "nothing": (
        "A word of caution: a weight tells us where the model looked, nothing more.",
        "{batter.last} looks set, but {bowler.last} has a plan.",
        "That's a lot of numbers for one delivery, isn't it?",
        "The rest is noise, and the model says as much.",
        "Two good players, one ball, and a crowd holding its breath.",
        "We should not read too much into patterns that were not tested.",
        "Overall, the picture is mixed.",
    ),
}
