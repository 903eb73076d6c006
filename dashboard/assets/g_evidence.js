"use strict";
// What an explanation says in words, with verdicts; each claim lights its balls up.
(function () {
  const A = window.attnlens;
  const KINDS = { supported: ["good", "✓"], "not better than chance": ["even", "–"], contradicted: ["bad", "✗"] };

  A.badge = (verdict, reason) => {
    const [kind, mark] = KINDS[verdict] || ["none", "○"];
    return A.el("span", { class: "badge " + kind, title: reason || "" }, A.el("span", { "aria-hidden": "true" }, mark), verdict || "picture only");
  };

  A.narrative = (explanation, light) => {
    const sentences = explanation.narrative.filter((one) => !one.facts.length || one.facts.some((fact) => !fact.pointer.startsWith("/flags/"))).map((sentence) => {
      const parts = [];
      let rest = sentence.text, claim = null;
      for (const fact of sentence.facts) {
        const found = /^\/evidence\/(\d+)\//.exec(fact.pointer);
        if (found && claim === null) claim = Number(found[1]);
        const at = rest.indexOf(fact.text);
        if (at < 0) continue;
        parts.push(rest.slice(0, at), fact.pointer.endsWith("/verdict") ? A.badge(fact.text) : A.el("b", null, fact.text));
        rest = rest.slice(at + fact.text.length);
      }
      parts.push(rest);
      const balls = claim !== null ? explanation.evidence[claim].removed : [];
      return A.el("p", { class: "sentence" }, parts, balls.length ? [" ", A.el("button", { type: "button", class: "light", "data-claim": claim, "aria-pressed": "false",
        onclick: () => light(claim) }, "show its balls")] : null);
    });
    A.put("narrative-text", sentences,
      explanation.flags.length ? A.el("details", { class: "flags" }, A.el("summary", null, A.count(explanation.flags.length, "caution")),
        A.el("ul", null, explanation.flags.map((flag) => A.el("li", null, flag.text)))) : null);
  };

  const ORDER = { supported: 0, contradicted: 1, "not better than chance": 2 };
  A.evidence = (explanation, state, light) => {
    const claims = explanation.evidence.map((claim, number) => ({ claim, number }));
    const nats = claims.flatMap(({ claim }) => [claim.effect_nats, ...(claim.control_quantiles_nats || [])]).filter((one) => one > 0);
    const low = Math.log10(Math.max(1e-7, Math.min(...nats, 1e-4))), high = Math.log10(Math.max(...nats, 1e-3));
    const place = (value) => (value > 0 ? Math.max(0, Math.min(1, (Math.log10(value) - low) / (high - low || 1))) : 0);
    const whole = claims.filter(({ claim }) => claim.removed_from === "model" || claim.scale === null);
    const single = claims.filter((one) => !whole.includes(one));
    const sorted = (list) => list.sort((one, two) => (ORDER[one.claim.verdict] ?? 3) - (ORDER[two.claim.verdict] ?? 3) || two.claim.effect_nats - one.claim.effect_nats);
    const row = ({ claim, number }) => A.el("li", null, A.el("button", { type: "button", class: "claim", "data-claim": number, "aria-pressed": String(state.claim === number),
        disabled: !claim.removed.length, onclick: () => light(number) },
      A.el("span", { class: "claim-head" }, A.badge(claim.verdict, claim.reason), A.el("span", { class: "change" },
        "P(" + claim.top_change.outcome + ") " + A.percent(claim.top_change.before, true) + " → " + A.percent(claim.top_change.after, true))),
      A.el("span", { class: "claim-text" }, claim.claim),
      strip(claim, place),
      A.el("span", { class: "quiet small" }, [claim.reason, claim.p !== null ? "p " + figure(claim.p) : null, claim.q !== null ? "q " + figure(claim.q) : null,
        "effect " + claim.effect_nats.toExponential(1) + " nats", claim.controls ? A.count(claim.controls, "control") + (claim.control ? ": " + claim.control : "") : null]
        .filter(Boolean).join(" · "))));
    const judged = sorted(whole).filter(({ claim }) => claim.verdict), shown = judged.slice(0, 6), rest = sorted(whole).filter((one) => !shown.includes(one));
    const supported = judged.filter(({ claim }) => claim.verdict === "supported").length;
    A.put("evidence-list", A.el("p", null, A.el("b", null, supported + " of " + judged.length), " claims that could be tested are supported."), A.el("ul", { class: "claims" }, shown.map(row)),
      rest.length ? A.el("details", { class: "more" }, A.el("summary", null, A.count(rest.length, "more claim") + ", among them those with too few other balls to compare with"), A.el("ul", { class: "claims" }, rest.map(row))) : null,
      single.length ? A.el("details", { class: "more" }, A.el("summary", null, "The same hidden from one head alone (" + single.length + ")"), A.el("ul", { class: "claims" }, sorted(single).map(row))) : null,
      A.el("p", { class: "legend" }, A.el("span", null, A.el("i", { class: "swatch effect", "aria-hidden": "true" }), "effect of hiding, nats, on a log scale"),
        A.el("span", null, A.el("i", { class: "stroke tick", "aria-hidden": "true" }), "the controls: their middle,"),
        A.el("span", null, A.el("i", { class: "swatch half", "aria-hidden": "true" }), "half of them,"), A.el("span", null, A.el("i", { class: "swatch most", "aria-hidden": "true" }), "nine in ten")));
  };
  const figure = (p) => (p < 0.001 ? p.toExponential(0) : p.toFixed(p < 0.1 ? 3 : 2));
  // The effect as a bar; above it where the effects of other sets like it lie.
  function strip(claim, place) {
    const spread = claim.control_quantiles_nats, at = (value) => 300 * place(value);
    const said = "effect " + nats(claim.effect_nats) + (spread ? "; controls: middle " + nats(spread[2]) + ", half of them " + nats(spread[1]) + " to " + nats(spread[3])
      + ", nine in ten " + nats(spread[0]) + " to " + nats(spread[4]) : "; no controls") + " nats";
    const band = (low, high, kind, y, height) => A.svg("rect", { x: at(low), y, width: Math.max(1, at(high) - at(low)), height, class: kind });
    return A.svg("svg", { viewBox: "0 0 300 18", class: "strip-test", role: "img", "aria-label": said, preserveAspectRatio: "none" },
      A.svg("title", null, said),
      A.svg("rect", { x: 0, y: 11, width: 300, height: 5, rx: 2, class: "track" }),
      A.svg("rect", { x: 0, y: 11, width: at(claim.effect_nats), height: 5, rx: 2, class: "effect" }),
      spread ? [band(spread[0], spread[4], "most", 3, 5), band(spread[1], spread[3], "half", 3, 5), A.svg("rect", { x: Math.min(297.5, Math.max(0, at(spread[2]) - 1.25)), y: 0, width: 2.5, height: 11, class: "middle" })] : null);
  }
  const nats = (value) => value.toExponential(1);
  A.markClaims = (claim) => document.querySelectorAll("[data-claim]").forEach((button) => button.setAttribute("aria-pressed", String(Number(button.dataset.claim) === claim)));
})();
