// The answers of all models to one case side by side; `#cases&case=ID` is the address of one.
(async function () {
  "use strict";

  const { made, button, grouped, plural, duration, sign, answerOf, block, link } = window.benchlake;
  const holder = document.getElementById("answers");
  if (!holder) {
    return;
  }
  let all;
  try {
    all = await window.benchlake.unpacked;
  } catch (error) {
    holder.append(made("p", "note", `The answers cannot be read here: ${error.message}.`));
    return;
  }

  if (!all.trials.length) {
    return;
  }

  const cases = grouped(all.trials, (trial) => trial.case_id);
  const known = all.cases.filter((case_id) => cases.has(case_id));
  const names = [...new Set([...known, ...[...cases.keys()].sort()])];
  const places = new Map(all.models.map((model_id, n) => [model_id, n]));
  const place = (trial) => places.get(trial.model_id) ?? places.size;

  const select = made("select", "", ...names.map((case_id) => {
    const option = made("option", "", case_id);
    option.value = case_id;
    return option;
  }));
  const view = made("div", "");

  function reason(trial) {
    if (trial.reason) {
      return made("p", "reason", trial.reason);
    }
    return trial.passed === false ? made("p", "note", "The run gives no reason.") : "";
  }

  function answer(trial) {
    const which = trial.is_baseline ? "baseline, repetition" : "repetition";
    const took = trial.e2e_ms === null ? "" : ` · ${duration(trial.e2e_ms)}`;
    const head = made("p", "head", sign(trial), " ", link(trial, `${which} ${trial.repetition}`),
      made("small", "", ` ${trial.verdict}${took}`));
    const text = answerOf(trial);
    return made("div", "said", head,
      reason(trial),
      text ? block(text) : made("p", "note", "no answer"));
  }

  function column(some) {
    const own = some.filter((trial) => !trial.is_baseline);
    const scored = own.filter((trial) => trial.passed !== null);
    const passed = scored.filter((trial) => trial.passed).length;
    const head = made("h3", "", made("bdi", "", some[0].model), " ",
      made("small", "", scored.length ? `passed ${passed} of ${scored.length}` : "no verdict"));
    return made("div", "by-model", head, ...some.map(answer));
  }

  function asked(trial) {
    const first = trial.parts.find((part) => part.kind === "message" && part.name.startsWith("user"));
    return first ? made("details", "", made("summary", "", "What was asked"), block(first.text)) : "";
  }

  function show(case_id) {
    const some = [...cases.get(case_id)].sort((a, b) =>
      place(a) - place(b) || a.is_baseline - b.is_baseline || a.repetition - b.repetition);
    const [first] = some;
    const models = grouped(some, (trial) => trial.model_id);
    select.value = case_id;
    const tags = first.tags.map((tag) => made("span", "label", tag));
    view.replaceChildren(
      made("p", "facts", made("b", "", made("bdi", "", case_id)), ...tags,
        made("span", "", `case ${names.indexOf(case_id) + 1} of ${names.length}`)),
      first.expected ? made("p", "expected", made("b", "", "Expected "), first.expected) : "",
      asked(first),
      made("div", "columns", ...[...models.values()].map(column)),
    );
  }

  function go(case_id) {
    show(case_id);
    try {
      history.replaceState(null, "", `#cases&case=${encodeURIComponent(case_id)}`);
    } catch {
      // A preview inside another page may have no address; the answers are there without.
    }
  }

  const step = (by) => go(names[(names.indexOf(select.value) + by + names.length) % names.length]);
  select.addEventListener("change", () => go(select.value));
  holder.append(
    made("div", "trial-tools", made("label", "", "Case ", select), " ",
      button("Previous", () => step(-1)), " ", button("Next", () => step(1))),
    view,
  );
  show(names[0]);

  function obey() {
    const [id, part] = location.hash.slice(1).split("&");
    if (id !== "cases" || !part?.startsWith("case=")) {
      return;
    }
    try {
      const case_id = decodeURIComponent(part.slice("case=".length));
      if (cases.has(case_id)) {
        show(case_id);
        document.getElementById("cases").scrollIntoView();
      }
    } catch {
      // An address that was cut: the case stays.
    }
  }

  obey();
  window.addEventListener("hashchange", obey);
})();
