// A forward pass, step by step: an equation, the numbers it gave, and those it was made of.
(function () {
  const NUMBERED = 12,
    TALLEST = 24,
    WIDEST = 128,
    MADE_OF = 4,
    PACE = 1400;
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
        ? A.el(
            "p",
            { class: "quiet" },
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
      given = text;
    } catch (error) {
      if (here !== page) return false;
      A.put("model-said", A.el("span", { class: "trouble", role: "alert" }, error.message));
      if (!trace)
        for (const id of ["steps-list", "step-shown"])
          A.put(id, A.el("p", { class: "empty" }, "Nothing has run yet."));
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
          A.el(
            "li",
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
              A.el("b", null, symbol(one.symbol)),
              " ",
              A.el("span", { class: "quiet" }, one.description),
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
      A.el(
        "div",
        { class: "group stepper" },
        go(-1, "◀", "the step before"),
        A.el(
          "button",
          { type: "button", id: "model-play", "aria-pressed": String(Boolean(playing)), onclick: toggle },
          playing ? "⏸ Pause" : "▶ Play",
        ),
        go(1, "▶", "the next step"),
        A.el("span", { class: "quiet" }, `${at + 1} of ${values.length}`),
      ),
      A.el("p", { class: "equation" }, symbol(one.equation || one.symbol)),
      A.el(
        "p",
        { class: "quiet" },
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
      drawn(one, true),
      sources.length ? A.el("h3", null, "Made of") : null,
      A.el(
        "div",
        { class: "made-of" },
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
              A.el("span", { class: "quiet" }, other.description),
            ),
            drawn(other, false),
          ),
        ),
      ),
    );
    A.menu("step", [
      ["PNG", () => A.savePNG(figure(one), `${A.stem()}-step-${at + 1}`)],
      ["SVG", () => A.saveSVG(figure(one), `${A.stem()}-step-${at + 1}`)],
      ["CSV", () => A.saveText(A.csv(rows(one)), `${A.stem()}-step-${at + 1}.csv`, "text/csv")],
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

  const depth = (value) => (Array.isArray(value) ? 1 + (value.length ? depth(value[0]) : 0) : 0);
  // Maps of rows and columns: one for each place of the axes before.
  function maps(one) {
    const labels = one.axes.map((name) => trace.labels[name]),
      dims = depth(one.values);
    if (dims === 0) return [{ name: "", rows: [[one.values]], across: null, down: null }];
    if (dims === 1) return [{ name: "", rows: [one.values], across: labels[0], down: null }];
    const found = [];
    (function walk(value, place, names) {
      if (dims - place === 2)
        found.push({ name: names.join(", "), rows: value, down: labels[place], across: labels[place + 1] });
      else
        value.forEach((part, number) =>
          walk(part, place + 1, [
            ...names,
            `${one.axes[place] || "part"} ${(labels[place] || [])[number] || number}`,
          ]),
        );
    })(one.values, 0, []);
    return found;
  }
  function rows(one) {
    return maps(one).flatMap((map) => [
      [map.name, ...(map.across || map.rows[0].map((_, c) => c))],
      ...map.rows.map((row, r) => [(map.down || [])[r] || r, ...row]),
    ]);
  }
  // A step as one drawing, to be taken away: its equation, its maps, and numbers where there is room.
  function figure(one) {
    const all = maps(one).slice(0, 8),
      most = largest(all),
      gap = 26,
      top = 30,
      left = 84;
    const cell = (map) =>
      map.rows[0].length <= NUMBERED ? [58, 20] : [Math.max(4, 700 / map.rows[0].length), 10];
    const wide = Math.max(320, ...all.map((map) => left + map.rows[0].length * cell(map)[0] + 10)),
      tall = top + all.reduce((sum, map) => sum + gap + map.rows.length * cell(map)[1] + 16, 0);
    const svg = A.svg(
      "svg",
      { viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall },
      A.svg("rect", { width: wide, height: tall, fill: A.colour("panel") }),
      A.svg(
        "text",
        { x: 10, y: 20, fill: A.colour("text"), "font-size": 14, "font-weight": 600 },
        one.equation || one.symbol,
      ),
    );
    let y = top;
    for (const map of all) {
      const [width, height] = cell(map),
        word = (text, x, at, anchor) =>
          A.svg(
            "text",
            { x, y: at, fill: A.colour("quiet"), "font-size": 10, "text-anchor": anchor || "start" },
            A.clip(String(text), 14),
          );
      y += gap;
      if (map.name) svg.append(word(map.name, 10, y - 8));
      if (width >= 40 && map.across)
        map.rows[0].forEach((_, c) =>
          svg.append(word(map.across[c] ?? "", left + (c + 0.5) * width, y - 6, "middle")),
        );
      map.rows.forEach((row, r) => {
        if (height >= 10 && map.rows.length > 1)
          svg.append(word((map.down || [])[r] ?? r, left - 6, y + r * height + height * 0.7, "end"));
        row.forEach((value, c) => {
          const number = numeric(value) || 0,
            share = Math.min(1, Math.abs(number) / most);
          svg.append(
            A.svg("rect", {
              x: left + c * width,
              y: y + r * height,
              width,
              height,
              fill: A.colour(number < 0 ? "down" : "up"),
              "fill-opacity": (0.62 * share).toFixed(3),
            }),
          );
          if (width >= 40)
            svg.append(
              A.svg(
                "text",
                {
                  x: left + (c + 1) * width - 5,
                  y: y + r * height + 14,
                  fill: A.colour("text"),
                  "font-size": 10,
                  "text-anchor": "end",
                },
                said(value),
              ),
            );
        });
      });
      y += map.rows.length * height + 16;
    }
    return svg;
  }
  const largest = (all) =>
    Math.max(1e-12, ...all.flatMap((map) => map.rows.flat()).map((value) => Math.abs(numeric(value) ?? 0)));
  const numeric = (value) =>
    typeof value === "number" ? value : typeof value === "boolean" ? Number(value) : null;
  function drawn(one, large) {
    const all = maps(one),
      most = largest(all);
    const shown = all.slice(0, large ? 8 : 2);
    return A.el(
      "div",
      { class: large ? "values" : "values small" },
      shown.map((map) =>
        A.el(
          "div",
          null,
          map.name ? A.el("p", { class: "quiet" }, map.name) : null,
          map.rows[0].length <= (large ? NUMBERED : 6) && map.rows.length <= (large ? TALLEST : 8)
            ? table(map, most)
            : picture(map, most, one, large),
        ),
      ),
      all.length > shown.length
        ? A.el("p", { class: "quiet" }, `and ${all.length - shown.length} more; the files have all`)
        : null,
    );
  }
  const said = (value) =>
    (typeof value !== "number"
      ? String(value)
      : Number.isInteger(value)
        ? String(value)
        : Math.abs(value) >= 100
          ? value.toFixed(1)
          : value.toFixed(3)
    ).replace("-", "−");
  function colour(value, most) {
    const number = numeric(value);
    if (number === null || !number) return null;
    return (
      "background:color-mix(in srgb, var(--" +
      (number < 0 ? "down" : "up") +
      ") " +
      Math.round(62 * Math.min(1, Math.abs(number) / most)) +
      "%, transparent)"
    );
  }
  function table(map, most) {
    return A.el(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Numbers" },
      grid(map, most),
    );
  }
  function grid(map, most) {
    return A.el(
      "table",
      { class: "numbers" },
      map.across
        ? A.el(
            "thead",
            null,
            A.el(
              "tr",
              null,
              map.down || map.rows.length > 1 ? A.el("td", null) : null,
              map.across.slice(0, map.rows[0].length).map((name) => A.el("th", { scope: "col" }, name)),
            ),
          )
        : null,
      A.el(
        "tbody",
        null,
        map.rows.map((row, r) =>
          A.el(
            "tr",
            null,
            map.down || map.rows.length > 1 ? A.el("th", { scope: "row" }, (map.down || [])[r] ?? r) : null,
            row.map((value) => A.el("td", { class: "number", style: colour(value, most) }, said(value))),
          ),
        ),
      ),
    );
  }
  function picture(map, most, one, large) {
    const tall = map.rows.length,
      wide = map.rows[0].length,
      canvas = A.el("canvas", {
        class: "pixels",
        role: "img",
        "aria-label": `${one.symbol}, ${tall} by ${wide}${map.name ? `, ${map.name}` : ""}`,
      });
    canvas.width = wide;
    canvas.height = tall;
    const context = canvas.getContext("2d"),
      image = context.createImageData(wide, tall);
    const ends = ["panel", "up", "down"].map((name) =>
      [1, 3, 5].map((place) => parseInt(A.colour(name).slice(place, place + 2), 16)),
    );
    map.rows.forEach((row, r) =>
      row.forEach((value, c) => {
        const number = numeric(value) || 0,
          share = Math.min(1, Math.abs(number) / most),
          to = (r * wide + c) * 4,
          end = ends[number < 0 ? 2 : 1];
        for (let part = 0; part < 3; part++)
          image.data[to + part] = ends[0][part] + (end[part] - ends[0][part]) * share;
        image.data[to + 3] = 255;
      }),
    );
    context.putImageData(image, 0, 0);
    const cell = large ? Math.max(5, Math.min(18, 720 / Math.min(WIDEST, wide))) : 4;
    const read = A.el("p", { class: "quiet small" }, `${tall} by ${wide}, largest ${said(most)}`);
    canvas.style.cssText =
      "width:min(100%, " +
      Math.round(wide * cell) +
      "px);height:" +
      Math.round(Math.min(460, Math.max(8, tall * cell))) +
      "px";
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect(),
        r = Math.min(tall - 1, Math.floor(((event.clientY - box.top) / box.height) * tall)),
        c = Math.min(wide - 1, Math.floor(((event.clientX - box.left) / box.width) * wide));
      if (r >= 0 && c >= 0)
        read.textContent =
          ((map.down || [])[r] ?? `row ${r}`) +
          ", " +
          ((map.across || [])[c] ?? `column ${c}`) +
          ": " +
          said(map.rows[r][c]);
    });
    return [canvas, read, large ? A.tableBeside("The same as a table", () => grid(map, most)) : null];
  }
})();
