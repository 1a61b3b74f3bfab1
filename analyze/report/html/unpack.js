// Unpacks what the page embeds deflated: the library of the charts, and the trials.
(function () {
  "use strict";

  async function inflated(id) {
    if (!("DecompressionStream" in window)) {
      throw new Error("this browser cannot unpack it; one of 2023 or later can");
    }
    const packed = atob(document.getElementById(id).textContent);
    const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Response(stream).text();
  }

  // A text stands where it comes first; a number is the place of an earlier one.
  function reader(spec) {
    const known = [];
    const text = (value) => {
      if (typeof value === "number") {
        return known[value];
      }
      if (value) {
        known.push(value);
      }
      return value ?? "";
    };
    const texts = (values) => (values ?? []).map(text);
    const kinds = {
      text,
      texts,
      value: (value) => value ?? null,
      rows: (rows) => (rows ?? []).map(texts),
      parts: (parts) => (parts ?? []).map((part) => read(spec.part, part)),
    };
    const read = (places, values) =>
      Object.fromEntries(places.map(([name, kind], n) => [name, kinds[kind](values[n])]));
    return (line) => read(spec.trial, JSON.parse(line));
  }

  // Returns all trials, and the order in which the page has models and cases.
  async function unpack() {
    if (!document.getElementById("packed-trials")) {
      return { trials: [], models: [], cases: [] };
    }
    const [first, ...lines] = (await inflated("packed-trials")).trimEnd().split("\n");
    const head = JSON.parse(first);
    return { trials: lines.map(reader(head)), models: head.models, cases: head.cases };
  }

  // A page of a site shares the library with the others; one alone has it inside.
  async function loadLibrary() {
    const script = document.createElement("script");
    const { src } = document.getElementById("library").dataset;
    if (!src) {
      script.textContent = await inflated("library"); // the policy of the page knows its hash
      document.head.append(script);
      return;
    }
    await new Promise((done, fail) => {
      script.addEventListener("load", done);
      script.addEventListener("error", () => fail(new Error(`${src} cannot be read`)));
      script.src = src;
      document.head.append(script);
    });
  }

  let library = null; // of the charts: it runs once
  async function charts() {
    library ??= loadLibrary();
    await library;
    return window.vegaEmbed;
  }

  // What several scripts build with.
  function made(name, className, ...children) {
    const element = document.createElement(name);
    if (className) {
      element.className = className;
    }
    element.append(...children);
    return element;
  }

  function button(text, act) {
    const element = made("button", "", text);
    element.type = "button";
    element.addEventListener("click", act);
    return element;
  }

  function grouped(all, keyOf) {
    const found = new Map();
    for (const one of all) {
      const key = keyOf(one);
      found.set(key, found.get(key) ?? []);
      found.get(key).push(one);
    }
    return found;
  }

  const plural = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

  const two = (n) => String(n).padStart(2, "0");

  // `850ms`, `12.3s`, `3m12s`, `1h05m`, `2d03h`, as the rest of the page has it.
  function duration(ms) {
    if (ms < 0) {
      return `-${duration(-ms)}`;
    }
    if (ms < 1000) {
      return `${Math.round(ms)}ms`;
    }
    if (ms < 59950) {
      return `${(ms / 1000).toFixed(1)}s`;
    }
    const s = Math.round(ms / 1000);
    const minutes = Math.floor(s / 60);
    const hours = Math.floor(minutes / 60);
    if (s < 3600) {
      return `${minutes}m${two(s % 60)}s`;
    }
    return hours < 24 ? `${hours}h${two(minutes % 60)}m` : `${Math.floor(hours / 24)}d${two(hours % 24)}h`;
  }

  // Cents from one dollar on, three digits below, as the rest of the page has it.
  function usd(amount) {
    const digits = amount > 0 && amount < 1 ? Math.min(2 - Math.floor(Math.log10(amount)), 9) : 2;
    return amount.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  }

  const SIGNS = new Map([[true, ["✓", "y"]], [false, ["✗", "x"]], [null, ["–", "o"]]]);

  function sign(trial) {
    const [text, look] = SIGNS.get(trial.passed);
    const element = made("span", look, text);
    element.setAttribute("aria-hidden", "true");
    return element;
  }

  // The page is painted first.
  const loaded = new Promise((done) => {
    window.addEventListener("load", () => setTimeout(done));
  });
  const unpacked = loaded.then(unpack);

  window.benchlake = { charts, unpacked, made, button, grouped, plural, duration, usd, sign };
})();
