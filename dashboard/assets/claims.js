// What the server wrote of a ball's explanation, what stands there before, and files to take away.
(function () {
  /** What to know before trusting a page, above everything else. */
  A.cautions = (sentences) =>
    A.put(
      "cautions",
      sentences.map((sentence) => A.li(null, sentence)),
    );

  A.explained = {
    /** What can be said before anything is tested. */
    wait(innings, at, outcome) {
      const column = A.outcomes.indexOf(outcome);
      const [now, usual] = [innings.probabilitiesOf(at)[column], innings.usualOf(at)[column]];
      const text = `${A.outcomeNames[outcome]}: ${A.percent(now)} here, usually ${A.percent(usual)}.`;
      A.put(
        "narrative-text",
        A.p("headline", text[0].toUpperCase() + text.slice(1)),
        A.p("loading", "testing every claim against others like it", A.span("queue")),
      );
      for (const name of ["contributions-plot", "evidence-list"]) A.put(name);
    },
    /** Each part of the server's HTML, in which all text is escaped, goes into its panel. */
    draw(html) {
      const template = document.createElement("template");
      template.innerHTML = html;
      for (const part of template.content.querySelectorAll("[data-part]"))
        A.at(part.getAttribute("data-part")).replaceChildren(...part.childNodes);
    },
    /** The chosen claim, or none, is pressed wherever it stands. */
    mark(number) {
      A.all("[data-claim]").forEach((button) => {
        button.setAttribute("aria-pressed", String(Number(button.dataset.claim) === number));
      });
    },
    /** The badge of a claim's verdict, with another text. */
    badge(number, text) {
      const badge = document.querySelector(`.claim[data-claim="${number}"] .badge`).cloneNode(true);
      badge.lastChild.textContent = text;
      return badge;
    },
    /** Files of the ball to take away: [text, address] each, and its prompt to copy. */
    menu(files, prompt) {
      const copy = async () => {
        try {
          await navigator.clipboard.writeText(await (await fetch(prompt)).text());
          A.toast("copied");
        } catch (_error) {
          A.toast("the browser does not let this page copy");
        }
      };
      const links = files.map(([text, href]) => A.el("a", { href, download: "" }, text));
      const list = A.div("menu-list", A.button("Copy the prompt for a language model", copy), links);
      const menu = A.el(
        "details",
        { class: "menu" },
        A.el("summary", { "aria-label": "Take away" }, "↓"),
        list,
      );
      list.addEventListener("click", () => {
        menu.open = false;
      });
      menu.addEventListener("focusout", (event) => {
        if (!menu.contains(event.relatedTarget)) menu.open = false;
      });
      menu.addEventListener("keydown", (event) => {
        if (event.key !== "Escape") return;
        menu.open = false;
        menu.firstChild.focus();
      });
      A.put("narrative-tools", menu);
    },
  };
})();
