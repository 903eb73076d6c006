// A player or a match found by a part of the name, from any page.
(function () {
  const WAIT = 180;
  let asking = null;

  A.finder = () => {
    if (A.at("find-text")) return;
    const list = A.el("ul", { id: "found", class: "menu-list", hidden: true });
    const input = A.el("input", {
      type: "search",
      id: "find-text",
      placeholder: "find a player, a match",
      "aria-label": "Find a player or a match",
      autocomplete: "off",
      maxlength: 80,
      oninput: A.debounce(() => find(input, list), WAIT),
      onkeydown: (event) => {
        const links = [...list.querySelectorAll("a")];
        if (event.key === "Escape") list.hidden = true;
        else if (event.key === "Enter" && links[0]) links[0].click();
        else if (event.key === "ArrowDown" && links[0]) links[0].focus();
        else return;
        event.preventDefault();
      },
    });
    list.addEventListener("keydown", (event) => {
      const next = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
      const item = document.activeElement?.parentElement;
      event.stopPropagation();
      if (event.key === "Escape") {
        list.hidden = true;
        input.focus();
      } else if (next) {
        event.preventDefault();
        (item?.[next]?.firstElementChild || input).focus();
      }
    });
    const place = A.at("find");
    place.addEventListener("focusout", (event) => {
      if (!place.contains(event.relatedTarget)) list.hidden = true;
    });
    place.replaceChildren(input, list);
  };

  async function find(input, list) {
    asking?.abort();
    asking = new AbortController();
    const text = input.value.trim();
    if (!text) {
      list.hidden = true;
      return;
    }
    const [kind, key] = location.pathname.split("/").filter(Boolean);
    const here = kind === "match" ? `&match=${key}` : "";
    const path = `/find.json?text=${encodeURIComponent(text)}${here}`;
    const rows = await A.fresh(path, asking.signal).catch(() => null);
    if (!rows) return;
    const item = (row) => {
      const chosen = () => {
        list.hidden = true;
        input.value = "";
        A.go(row.href);
      };
      const onclick = (event) => {
        event.preventDefault();
        chosen();
      };
      return A.li(
        null,
        A.el("a", { href: row.href, onclick }, A.b(null, row.text), " ", A.small(null, row.more)),
      );
    };
    list.replaceChildren(
      ...(rows.length ? rows.map(item) : [A.li("empty", "nobody, and no match, of that name")]),
    );
    list.hidden = false;
    A.say(A.count(rows.length, "result"));
  }
})();
