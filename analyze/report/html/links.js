// A link into the page opens whatever its target is folded into, and the target itself.
(function () {
  "use strict";

  function targetOf(hash) {
    try {
      const [name] = hash.slice(1).split("&"); // the state of a table comes after it
      return document.getElementById(decodeURIComponent(name));
    } catch {
      return null; // not a name: a percent sign without its digits
    }
  }

  function reveal(hash) {
    window.benchlake.open?.(hash.slice(1).split("&")[0]);
    const target = targetOf(hash);
    if (!target) {
      return;
    }
    for (let one = target; one; one = one.parentElement) {
      if (one.tagName === "DETAILS") {
        one.open = true;
      }
      one.hidden = false; // a search may have put it away
    }
    if (target.tagName === "DETAILS") {
      target.querySelector("summary").focus({ preventScroll: true });
    }
    target.scrollIntoView();
  }

  window.addEventListener("hashchange", () => reveal(location.hash));
  // Not before the browser has gone to the target itself: it takes the focus away.
  window.addEventListener("load", () => reveal(location.hash));
  window.addEventListener("trials", () => location.hash.startsWith("#trial-") && reveal(location.hash));
  // The browser tells no change of a hash that is there already, so that click is heard itself.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.hash === location.hash) {
      reveal(link.hash);
    }
  });
})();
