"""The third and fourth set of passages for `grounding_passages`; the first two stand beside it."""

THIRD_PASSAGES = {
    "expected": (
        "{bowler} is bowling to {batter} with the score at {score}. The model gives {moved} a "
        "{now} chance. That is <<higher|lower>> than the {base} it would give with no information.",
        "{top} is the most probable result of this ball, with the model giving it {top_now}.",
        "The probability of {moved} is put at {now}, <<up|down>> from a baseline of {base}, as "
        "{bowler.last} bowls to {batter.last}.",
        "{score} on the scoreboard, {bowler.last} into the attack, {batter.last} on strike, and "
        "the model leans to {top} at {top_now}.",
        "Model's call: {top}, {top_now}. Also notable: {moved} at {now}, compared with {base} "
        "normally.",
        "Before {bowler} bowled this one, the model thought {moved} {now} likely, against a "
        "baseline {base}.",
        "For this delivery {moved} has a {now} probability - that's {diff} points <<more|less>> "
        "than the baseline figure.",
        "{batter} faces {bowler}. Expect {top} ({top_now}), although {moved} has moved furthest "
        "from its baseline, from {base} to {now}.",
        "{batting}'s {batter.last} against {fielding}'s {bowler.last}: the model's best guess is "
        "{top}, at {top_now}.",
        "A <<higher|lower>>-than-usual probability of {moved}, {now} versus {base}, marks this "
        "delivery.",
        "With {down} wickets down and {runs_so_far} runs on the board, {batter.last} takes on "
        "{bowler.last}.",
    ),
    "odds": (
        "That makes {thing} a one in {in} shot.",
        "The odds of {thing} are about 1 in {in}, according to the model.",
    ),
    "ranked": (
        "The model rates {first} likeliest at {first_now}, followed by {second} at {second_now} "
        "and {third} at {third_now}.",
        "{first} ({first_now}) is more likely than {second} ({second_now}), and {third} "
        "({third_now}) comes third.",
        "Its top two: {first} with {first_now}, then {second} with {second_now}.",
        "After {first}, the next most likely outcome is {second}, at {second_now}.",
    ),
    "claim": (
        "The model paid most attention to balls {labels}. With those hidden, the chance of {hit} "
        "changes from {before} to {after}, and this claim is {verdict}.",
        "A head that looked at balls {labels} tells a story that is {verdict}: hiding those balls "
        "from the model moves {hit} from {before} to {after}.",
        "Balls {labels} were singled out. Concealing them takes {hit} from {before} to {after}; "
        "this is {verdict}.",
        "Looking at balls {labels}, the model put {hit} at {before}; hide those balls and the "
        "figure is {after}. That is {verdict}.",
        "When the {number} balls {labels} are hidden, {hit} <<goes up|goes down>> to {after}. The "
        "verdict here is {verdict}.",
        "It considered balls {labels} closely; ignoring them would shift the chance of {hit} from "
        "{before} to {after}, {verdict}.",
    ),
    "told_verdict": (
        "It focused on balls {labels}, a claim which testing [[supported|found to be not better "
        "than chance]].",
        "Its interest in balls {labels} is [[supported|not supported]] by the test.",
        "Balls {labels} were looked at most, [[and hiding them matters more than chance would|but "
        "hiding them matters no more than chance would]].",
        "The claim about balls {labels}: {verdict}.",
        "There is [[good evidence|no good evidence]] that balls {labels} mattered: the verdict is "
        "{verdict}.",
    ),
    "cause": (
        "Because of what it saw at balls {labels}, the model has {hit} at {before} rather than "
        "{after}.",
        "The chance of {hit} is {before}, owing to balls {labels}; otherwise it would be {after}.",
    ),
    "counted": (
        "It looked at balls {labels}, {some} of which were boundaries.",
        "Of the balls it looked at - {labels} - {some} went for boundaries.",
        "Balls {labels} stand out, with {some} boundaries from the {many}.",
    ),
    "group": (
        "{Group} contributes {points} points to {moved}, the biggest contribution of all, while "
        "{other} contributes {other_points} points.",
        "The biggest contributor to {moved} is {group} at {points} points; pulling the other way "
        "is {other} with {other_points}.",
        "{other} pulls the other way, by {other_size} points, but {group} matters most for {moved} "
        "({points} points).",
        "Contributions: {group} {points} points, {other} {other_points} points (for {moved}).",
    ),
    "record": (
        "Hiding {what} would change the chance of {hit} from {before} to {after}, but the verdict "
        "is {verdict}.",
        "{what} was tested as well: without it {hit} is {after}, with it {before}, {verdict}.",
        "As for {what}, removing it <<raises|lowers>> {hit} from {before} to {after}. This is "
        "[[supported|not better than chance]].",
    ),
    "calls": (
        "When the model gives {moved} around {said}, {moved} has actually happened {came} of the "
        "time.",
        "Calls like this are well calibrated: {said} said, {came} seen, over {cases} balls.",
        "On {cases} comparable balls, with an average forecast of {said}, {moved} came {came} of "
        "the time.",
    ),
    "happened": (
        "The actual outcome, {actual}, had been given a probability of {actual_now}.",
        "{batter} then got {actual}, which had a {actual_now} chance, making it a surprise of "
        "{bits} bits.",
        "The ball produced {actual}, {bits} bits of surprise.",
        "What happened: {actual}. The model had it at {actual_now}.",
    ),
    "event": (
        "Ball {event_ball}, bowled by {event_bowler} to {event_batter}, was {event}.",
        "{event_batter.last} faced {event_bowler.last} at ball {event_ball} and the outcome was "
        "{event}.",
        "{Event} at ball {event_ball}, off {event_bowler.last}, is among the balls it remembers.",
        "At ball {event_ball} there had been {event}.",
    ),
    "attention": (
        "On the medium scale {share} of attention went to {relation}, compared with {uniform} if "
        "attention were uniform.",
        "{relation} received {share} of the attention, where {uniform} would be even.",
    ),
    "weights": (
        "Of what reached the prediction, {weight} came from the {scale} scale.",
        "The {scale} scale contributed {weight} of the prediction.",
    ),
    "chase": (
        "The batting side needs {runs} runs from {left} balls to win.",
        "They need {runs} from {left} to reach their target of {target}, having made {score}.",
        "{left} balls remain and {runs} runs are needed.",
    ),
    "rate": (
        "The batting side has been scoring at {rate} runs an over.",
        "{batting} have reached {score}, a run rate of {rate}.",
    ),
    "nothing": (
        "Attention alone is not proof of influence.",
        "One caution: the model may not have seen these players before.",
        "The data also contains flags that a careful reader should keep in mind.",
        "These stories should be read as pictures rather than causes.",
        "{bowler.last} is the bowler and {batter.last} the batter.",
        "Nothing here guarantees what the next ball will bring.",
    ),
}

FOURTH_PASSAGES = {
    "expected": (
        "Right, {bowler.last} to {batter.last}. The computer fancies {top} most of all, {top_now} "
        "the number.",
        "Our model's outlook: {moved} {now} (usually {base}). Score {score}.",
        "In this match-up the likelihood of {moved} comes to {now}, a <<rise|drop>> of {diff} "
        "points on the baseline.",
        "{batting} {score}. Next up: {bowler.last} to {batter.last}. Expect {top} ({top_now}).",
        "1) Forecast - {top} leads with {top_now}.\n2) Versus baseline - {moved} {now}, baseline "
        "{base}.",
        "{moved} looks <<likelier|less likely>> than it normally would: {now}, where we would "
        "usually see {base}.",
        "The clearest signal concerns {moved}. Its chance is {now}, as against {base} on an"
        " average "
        "ball.",
        "If you had to bet, bet on {top}: the model makes it {top_now}.",
        "{batter} is at the crease, {bowler} has the ball, and the board reads {score}.",
        "{fielding} bring on {bowler.last}; {batting}, {runs_so_far} for {down}, have"
        " {batter.last} "
        "in the middle.",
    ),
    "odds": (
        "{thing} happens about one time in every {in} from here.",
        "Call it a one-in-{in} chance of {thing}.",
    ),
    "ranked": (
        "It's {first} ({first_now}) over {second} ({second_now}), with {third} a distant third at "
        "{third_now}.",
        "First choice {first}, {first_now}; second choice {second}, {second_now}.",
        "A {first_now} chance of {first}, {second_now} of {second}, {third_now} of {third}: those "
        "are the leaders.",
    ),
    "claim": (
        "What drew the model in? Balls {labels}. What happens if it can't see them? {hit} "
        "<<rises|falls>> to {after} from {before}. Verdict: {verdict}.",
        "Its eye kept returning to {labels}; with these blanked out, {hit} reads {after}, not "
        "{before}. Statistically: {verdict}.",
        "Suppose the model had never seen balls {labels}. Then {hit} would be {after} rather than "
        "{before}, and that is {verdict}.",
        "Evidence: hide {labels}, and the probability of {hit} <<increases|decreases>> from "
        "{before} to {after} ({verdict}).",
        "Balls {labels} got the lion's share of its attention. Hiding all {number} moves {hit} "
        "to {after} from {before}; {verdict}.",
    ),
    "told_verdict": (
        "It may look as if balls {labels} tell the story, [[and the numbers agree: supported|but "
        "the numbers disagree: not better than chance]].",
        "Balls {labels}? [[Confirmed by the test|Not confirmed by the test]].",
        "The pattern at balls {labels} [[survived testing|did not survive testing]].",
        "On balls {labels} the finding is {verdict}.",
    ),
    "cause": (
        "{hit} has {before}, not {after}, and balls {labels} are the reason for that.",
        "What drives {hit} to {before} from {after}? Largely balls {labels}, due to their effect "
        "on the model.",
    ),
    "counted": (
        "In view were balls {labels}, {some} of those {many} boundaries.",
        "Balls {labels} included {some} boundaries.",
        "From {labels} there were {some} boundaries in all.",
    ),
    "group": (
        "What counts most for {moved} is {group}, {points} points; {other} counts against it, "
        "{other_points} points.",
        "{Group} is worth {points} points to {moved}.",
        "Break it down and {group} gives {moved} {points} points, {other} {other_points}.",
    ),
    "record": (
        "And {what}? Hide it and {hit} reads {after}, down or up from {before}: {verdict}.",
        "Without {what}, {hit} would be {after}; with it, {before}. [[That is supported|That is "
        "not better than chance]].",
    ),
    "calls": (
        "Can you trust it? At about {said}, {moved} came true {came} of the time.",
        "History says that {moved}, when rated near {said}, came {came} of the time.",
    ),
    "happened": (
        "And it's {actual}! The model had given that {actual_now}.",
        "So {actual} it proved, {actual_now} beforehand and worth {bits} bits of surprise.",
        "{batter.last} made it {actual}. Rated {actual_now} by the model.",
        "Afterwards: {actual}, a surprise of {bits} bits.",
    ),
    "event": (
        "Earlier, at {event_ball}, {event_bowler.last} was up against {event_batter.last} and it "
        "brought {event}.",
        "Consider ball {event_ball}: {event} for {event_batter.last} against {event_bowler.last}.",
        "{event_ball} saw {event}.",
        "We had {event} with the {event_ball} ball.",
    ),
    "attention": (
        "{relation} took {share} of the model's attention; spread evenly it would have been "
        "{uniform}.",
        "It gave {relation} {share} of its attention when an even split gives {uniform}.",
    ),
    "weights": ("{weight} of the prediction comes by way of the {scale} scale.",),
    "chase": (
        "{runs} wanted, {left} balls left, {target} the target.",
        "With {left} deliveries to go they need another {runs}.",
    ),
    "rate": (
        "{rate} an over so far for {batting}.",
        "They've got to {score} at {rate} per over.",
    ),
    "nothing": (
        "So much for the theory; the ball has its own ideas.",
        "{bowler.last} against {batter.last} is worth the ticket price alone.",
        "Where the evidence is thin, the model stays modest, and so should we.",
        "The other heads tell no clear story.",
        "Keep an eye on how the field is set.",
    ),
}
