// The trials as rows: filters, words, the next hit and the next error; each row opens its trial.
// `#transcripts&model=ID&verdict=failed&find=WORDS` is the address of what is chosen.
(async function () {
  "use strict";

  const { made, button, plural, duration, usd, sign, answerOf, contents, reveal } = window.benchlake;
  const MAX_MARKS = 2000; // more hits are counted, but not marked
  const MAX_OPENED = 20; // trials that a search opens
  const PAUSE_MS = 150; // of typing, before the search begins
  const ROWS = 100; // that are shown until somebody asks for more
  const VERDICTS = [
    ["passed", "passed", (trial) => trial.passed === true],
    ["failed", "did not pass", (trial) => trial.passed === false],
    ["none", "no verdict", (trial) => trial.passed === null],
    ["unanswered", "not answered", (trial) => trial.failure_type !== ""],
    ["flipped", "case flipped", (trial) => trial.why === "flipped"],
    ["flaky", "passed and not", (trial) => isFlaky(trial)],
  ];

  const holder = document.getElementById("trials");
  let trials;
  try {
    ({ trials } = await window.benchlake.unpacked);
  } catch (error) {
    holder?.append(made("p", "note", `The trials cannot be read here: ${error.message}.`));
    return;
  }
  if (!trials.length) {
    return;
  }

  const cells = new Map(); // of one case and one model: how its trials went
  const cellOf = (trial) => `${trial.is_baseline} ${trial.case_id} ${trial.model_id}`;
  for (const trial of trials) {
    const cell = cells.get(cellOf(trial)) ?? { passed: 0, failed: 0, trials: [] };
    cell.passed += trial.passed === true ? 1 : 0;
    cell.failed += trial.passed === false ? 1 : 0;
    cell.trials.push(trial);
    cells.set(cellOf(trial), cell);
  }
  const isFlaky = (trial) => {
    const cell = cells.get(cellOf(trial));
    return cell.passed > 0 && cell.failed > 0;
  };
  // What most of its trials say; null where as many say the other.
  function majority(case_id, model_id) {
    const cell = cells.get(`false ${case_id} ${model_id}`);
    return cell && cell.passed !== cell.failed ? cell.passed > cell.failed : null;
  }

  // What a trial is held against: the baseline's, else one of the same that went the other way.
  function partner(trial) {
    const baseline = cells.get(`${!trial.is_baseline} ${trial.case_id} ${trial.model_id}`);
    const own = cells.get(cellOf(trial)).trials.filter((one) => one !== trial);
    return baseline?.trials[0] ?? own.find((one) => one.passed !== trial.passed) ?? own[0];
  }

  function row(trial) {
    const which = trial.is_baseline ? " · in the baseline" : trial.why === "flipped" ? " · flipped" : "";
    const said = [trial.reason, answerOf(trial).slice(0, 160)].filter(Boolean).join(" — ");
    const peek = made("span", "peek", said.replace(/\s+/g, " "));
    peek.dir = "auto";
    const took = trial.e2e_ms === null ? "" : duration(trial.e2e_ms);
    const cost = trial.cost_usd ? `${usd(trial.cost_usd)} USD` : "";
    const summary = made("summary", "",
      sign(trial), " ", made("b", "", made("bdi", "", trial.case_id)), " ",
      made("small", "", made("bdi", "", trial.model), ` · repetition ${trial.repetition} · ${trial.verdict}${which}`),
      made("small", "took", [took, cost].filter(Boolean).join(" · ")), peek);
    const element = made("details", "trial", summary);
    element.id = trial.anchor;
    element.addEventListener("toggle", () => element.open && fill(element));
    return element;
  }

  const rows = trials.map(row);
  const trialOf = new Map(rows.map((element, n) => [element, trials[n]]));

  function fill(element) {
    if (element.children.length > 1) {
      return;
    }
    const trial = trialOf.get(element);
    element.append(...contents(trial, partner(trial)));
    if (pattern) {
      markIn(element);
    }
  }

  function open(element) {
    fill(element);
    element.open = true;
  }

  // What is chosen: words, and one value of each choice.
  const chosen = new Map();
  const choices = [];
  let pattern = null;
  let shown = ROWS;
  let matched = rows;

  function choice(name, label, options, test) {
    const select = made("select", "", ...[["", "all"], ...options].map(([value, words]) => {
      const option = made("option", "", words);
      option.value = value;
      return option;
    }));
    select.dataset.name = name;
    select.addEventListener("change", () => {
      chosen.set(name, select.value);
      shown = ROWS;
      choose();
      keep();
    });
    choices.push({ name, select, test });
    return made("label", "", `${label} `, select);
  }

  function values(of) {
    return [...new Set(trials.flatMap(of))].filter(Boolean).sort().map((one) => [one, one]);
  }

  const models = [...new Map(trials.map((trial) => [trial.model_id, trial.model]))];
  const choosable = [
    ["verdict", "Verdict", VERDICTS.filter(([, , is]) => trials.some(is)), (trial, value) =>
      VERDICTS.find(([name]) => name === value)?.[2](trial)],
    ["model", "Model", models, (trial, value) => trial.model_id === value],
    ["tag", "Tag", values((trial) => trial.tags), (trial, value) => trial.tags.includes(value)],
    ["failure", "Failure", values((trial) => trial.failure_type), (trial, value) => trial.failure_type === value],
    ["tool", "Tool", values((trial) => trial.tools), (trial, value) => trial.tools.includes(value)],
  ].filter(([, , options]) => options.length > 1 || (options.length && options !== models));
  if (models.length > 1) {
    const isOf = (passed) => (trial, value) => majority(trial.case_id, value) === passed
      && [chosen.get("passes"), chosen.get("fails")].includes(trial.model_id);
    choosable.push(["passes", "Cases passed by", models, isOf(true)]);
    choosable.push(["fails", "and failed by", models, isOf(false)]);
  }

  const input = made("input", "");
  input.type = "search";
  input.id = "find-trials";
  input.title = "Enter goes to the next hit";
  const count = made("span", "count");
  count.setAttribute("role", "status");

  let marks = [];
  let hit = null; // the mark that was shown last
  let error = null; // the same of the places that went wrong
  let opened = new Set(); // by the search, to be closed with it

  function unmark() {
    const parents = new Set(marks.map((mark) => mark.parentNode));
    marks.forEach((mark) => mark.replaceWith(...mark.childNodes));
    parents.forEach((parent) => parent?.normalize());
    marks = [];
    opened.forEach((one) => {
      one.open = false;
    });
    opened = new Set();
  }

  // White space of the words stands for any white space; all else stands for itself.
  function patternOf(words) {
    const literal = words.trim().replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
    return literal && new RegExp(literal.replace(/\s+/g, "\\s+"), "giu");
  }

  // Texts that a reader sees of a trial when it is opened.
  function textsOf(trial) {
    return [
      trial.case_id, trial.model, trial.verdict, trial.reason, trial.expected, trial.missing, trial.command,
      ...trial.judged, ...trial.facts.flat(), ...trial.parts.flatMap((part) => [part.name, part.text]),
    ];
  }

  function textNodes(element) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) {
      found.push(walker.currentNode);
    }
    return found;
  }

  function markIn(element) {
    for (const node of textNodes(element).filter((one) => !one.parentElement.closest(".peek"))) {
      const hits = [...node.data.matchAll(pattern)].slice(0, MAX_MARKS - marks.length);
      if (hits.length) {
        for (let one = node.parentElement; one !== element; one = one.parentElement) {
          if (one.tagName === "DETAILS" && !one.open) {
            one.open = true;
            opened.add(one);
          }
        }
      }
      for (const one of hits.reverse()) {
        const found = node.splitText(one.index);
        found.splitText(one[0].length);
        const mark = made("mark", "hit");
        found.replaceWith(mark);
        mark.append(found);
        marks.push(mark);
      }
    }
  }

  function choose() {
    unmark();
    hit = null;
    error = null;
    pattern = patternOf(input.value);
    let hits = 0;
    matched = rows.filter((element) => {
      const trial = trialOf.get(element);
      if (!choices.every(({ name, test }) => !chosen.get(name) || test(trial, chosen.get(name)))) {
        return false;
      }
      if (!pattern) {
        return true;
      }
      const n = textsOf(trial).reduce((sum, text) => sum + (text.match(pattern)?.length ?? 0), 0);
      hits += n;
      return n > 0;
    });
    show();
    if (pattern) {
      for (const element of matched.slice(0, MAX_OPENED)) {
        if (!element.open) {
          opened.add(element);
        }
        const isFilled = element.children.length > 1;
        open(element);
        if (isFilled) {
          markIn(element);
        }
      }
    }
    const isAll = matched.length === rows.length && !pattern;
    const words = pattern ? `, ${plural(hits, "hit")}` : "";
    count.textContent = isAll ? "" : `${matched.length.toLocaleString("en")} of ${plural(rows.length, "trial")}${words}`;
  }

  function show() {
    const seen = new Set(matched.slice(0, shown));
    rows.forEach((element) => {
      element.hidden = !seen.has(element);
    });
    const rest = matched.length - seen.size;
    more.hidden = rest <= 0;
    more.textContent = `Show ${Math.min(rest, ROWS)} more of ${rest.toLocaleString("en")}`;
  }

  const more = button("", () => {
    const first = matched[shown];
    shown += ROWS;
    show();
    first.querySelector("summary").focus();
  });

  let waiting = null;
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      shown = ROWS;
      choose();
      keep();
    }, PAUSE_MS);
  });

  // The first of some elements that comes after another in the page; from the last, the first.
  function after(elements, last) {
    const follows = Node.DOCUMENT_POSITION_FOLLOWING;
    const next = last && elements.find((one) => last.compareDocumentPosition(one) & follows);
    return next ?? elements[0];
  }

  input.addEventListener("keydown", (event) => {
    const all = [...holder.querySelectorAll("mark.hit")];
    if (event.key === "Enter" && all.length) {
      event.preventDefault();
      all.forEach((mark) => mark.classList.remove("is-current"));
      hit = after(all, hit);
      hit.classList.add("is-current");
      hit.scrollIntoView({ block: "center" });
    }
  });

  // Errors are places: a trial, and a turn of it.
  function nextError() {
    const errors = matched.flatMap((element) => {
      const { parts } = trialOf.get(element);
      return parts.flatMap((part, n) => (part.is_error ? [{ element, n, parts }] : []));
    });
    if (!errors.length) {
      count.textContent = "no error in these trials";
      return;
    }
    const at = errors.findIndex(({ element, n }) => error?.element === element && error.n === n);
    const place = (at + 1) % errors.length;
    error = errors[place];
    error.element.hidden = false;
    open(error.element);
    const before = error.parts.slice(0, error.n).filter((part) => part.is_error).length;
    reveal(error.element.querySelectorAll(".is-error")[before]);
    count.textContent = `error ${place + 1} of ${errors.length}`;
  }

  // The address says what is chosen.
  function keep() {
    const parts = [...chosen].filter(([, value]) => value);
    if (input.value) {
      parts.push(["find", input.value]);
    }
    try {
      const words = parts.map(([name, value]) => `&${name}=${encodeURIComponent(value)}`);
      history.replaceState(null, "", `#transcripts${words.join("")}`);
    } catch {
      // A preview inside another page may have no address; the filters work without.
    }
  }

  function obey() {
    const [id, ...parts] = location.hash.slice(1).split("&");
    if (id !== "transcripts" || !parts.length) {
      return;
    }
    try {
      const state = new Map(parts.map((part) => part.split("=").map(decodeURIComponent)));
      for (const { name, select } of choices) {
        select.value = state.get(name) ?? "";
        chosen.set(name, select.value);
      }
      input.value = state.get("find") ?? "";
      choose();
    } catch {
      // An address that was cut: the rows stay as they are.
    }
  }

  const tools = made("div", "trial-tools", made("label", "", "Find in trials ", input), " ");
  if (trials.some((trial) => trial.parts.some((part) => part.is_error))) {
    tools.append(button("Next error", nextError), " ");
  }
  tools.append(count);
  const filters = made("div", "filters", ...choosable.flatMap(([name, label, options, test]) =>
    [choice(name, label, options, test), " "]));
  holder.append(filters, tools, ...rows, more);
  show();
  obey();
  window.addEventListener("hashchange", obey);
  window.benchlake.open = (id) => {
    const element = document.getElementById(id);
    if (trialOf.has(element)) {
      element.hidden = false;
      open(element);
    }
  };
  window.dispatchEvent(new Event("trials"));
})();
