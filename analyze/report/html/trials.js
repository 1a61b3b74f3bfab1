// Finds words in the transcripts, walks from error to error, and unfolds all of them.
(function () {
  "use strict";

  const MAX_MARKS = 2000; // more hits are counted, but not marked
  const PAUSE_MS = 150; // of typing, before the search begins

  const trials = Array.from(document.querySelectorAll("details.trial"));
  if (!trials.length) {
    return;
  }

  function made(name, className, ...children) {
    const element = document.createElement(name);
    element.className = className;
    element.append(...children);
    return element;
  }

  function button(text, act) {
    const element = made("button", "", text);
    element.type = "button";
    element.addEventListener("click", act);
    return element;
  }

  function plural(n, noun) {
    return `${n} ${noun}${n === 1 ? "" : "s"}`;
  }

  // Opens what an element is folded into; what was closed before is told to `opened`.
  function unfold(element, opened) {
    for (let one = element; one; one = one.parentElement) {
      if (one.tagName === "DETAILS" && !one.open) {
        one.open = true;
        opened?.add(one);
      }
    }
  }

  function show(element) {
    element.tabIndex = -1;
    element.focus({ preventScroll: true });
    element.scrollIntoView({ block: "center" });
  }

  // The first of some elements that comes after another in the page; from the last, the first.
  function after(elements, last) {
    const follows = Node.DOCUMENT_POSITION_FOLLOWING;
    const next = last && elements.find((one) => last.compareDocumentPosition(one) & follows);
    return next ?? elements[0];
  }

  const input = made("input", "");
  input.type = "search";
  input.id = "find-trials";
  input.title = "Enter goes to the next hit";
  const count = made("span", "count");
  count.setAttribute("role", "status");

  let opened = new Set(); // by the search, to be closed with it
  let marks = [];
  let current = null; // the hit or the error that was shown last

  function unmark() {
    const parents = new Set(marks.map((mark) => mark.parentNode));
    marks.forEach((mark) => mark.replaceWith(...mark.childNodes));
    parents.forEach((parent) => parent.normalize());
    marks = [];
    opened.forEach((one) => {
      one.open = false;
    });
    opened = new Set();
  }

  // White space of the words stands for any white space; all else stands for itself.
  function patternOf(words) {
    const literal = words.trim().replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
    return new RegExp(literal.replace(/\s+/g, "\\s+"), "giu");
  }

  function textsIn(element) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) {
      texts.push(walker.currentNode);
    }
    return texts;
  }

  function markIn(text, hits) {
    for (const hit of hits.slice(0, MAX_MARKS - marks.length).reverse()) {
      const found = text.splitText(hit.index);
      found.splitText(hit[0].length);
      const mark = made("mark", "hit");
      found.replaceWith(mark);
      mark.append(found);
      marks.push(mark);
    }
  }

  function hitsIn(trial, pattern) {
    let n = 0;
    for (const text of textsIn(trial)) {
      const hits = Array.from(text.data.matchAll(pattern));
      if (hits.length) {
        n += hits.length;
        unfold(text.parentElement, opened);
        markIn(text, hits);
      }
    }
    return n;
  }

  function search() {
    unmark();
    current = null;
    if (!input.value.trim()) {
      trials.forEach((trial) => {
        trial.hidden = false;
      });
      count.textContent = "";
      return;
    }
    const pattern = patternOf(input.value);
    const found = trials.map((trial) => hitsIn(trial, pattern));
    trials.forEach((trial, index) => {
      trial.hidden = !found[index];
    });
    const n = found.filter(Boolean).length;
    const hits = found.reduce((sum, one) => sum + one, 0);
    marks = Array.from(document.querySelectorAll("mark.hit"));
    count.textContent = `${n} of ${plural(trials.length, "trial")}, ${plural(hits, "hit")}`;
  }

  let waiting = null;
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, PAUSE_MS);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && marks.length) {
      event.preventDefault();
      marks.forEach((mark) => mark.classList.remove("is-current"));
      current = after(marks, current);
      current.classList.add("is-current");
      current.scrollIntoView({ block: "center" });
    }
  });

  function nextError() {
    const errors = trials
      .filter((trial) => !trial.hidden)
      .flatMap((trial) => Array.from(trial.querySelectorAll(".is-error")));
    if (!errors.length) {
      count.textContent = "no error in these trials";
      return;
    }
    current = after(errors, current);
    current.querySelectorAll("details").forEach((one) => unfold(one));
    unfold(current);
    show(current);
    count.textContent = `error ${errors.indexOf(current) + 1} of ${errors.length}`;
  }

  function unfoldAll(event) {
    const isOpening = event.target.getAttribute("aria-pressed") !== "true";
    event.target.setAttribute("aria-pressed", String(isOpening));
    for (const trial of trials) {
      trial.open = isOpening;
      trial.querySelectorAll("details").forEach((one) => {
        one.open = isOpening;
      });
    }
  }

  const all = button("Unfold all", unfoldAll);
  all.setAttribute("aria-pressed", "false");
  const tools = made("div", "trial-tools", made("label", "", "Find in trials ", input), " ");
  if (document.querySelector("details.trial .is-error")) {
    tools.append(button("Next error", nextError), " ");
  }
  tools.append(all, " ", count);

  let place = trials[0];
  while (place.parentElement.tagName !== "SECTION" && place.parentElement.tagName !== "MAIN") {
    place = place.parentElement;
  }
  place.before(tools);
})();
