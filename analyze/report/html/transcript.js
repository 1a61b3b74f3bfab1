// One trial as it went: the answer and why it passed or not, its turns, then what is known of it.
(function () {
  "use strict";

  const { made, button, plural, duration, usd } = window.benchlake;
  const SAID_ABOVE = "final output: the message above";
  const SAID = new Set(["message", "final_output"]); // by somebody: not folded at first
  const LONG_TEXT = 1500; // characters of a turn that is folded at first
  const MANY_TURNS = 60;
  const MAX_DEPTH = 4; // of agents in agents
  const LOOP = 3; // the same call so often in a row
  const SVG = "http://www.w3.org/2000/svg";

  function answerOf(trial) {
    const last = trial.parts.findLastIndex((part) => part.kind === "final_output");
    if (last < 0) {
      return "";
    }
    if (trial.parts[last].name !== SAID_ABOVE) {
      return trial.parts[last].text;
    }
    return trial.parts.slice(0, last).findLast((part) => part.kind === "message")?.text ?? "";
  }

  function block(text) {
    const element = made("pre", "", text);
    element.dir = "auto";
    return element;
  }

  function folded(className, head, ...inside) {
    return made("details", className, made("summary", "", ...head), ...inside);
  }

  function turn(part) {
    const head = [];
    if (part.kind !== "final_output") {
      head.push(made("span", "kind", part.kind.replaceAll("_", " ")), " ");
    }
    head.push(made("b", "", part.name));
    if (part.is_error) {
      head.push(" ", made("strong", "error", "error"));
    }
    if (part.after_ms !== null) {
      head.push(" ", made("small", "", `${part.after_ms < 0 ? "" : "+"}${duration(part.after_ms)}`));
    }
    if (part.cost_usd) {
      head.push(" ", made("small", "", `${usd(part.cost_usd)} USD`));
    }
    const role = part.kind === "message" ? ` role-${part.name.split(" ")[0]}` : "";
    const look = `part part-${part.kind}${role}${part.is_error ? " is-error" : ""}`;
    if (!part.text) {
      return made("div", look, made("p", "head", ...head));
    }
    const peek = made("span", "peek", part.text.slice(0, 90));
    peek.dir = "auto";
    const element = folded(look, [...head, " ", peek], block(part.text));
    if (part.n_left_out) {
      element.append(made("p", "note", `${plural(part.n_left_out, "character")} of the middle left out.`));
    }
    element.open = SAID.has(part.kind) && part.text.length < LONG_TEXT;
    return element;
  }

  const agentOf = (part) => (part.agent === "main" ? "" : part.agent);

  // Turns of an agent that another one started stand in that one's, folded.
  function nested(parts, elements, depth = 0) {
    const found = [];
    for (let n = 0; n < parts.length; ) {
      const name = agentOf(parts[n]).split("/").slice(0, depth + 2).join("/");
      if (depth === MAX_DEPTH || name.split("/").length < depth + 2) {
        found.push(elements[n]);
        n += 1;
        continue;
      }
      let end = n;
      while (end < parts.length && `${agentOf(parts[end])}/`.startsWith(`${name}/`)) {
        end += 1;
      }
      const inside = nested(parts.slice(n, end), elements.slice(n, end), depth + 1);
      const head = [made("span", "kind", "agent"), " ", made("b", "", name.split("/").pop())];
      head.push(" ", made("small", "", plural(end - n, "turn")));
      const agent = folded("agent", head, ...inside);
      agent.open = parts.length < MANY_TURNS;
      found.push(agent);
      n = end;
    }
    return found;
  }

  // The first call that is made again, just so, twice in a row.
  function firstLoop(parts) {
    const calls = parts.filter((part) => part.kind === "tool_call");
    const begin = calls.find((call, n) => {
      const some = calls.slice(n, n + LOOP);
      return some.length === LOOP
        && some.every((one) => one.name === call.name && one.text === call.text);
    });
    return parts.indexOf(begin);
  }

  function firstDifference(parts, others) {
    const n = parts.findIndex((part, place) => {
      const other = others[place];
      return !other || other.kind !== part.kind || other.name !== part.name || other.text !== part.text;
    });
    return n < 0 && others.length > parts.length ? parts.length - 1 : n;
  }

  // Where the time and the money went: a stripe a turn, as wide as it took or cost.
  function bar(label, parts, sizes) {
    const sum = sizes.reduce((total, one) => total + one, 0);
    if (!sum) {
      return null;
    }
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "0 0 1000 10");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("role", "img");
    const most = sizes.indexOf(Math.max(...sizes));
    const name = parts[most].name;
    svg.setAttribute("aria-label", `${label}; the most: turn ${most + 1}, ${name}`);
    let x = 0;
    parts.forEach((part, n) => {
      const width = (1000 * sizes[n]) / sum;
      if (width >= 0.2) {
        const stripe = document.createElementNS(SVG, "rect");
        const look = part.is_error ? "error" : part.kind;
        for (const [key, value] of [["x", x], ["width", width], ["height", 10], ["class", `at-${look}`]]) {
          stripe.setAttribute(key, value);
        }
        const title = document.createElementNS(SVG, "title");
        title.textContent = `turn ${n + 1}: ${part.kind.replaceAll("_", " ")} ${part.name}`;
        stripe.append(title);
        svg.append(stripe);
      }
      x += width;
    });
    return made("figure", "bar-of-turns", svg, made("figcaption", "", `${label}; the most: turn ${most + 1}, ${name}`));
  }

  function bars(trial) {
    const times = trial.parts.map((part) => part.after_ms);
    const isTimed = times.every((ms) => ms !== null);
    const steps = times.map((ms, n) => Math.max(ms - (times[n - 1] ?? ms), 0));
    const costs = trial.parts.map((part) => part.cost_usd ?? 0);
    return [
      isTimed && bar(`${plural(trial.parts.length, "turn")} over ${duration(times.at(-1) ?? 0)}`, trial.parts, steps),
      bar("Cost by turn", trial.parts, costs),
    ].filter(Boolean);
  }

  function reveal(element) {
    for (let one = element; one; one = one.parentElement) {
      if (one.tagName === "DETAILS") {
        one.open = true;
      }
    }
    element.tabIndex = -1;
    element.focus({ preventScroll: true });
    element.scrollIntoView({ block: "center" });
  }

  function link(trial, words) {
    const element = made("a", "", words);
    element.href = `#${trial.anchor}`;
    return element;
  }

  function jumps(trial, elements, other) {
    const status = made("span", "");
    status.setAttribute("role", "status");
    const found = [];
    const jump = (words, n) => {
      if (n >= 0) {
        found.push(button(words, () => {
          reveal(elements[n]);
          status.textContent = `turn ${n + 1} of ${elements.length}`;
        }), " ");
      }
    };
    jump("First error", trial.parts.findIndex((part) => part.is_error));
    jump("First loop", firstLoop(trial.parts));
    if (other) {
      jump("First difference", firstDifference(trial.parts, other.parts));
    }
    if (elements.length > 3) {
      const fold = button("Fold turns", () => {
        const isFolding = fold.textContent === "Fold turns";
        elements.forEach((one) => {
          one.open = !isFolding;
        });
        fold.textContent = isFolding ? "Unfold turns" : "Fold turns";
      });
      found.push(fold, " ");
    }
    const whose = other?.is_baseline ? "the baseline's " : trial.is_baseline ? "this run's " : "";
    const beside = other ? [link(other, `beside ${whose}repetition ${other.repetition}`), " "] : [];
    return found.length || other ? made("p", "jumps", ...found, ...beside, status) : "";
  }

  function facts(trial) {
    const rows = trial.facts.map(([name, value]) =>
      made("div", "", made("dt", "", name), made("dd", "", value)));
    return rows.length ? made("dl", "facts-list", ...rows) : "";
  }

  // Returns what a trial holds when it is opened; `other` is the one that it is held against.
  function contents(trial, other) {
    const answer = answerOf(trial);
    const elements = trial.parts.map(turn);
    const said = trial.parts.findLastIndex((part) => part.text === answer);
    if (answer && said >= 0) {
      elements[said].open = false; // it stands above
    }
    const found = [];
    if (trial.expected) {
      found.push(made("p", "expected", made("b", "", "Expected "), trial.expected));
    }
    if (trial.reason) {
      found.push(made("p", "reason", made("b", "", "Why "), trial.reason));
    }
    found.push(made("p", "head", made("b", "", answer ? "Answer" : "No answer")), answer ? block(answer) : "");
    if (trial.judged.length) {
      found.push(block(trial.judged.join("\n")));
    }
    if (trial.missing) {
      found.push(made("p", "note", trial.missing));
    }
    const all = `${trial.n_parts_left_out ? `${plural(trial.n_parts_left_out, "turn")} of the middle left out. ` : ""}All of it: `;
    found.push(
      ...bars(trial),
      jumps(trial, elements, other),
      ...nested(trial.parts, elements),
      facts(trial),
      made("p", "note", all, made("code", "cmd", trial.command)),
    );
    return found.filter(Boolean);
  }

  Object.assign(window.benchlake, { answerOf, contents, block, link, reveal });
})();
