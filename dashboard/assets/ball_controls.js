// Ways through a match: innings, steps, playing, keys.
(function () {
  const PACE = 650; // milliseconds a ball when it is played
  let playing = null;

  /** The story, and each innings that has a ball. */
  A.inningsTabs = (page, number, other) => {
    const sides = page.about.innings.filter((one) => one.balls);
    const words = (one) => [
      one.super_over ? "super over, " : null,
      A.el("bdi", null, one.batting),
      A.small(null, ` ${one.total}/${one.wickets}`),
    ];
    const tab = (one) =>
      A.el(
        "button",
        { type: "button", "aria-pressed": String(one.number === number), onclick: () => other(one.number) },
        words(one),
      );
    const story = A.link(`/match/${encodeURIComponent(page.key)}`, { class: "button" }, "◂ Story");
    return [story, A.el("div", { class: "tabs", role: "group", "aria-label": "Innings" }, sides.map(tab))];
  };

  /** One ball on or back, playing, and a ball by its name. */
  A.steps = (at, choose, goTo) => {
    const step = (by, text, label) => A.button(text, () => choose(at() + by), { "aria-label": label });
    const play = A.button("▶ Play", A.play.toggle, { class: "play", id: "play", "aria-pressed": "false" });
    A.play.next = () => choose(at() + 1, "replace");
    const label = A.el("input", {
      type: "text",
      id: "go-to",
      size: 6,
      "aria-label": "Go to a ball: 47, or 7.2",
      placeholder: "47 or 7.2",
    });
    const onsubmit = (event) => {
      event.preventDefault();
      goTo(label.value);
    };
    return [
      A.div("group", step(-1, "◀", "the ball before"), play, step(1, "▶", "the next ball")),
      A.el("form", { class: "group", onsubmit }, label, A.el("button", { type: "submit" }, "Go")),
    ];
  };

  A.play = {
    next: () => {},
    toggle: () => (playing ? A.play.stop() : start()),
    stop: () => {
      clearInterval(playing);
      playing = null;
      shown("▶ Play", "false");
    },
  };
  function start() {
    shown("❚❚ Stop", "true");
    playing = setInterval(() => {
      const before = location.pathname;
      A.play.next();
      if (location.pathname === before) A.play.stop();
    }, PACE);
  }
  function shown(text, pressed) {
    const button = A.at("play");
    if (!button) return;
    button.textContent = text;
    button.setAttribute("aria-pressed", pressed);
  }

  A.ballKeys = (event, here) => {
    const held = event.ctrlKey || event.metaKey || event.altKey;
    if (!here || held || A.typing(event) || document.querySelector("dialog[open]")) return;
    const { state, innings, page, choose, change } = here;
    const at = state.ball - 1;
    const far = event.shiftKey ? 6 : 1;
    const moves = {
      ArrowLeft: at - far,
      ArrowRight: at + far,
      Home: 0,
      End: innings.count - 1,
      PageUp: at - 12,
      PageDown: at + 12,
    };
    const sides = page.about.innings.filter((one) => one.balls).map((one) => one.number);
    const side = sides.indexOf(state.number) + ({ "[": -1, "]": 1 }[event.key] || 0);
    if (event.key in moves) {
      event.preventDefault();
      choose(moves[event.key]);
    } else if (event.key === " " && !/^(BUTTON|SUMMARY|A)$/.test(event.target.tagName)) {
      event.preventDefault();
      A.play.toggle();
    } else if (/^[1-4]$/.test(event.key)) change({ scale: here.scales[event.key - 1], head: null });
    else if (event.key === "v") {
      const names = Object.keys(A.viewNames);
      change({ view: names[(names.indexOf(state.view) + 1) % names.length] });
      A.say(`View: ${A.viewNames[state.view]}`);
    } else if (event.key === "h") {
      const many = innings.scale(state.scale).heads.length;
      change({ head: state.head === null ? 0 : (state.head + 1) % many });
    } else if (event.key === "c") here.drawer(!A.at("evidence").classList.contains("open"));
    else if (event.key === "Escape" && A.at("evidence").classList.contains("open")) here.drawer(false);
    else if (event.key === "Escape" && state.head !== null) A.changeHead(null);
    else if ("[]".includes(event.key) && sides[side]) here.otherInnings(sides[side]);
  };
})();
