// Bringing a file, by button or by dropping, and what somebody brought before.
(function () {
  A.drop = (zone) => {
    if (zone.dataset.wired) return;
    zone.dataset.wired = "1";
    const said = zone.querySelector(".drop-said"),
      button = zone.querySelector("button");
    const input = A.el("input", { type: "file", hidden: true, "aria-hidden": "true", tabindex: -1 });
    zone.append(input);
    button.addEventListener("click", () => input.click());
    input.addEventListener("change", () => input.files[0] && bring(input.files[0]));
    zone.addEventListener("dragover", (event) => {
      event.preventDefault();
      zone.classList.add("over");
    });
    zone.addEventListener("dragleave", () => zone.classList.remove("over"));
    zone.addEventListener("drop", (event) => {
      event.preventDefault();
      zone.classList.remove("over");
      if (event.dataTransfer.files[0]) bring(event.dataTransfer.files[0]);
    });
    async function bring(file) {
      said.className = "drop-said";
      said.textContent = `Reading ${file.name} …`;
      button.disabled = true;
      try {
        if (file.size > 32e6)
          throw new Error(
            `the file is larger than 32 MB: name it in the terminal, attnlens dashboard ${file.name}`,
          );
        const kind = zone.dataset.drop;
        const found = await A.post(
          `/upload/${kind}?name=${encodeURIComponent(file.name)}`,
          file,
          "application/octet-stream",
        );
        const path = (kind === "match" ? "/match/" : "/recording/") + encodeURIComponent(found.key);
        const name = kind === "match" ? "brought" : "recordings";
        remember(name, found.key, found.about.title || found.about.name, path);
        A.go(path);
      } catch (error) {
        said.className = "drop-said bad";
        said.textContent = error.message;
      }
      button.disabled = false;
      input.value = "";
    }
  };
  // What somebody brought stays known to that browser alone.
  const listed = (name) => {
    try {
      return JSON.parse(localStorage.getItem(`attnlens-${name}`)) || [];
    } catch {
      return [];
    }
  };
  function remember(name, key, title, path) {
    const list = [{ key, title, path }, ...listed(name).filter((one) => one.key !== key)];
    localStorage.setItem(`attnlens-${name}`, JSON.stringify(list.slice(0, 20)));
  }
  A.broughtRecordings = () => listed("recordings");
  A.broughtCards = (list) =>
    list.map((one) =>
      A.li(null, A.link(one.path, { class: "card" }, A.span("quiet", "You brought"), A.b(null, one.title))),
    );
  A.pages.home = () => A.put("brought", A.broughtCards(listed("brought")));
  A.pages.recording = () => document.querySelector("iframe.recording").addEventListener("load", A.useTheme);
  A.pages.measured = A.pages.lost = () => {};
})();
