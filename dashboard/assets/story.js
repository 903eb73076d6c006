// The page of a match: its story as the server wrote it, and its innings.
(function () {
  A.pages.story = async (page) => {
    const stop = new AbortController();
    A.leave.push(() => stop.abort());
    const named = new URLSearchParams(location.search).get("model");
    const model = page.models.includes(named) ? named : page.models[0];
    links(page, model);
    A.put("story", A.loading("the model is reading the match"));
    const path = `/data/${encodeURIComponent(page.key)}/story.json${A.query(page.key, model)}`;
    try {
      // Who was winning is there at once; the tests of claims follow.
      for (const part of ["&untested=1", ""]) {
        const story = await A.get(path + part, stop.signal);
        if (stop.signal.aborted) return;
        A.cautions(story.cautions);
        A.at("story").innerHTML = story.html;
        A.put("story-status", part ? A.loading("the reasons are being tested") : null);
        document.body.dataset.ready = "yes";
      }
    } catch (error) {
      if (stop.signal.aborted) return;
      A.put("story", A.trouble(error.message));
      document.body.dataset.ready = "yes";
    }
  };

  // The innings, each with its score: from there on it is ball by ball.
  function links(page, model) {
    const query = model === page.models[0] ? "" : `?model=${encodeURIComponent(model)}`;
    const link = (innings) => {
      const text = A.inningsName(innings);
      if (!innings.balls) return A.span("chip", text);
      const href = A.ballPath(page.key, innings.number, 1) + query;
      const more = [A.small(null, ` (${innings.overs}) `), A.span("go", "ball by ball ▸")];
      return A.el("a", { class: "button", href }, text, more);
    };
    A.put("innings-links", page.summary.innings.map(link));
  }
})();
