// What if somebody else had bowled, or a past ball had gone otherwise: before and after.
(function () {
  const KNOWN = ["0", "1", "2", "3", "4", "5", "6", "W", "wd", "nb", "bye"];
  let asked = [];

  A.whatIf = {
    build(state, innings) {
      asked = [];
      const told = innings.told.innings,
        side = (names, label) => {
          const select = A.el(
            "select",
            { id: "what-if-" + label },
            A.el("option", { value: "" }, "as it was"),
            names.map((name) => A.el("option", { value: name }, name)),
            A.el("option", { value: "*" }, "somebody else …"),
          );
          const other = A.el("input", {
            type: "text",
            hidden: true,
            maxlength: 80,
            placeholder: "name",
            "aria-label": "another " + label,
          });
          select.addEventListener("change", () => {
            other.hidden = select.value !== "*";
            if (!other.hidden) other.focus();
          });
          return { select, other, value: () => (select.value === "*" ? other.value.trim() : select.value) };
        };
      this.bowler = side(told.bowlers, "bowler");
      this.batter = side(told.batters, "batter");
      this.target = A.el("input", {
        type: "number",
        min: 1,
        max: 999,
        step: 1,
        id: "what-if-target",
        placeholder: told.target === null ? "" : String(told.target),
      });
      this.ball = A.el("select", { id: "what-if-ball", "aria-label": "past ball" });
      this.outcome = A.el(
        "select",
        { id: "what-if-outcome", "aria-label": "its outcome" },
        KNOWN.map((one) => A.el("option", { value: one }, A.outcomeNames[one])),
      );
      this.list = A.el("ul", { class: "chips" });
      const add = A.el("button", { type: "button", onclick: () => this.add() }, "Add");
      const form = A.el(
        "form",
        {
          class: "form",
          onsubmit: (event) => {
            event.preventDefault();
            this.ask();
          },
        },
        A.el("label", null, "Bowler", this.bowler.select, this.bowler.other),
        A.el("label", null, "Batter", this.batter.select, this.batter.other),
        told.target !== null ? A.el("label", null, "Target", this.target) : null,
        A.el(
          "fieldset",
          null,
          A.el("legend", null, "Past balls"),
          this.ball,
          " was ",
          this.outcome,
          " ",
          add,
          this.list,
        ),
        A.el("button", { type: "submit", class: "primary" }, "Ask"),
      );
      A.put("what-if-form", form);
      this.state = state;
      this.innings = innings;
      this.move(state);
    },
    move(state) {
      const innings = this.innings,
        at = state.ball - 1,
        chosen = this.ball.value;
      this.ball.replaceChildren(
        ...innings.balls
          .slice(Math.max(0, at - 36), at)
          .reverse()
          .map((ball) =>
            A.el(
              "option",
              { value: ball.index },
              ball.label +
                " " +
                A.short(ball.bowler) +
                " to " +
                A.short(ball.batter) +
                ": " +
                A.outcomeNames[ball.outcome],
            ),
          ),
      );
      this.ball.parentNode.hidden = !this.ball.options.length;
      if ([...this.ball.options].some((one) => one.value === chosen)) this.ball.value = chosen;
      if (this.shown !== state.ball + "/" + innings.number + innings.model) {
        A.put("what-if-answer");
        this.shown = null;
        A.menu("what-if", []);
        A.at("what-if-tools").replaceChildren();
      }
    },
    add() {
      if (!this.ball.value) return;
      asked = asked.filter(([ball]) => ball !== this.ball.value);
      asked.push([this.ball.value, this.outcome.value]);
      this.chips();
    },
    chips() {
      this.list.replaceChildren(
        ...asked.map(([ball, outcome], number) =>
          A.el(
            "li",
            null,
            this.innings.balls[Number(ball) - 1].label + " was " + A.outcomeNames[outcome] + " ",
            A.el(
              "button",
              {
                type: "button",
                "aria-label": "take it out",
                onclick: () => {
                  asked.splice(number, 1);
                  this.chips();
                },
              },
              "×",
            ),
          ),
        ),
      );
    },
    async ask() {
      const { state, innings } = this,
        ball = state.ball;
      A.put("what-if-answer", A.el("p", { class: "loading" }, "asking"));
      try {
        const body = {
          bowler: this.bowler.value(),
          batter: this.batter.value(),
          target: this.target.value || null,
          balls: Object.fromEntries(asked),
        };
        const url =
          "/ask/" +
          encodeURIComponent(innings.key) +
          "/" +
          innings.number +
          "/" +
          ball +
          "/what-if" +
          A.asked(innings.key, innings.model);
        const answer = await A.post(url, JSON.stringify(body));
        if (state.ball !== ball) return;
        this.shown = ball + "/" + innings.number + innings.model;
        this.show(answer);
      } catch (error) {
        A.put("what-if-answer", A.el("p", { class: "trouble", role: "alert" }, error.message));
      }
    },
    show(answer) {
      A.put(
        "what-if-answer",
        A.el(
          "div",
          { class: "columns auto" },
          A.el(
            "div",
            null,
            A.el("h3", null, "Before and after"),
            A.el("div", { id: "what-if-plot", class: "plot" }),
          ),
          A.el(
            "div",
            null,
            A.el("h3", null, "What is different"),
            A.el(
              "ul",
              { class: "changes" },
              answer.changes.map((one) => A.el("li", null, one.text + (one.follows ? " (it follows)" : ""))),
            ),
            answer.narrative.map((one) => A.el("p", { class: "sentence" }, one.text)),
            answer.flags.length
              ? A.el(
                  "details",
                  { class: "flags" },
                  A.el("summary", null, A.count(answer.flags.length, "caution")),
                  A.el(
                    "ul",
                    null,
                    answer.flags.map((one) => A.el("li", null, one.text)),
                  ),
                )
              : null,
          ),
        ),
      );
      const svg = A.outcomeBars.draw("what-if-plot", {
        now: answer.outcomes.map((one) => one.after),
        base: answer.outcomes.map((one) => one.before),
        label: "Before and after",
        than: "before",
        nowName: "after",
        baseName: "before",
        actual: null,
        chosen: answer.top_change.outcome,
      });
      A.figureMenu(
        "what-if",
        () => svg,
        () => [
          ["outcome", "before", "after", "points"],
          ...answer.outcomes.map((one) => [one.outcome, one.before, one.after, one.points]),
        ],
        [
          [
            "JSON",
            () => A.saveText(JSON.stringify(answer, null, 2), A.stem() + "-what-if.json", "application/json"),
          ],
        ],
      );
      A.say(
        "Answered: the chance of " +
          A.outcomeNames[answer.top_change.outcome] +
          " goes from " +
          A.percent(answer.top_change.before, true) +
          " to " +
          A.percent(answer.top_change.after, true),
      );
    },
  };
})();
