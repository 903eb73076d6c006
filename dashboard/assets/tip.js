// What is under the pointer, or the finger, in words.
(function () {
  const LASTS = 3000; // milliseconds after a finger was lifted
  let box = null;
  let fading = 0;

  const hide = () => box?.classList.remove("shown");
  function show(text, x, y) {
    if (!box) {
      box = A.el("div", { id: "pointed", "aria-hidden": "true" });
      document.body.append(box);
    }
    box.textContent = text;
    box.classList.add("shown");
    const half = box.offsetWidth / 2 + 6;
    box.style.left = `${Math.max(half, Math.min(innerWidth - half, x))}px`;
    box.style.top = `${y < box.offsetHeight + 24 ? y + 24 : y - box.offsetHeight - 14}px`;
  }
  /**
   * Tells what is at a place of a picture.
   * @param {Element} node
   * @param {(event: PointerEvent) => string | null} words
   */
  A.tip = (node, words) => {
    const tell = (event) => {
      clearTimeout(fading);
      const text = words(event);
      if (text) show(text, event.clientX, event.clientY);
      else hide();
      if (event.pointerType === "touch") fading = setTimeout(hide, LASTS);
    };
    node.addEventListener("pointermove", tell);
    node.addEventListener("pointerdown", tell);
    node.addEventListener("pointerleave", (event) => {
      if (/** @type {PointerEvent} */ (event).pointerType !== "touch") hide();
    });
  };
  document.addEventListener("scroll", hide, { passive: true, capture: true });
})();
