// A forward pass, step by step: an equation, the numbers it gave, and those it was made of.
(function () {
  const MADE_OF = 4; // values that a step is made of
  const PACE = 1400; // milliseconds a step when it is played
  let page, trace, given, values, at, playing;

  A.pages.models = () => {};
  A.pages.model = async (data) => {
    page = data;
    trace = null;
    A.stem = () => `attnlens-${page.name}`;
    const field = A.el("input", {
      id: "model-text",
      type: "text",
      size: 34,
      maxlength: 400,
      "aria-describedby": "model-how",
    });
    A.put(
      "model-input",
      page.from_file
        ? A.p(
            "quiet",
            "Shown with a ball of an invented match. For a match of yours: ",
            A.el("code", null, `attnlens trace ${page.name} MATCH`),
            ".",
          )
        : A.el(
            "form",
            {
              class: "form",
              onsubmit: (event) => {
                event.preventDefault();
                stop();
                load(field.value).then((done) => done && remember("push"));
              },
            },
            A.el("label", null, "Input", field),
            A.el("button", { type: "submit", class: "primary" }, "Run"),
            A.el("span", { class: "quiet", id: "model-how" }, page.input),
          ),
      A.el("p", { id: "model-said", role: "status", class: "quiet" }),
    );
    const onKeys = (event) => keys(event),
      onBack = () => {
        if (location.pathname === `/models/${page.name}`) {
          stop();
          show();
        }
      };
    document.addEventListener("keydown", onKeys);
    window.addEventListener("popstate", onBack);
    A.leave.push(() => {
      stop();
      document.removeEventListener("keydown", onKeys);
      window.removeEventListener("popstate", onBack);
    });
    A.redraw = () => {
      if (trace) draw();
    };
    await show();
    document.body.dataset.ready = "yes";
  };
  // What the address asks for; without an input, the model's own example.
  async function show() {
    const asked = new URLSearchParams(location.search),
      input = page.from_file ? null : (asked.get("input") ?? page.example),
      field = A.at("model-text");
    at = 0;
    if (field) field.value = input ?? "";
    await load(input, Number(asked.get("step")) || null);
    if (field && input === null && trace) field.value = trace.about;
  }

  async function load(text, step) {
    A.put("model-said", "Running …");
    const here = page;
    try {
      const found = await A.get(
        "/trace/" +
          encodeURIComponent(page.name) +
          ".json" +
          (text === null ? "" : `?input=${encodeURIComponent(text)}`),
      );
      if (here !== page) return false;
      trace = found;
      A.stepValues.of(trace);
      given = text;
    } catch (error) {
      if (here !== page) return false;
      A.put("model-said", A.el("span", { class: "trouble", role: "alert" }, error.message));
      if (!trace)
        for (const id of ["steps-list", "step-shown"]) A.put(id, A.p("empty", "Nothing has run yet."));
      return false;
    }
    values = [...trace.inputs.map((one) => ({ ...one, input: true })), ...trace.steps];
    const checked = trace.retraced;
    A.put(
      "model-said",
      trace.about +
        ". " +
        (checked.not_retraced.length
          ? `${checked.equations - checked.not_retraced.length} of ${checked.equations}`
          : `All ${checked.equations}`) +
        " equations were worked out again by numpy: largest difference " +
        checked.largest_difference.toExponential(1) +
        ".",
    );
    at = Math.max(
      0,
      Math.min(
        values.length - 1,
        step === null || step === undefined ? Math.min(at, values.length - 1) : step - 1,
      ),
    );
    steps();
    draw();
    return true;
  }
  function remember(how) {
    const asked = new URLSearchParams();
    if (given !== null) asked.set("input", given);
    asked.set("step", at + 1);
    history[how === "push" ? "pushState" : "replaceState"](
      history.state,
      "",
      `/models/${encodeURIComponent(page.name)}?${asked}`,
    );
  }
  function choose(next) {
    if (next < 0 || next >= values.length || next === at) return;
    at = next;
    draw();
    remember();
  }
  function keys(event) {
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) ||
      !trace
    )
      return;
    const next = {
      ArrowRight: at + 1,
      ArrowDown: at + 1,
      ArrowLeft: at - 1,
      ArrowUp: at - 1,
      Home: 0,
      End: values.length - 1,
    }[event.key];
    if (event.target.closest(".scroll")) return;
    if (next !== undefined) {
      event.preventDefault();
      choose(Math.max(0, Math.min(values.length - 1, next)));
    } else if (event.key === " " && event.target.tagName !== "BUTTON") {
      event.preventDefault();
      toggle();
    }
  }
  function stop() {
    clearInterval(playing);
    playing = null;
    const button = A.at("model-play");
    if (button) {
      button.textContent = "▶ Play";
      button.setAttribute("aria-pressed", "false");
    }
  }
  function toggle() {
    if (playing) {
      stop();
      return;
    }
    if (at === values.length - 1) choose(0);
    playing = setInterval(() => {
      if (at === values.length - 1) stop();
      else choose(at + 1);
    }, PACE);
    A.at("model-play").textContent = "⏸ Pause";
    A.at("model-play").setAttribute("aria-pressed", "true");
  }
  function steps() {
    A.put(
      "steps-list",
      A.el(
        "ol",
        { class: "steps" },
        values.map((one, place) =>
          A.li(
            null,
            A.el(
              "button",
              {
                type: "button",
                class: "step",
                "data-step": place,
                onclick: () => {
                  stop();
                  choose(place);
                },
              },
              A.b(null, symbol(one.symbol)),
              " ",
              A.span("quiet", one.description),
            ),
          ),
        ),
      ),
    );
    A.menu("steps", [
      ...page.texts.map((name) => [
        {
          "equations.md": "Equations (Markdown)",
          "equations.tex": "Equations (LaTeX)",
          "equations.txt": "As in the terminal (.txt)",
        }[name] || name,
        `/models/${encodeURIComponent(page.name)}/${name}`,
      ]),
      [
        "Every number (.json)",
        () => A.saveText(JSON.stringify(trace), `${A.stem()}-trace.json`, "application/json"),
      ],
    ]);
  }

  // h_{attn} and W_Q as a reader expects them: what is below the line, below the line.
  function symbol(text) {
    const parts = [];
    for (const found of text.matchAll(
      /([_^])(\{[^}]*\}|\([^)]*\)|[A-Za-z0-9]+(?:[._,][A-Za-z0-9]+)*)|([^_^]+|[_^])/g,
    )) {
      parts.push(
        found[1] ? A.el(found[1] === "_" ? "sub" : "sup", null, found[2].replace(/[{}]/g, "")) : found[3],
      );
    }
    return parts;
  }
  function draw() {
    const one = values[at];
    A.all("[data-step]").forEach((button) => {
      const here = Number(button.dataset.step) === at;
      button.setAttribute("aria-pressed", String(here));
      if (here) {
        const list = button.parentElement.parentElement,
          top = button.offsetTop - list.offsetTop;
        if (top < list.scrollTop || top > list.scrollTop + list.clientHeight - 40)
          list.scrollTop = top - list.clientHeight / 2;
      }
    });
    const sources = madeOf(one);
    const go = (by, text, label) =>
      A.el(
        "button",
        {
          type: "button",
          "aria-label": label,
          disabled: at + by < 0 || at + by >= values.length,
          onclick: () => {
            stop();
            choose(at + by);
          },
        },
        text,
      );
    A.put(
      "step-shown",
      A.div(
        "group stepper",
        go(-1, "◀", "the step before"),
        A.el(
          "button",
          { type: "button", id: "model-play", "aria-pressed": String(Boolean(playing)), onclick: toggle },
          playing ? "⏸ Pause" : "▶ Play",
        ),
        go(1, "▶", "the next step"),
        A.span("quiet", `${at + 1} of ${values.length}`),
      ),
      A.p("equation", symbol(one.equation || one.symbol)),
      A.p(
        "quiet",
        one.description +
          (one.shape.length ? `, ${one.shape.join(" by ")}` : "") +
          (one.input
            ? ""
            : one.difference === null
              ? "; not worked out again"
              : one.difference
                ? `; worked out again: off by ${one.difference.toExponential(0)}`
                : "; worked out again: the same"),
      ),
      A.stepValues.drawn(one, true),
      sources.length ? A.h3(null, "Made of") : null,
      A.div(
        "made-of",
        sources.map((other) =>
          A.el(
            "figure",
            null,
            A.el(
              "figcaption",
              null,
              A.el(
                "button",
                {
                  type: "button",
                  class: "link",
                  onclick: () => {
                    stop();
                    choose(values.indexOf(other));
                  },
                },
                symbol(other.symbol),
              ),
              " ",
              A.span("quiet", other.description),
            ),
            A.stepValues.drawn(other, false),
          ),
        ),
      ),
    );
    A.menu("step", [
      ["PNG", () => A.savePNG(A.stepValues.figure(one), `${A.stem()}-step-${at + 1}`)],
      ["SVG", () => A.saveSVG(A.stepValues.figure(one), `${A.stem()}-step-${at + 1}`)],
      ["CSV", () => A.saveText(A.csv(A.stepValues.rows(one)), `${A.stem()}-step-${at + 1}.csv`, "text/csv")],
    ]);
    A.say(
      "Step " +
        (at + 1) +
        " of " +
        values.length +
        ": " +
        (one.equation || one.symbol) +
        ", " +
        one.description,
    );
  }
  // Values whose symbols stand on the equation's right side, the latest first.
  function madeOf(one) {
    const right = (one.equation || "").split(" = ").slice(1).join(" = ");
    if (!right) return [];
    const found = values.slice(0, at).filter((other) => {
      const plain = other.symbol.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
      return new RegExp(`(?<![A-Za-z0-9_^.{])(?<!\\^\\()${plain}(?![A-Za-z0-9_^]|[.,][A-Za-z0-9])`).test(
        right,
      );
    });
    return found.slice(-MADE_OF);
  }
})();
