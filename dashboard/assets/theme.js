// Colours by name from the style sheet, one table of 256 for heat maps, and the theme.
(function () {
  // Colours, by name from the style sheet; one table of 256 for heat maps.
  let ramp = null;
  A.colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  A.ramp = () => {
    if (ramp) return ramp;
    const stops = A.colour("ramp")
      .split(/\s+/)
      .map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
    ramp = new Uint8ClampedArray(256 * 3);
    for (let step = 0; step < 256; step++) {
      const place = (step / 255) * (stops.length - 1),
        low = Math.min(Math.floor(place), stops.length - 2);
      for (let part = 0; part < 3; part++)
        ramp[step * 3 + part] = stops[low][part] + (stops[low + 1][part] - stops[low][part]) * (place - low);
    }
    return ramp;
  };
  A.shade = (share) => {
    const at = Math.round(255 * Math.min(1, Math.max(0, share))) * 3,
      table = A.ramp();
    return `rgb(${table[at]},${table[at + 1]},${table[at + 2]})`;
  };

  // Theme: the system's, unless somebody chose.
  const dark = matchMedia("(prefers-color-scheme: dark)");
  A.theme = () => localStorage.getItem("attnlens-theme") || "system";
  A.isDark = () => (A.theme() === "system" ? dark.matches : A.theme() === "dark");
  A.useTheme = () => {
    document.documentElement.dataset.theme = A.isDark() ? "dark" : "light";
    ramp = null;
    const button = A.at("theme-button");
    if (button) {
      button.textContent = { system: "◐", light: "☀", dark: "☾" }[A.theme()];
      button.title = `Theme: ${A.theme()}`;
      button.setAttribute("aria-label", `Theme: ${A.theme()}. Change`);
    }
    /** @type {HTMLIFrameElement} */
    const inner = document.querySelector("iframe.recording");
    if (inner?.contentDocument)
      inner.contentDocument.documentElement.dataset.theme = document.documentElement.dataset.theme;
    if (A.redraw) A.redraw();
  };
  dark.addEventListener("change", () => A.useTheme());
  A.useTheme();
  A.nextTheme = () => {
    const next = { system: "light", light: "dark", dark: "system" }[A.theme()];
    localStorage.setItem("attnlens-theme", next);
    A.useTheme();
  };
})();
