// Fetching: what is known is not asked for again, and a server that is away is waited for.
(function () {
  const MOST = 160;
  const PAUSES = [400, 800, 1500, 3000]; // milliseconds between two tries, the last for good
  const AWAY = "the server does not answer; it is asked again";
  const known = new Map();
  A.known = (url) => known.get(url);

  const pause = (signal, ms) =>
    new Promise((done, failed) => {
      const timer = setTimeout(done, ms);
      signal?.addEventListener("abort", () => {
        clearTimeout(timer);
        failed(signal.reason);
      });
    });
  /**
   * An answer, asked for until the server is there and has time.
   * @param {string} url
   * @param {RequestInit} how
   */
  async function asked(url, how) {
    for (let tried = 0; ; tried++) {
      try {
        const response = await fetch(url, how);
        if (![502, 503, 504].includes(response.status)) {
          if (tried) A.away(null);
          return response;
        }
      } catch (error) {
        if (how.signal?.aborted) throw error;
        A.away(AWAY);
      }
      await pause(how.signal, PAUSES[Math.min(tried, PAUSES.length - 1)]);
    }
  }
  // One line on every page while the server is away.
  A.away = (text) => {
    const node = A.at("toast");
    if (text && node.textContent !== text) A.say(text);
    node.textContent = text || "";
    node.className = text ? "shown" : "";
  };

  async function told(response) {
    const value = await response.json().catch(() => ({ error: `the server said ${response.status}` }));
    if (!response.ok) throw new Error(value.error || `the server said ${response.status}`);
    return value;
  }
  /**
   * Plain data.
   * @param {string} url
   * @param {AbortSignal} [signal] given up with it
   */
  A.get = async (url, signal) => {
    if (known.has(url)) return known.get(url);
    const value = await told(await asked(url, { signal }));
    known.set(url, value);
    if (known.size > MOST) known.delete(known.keys().next().value);
    return value;
  };
  /** The same, anew each time. */
  A.fresh = async (url, signal) => told(await asked(url, { signal, cache: "no-store" }));
  A.post = async (url, body, type) => {
    const headers = { "X-Attnlens": "1", "Content-Type": type || "application/json" };
    return told(await asked(url, { method: "POST", body, headers }));
  };

  // What is asked of a match: of which model, and of which state of a match that is still being played.
  const versions = new Map();
  A.asked = (key, model) =>
    `?model=${encodeURIComponent(model)}${versions.get(key) ? `&v=${versions.get(key)}` : ""}`;
  A.atVersion = (key, version) => {
    const newer = (versions.get(key) || 0) < version;
    if (newer) versions.set(key, version);
    return newer;
  };
})();
