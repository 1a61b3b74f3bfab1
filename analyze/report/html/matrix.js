// The signs of the matrix lead to their trials, its cases to all answers side by side.
(async function () {
  "use strict";

  const { made, grouped, link } = window.benchlake;
  const table = document.getElementById("t-matrix");
  const { trials } = await window.benchlake.unpacked.catch(() => ({ trials: [] }));
  if (!table || !trials.length) {
    return;
  }

  const key = (case_id, model_id) => JSON.stringify([case_id, model_id]);
  const own = trials.filter((trial) => !trial.is_baseline);
  const cells = grouped(own, (trial) => key(trial.case_id, trial.model_id));
  const cases = new Set(own.map((trial) => trial.case_id));
  const columns = [...table.tHead.rows[0].cells].map((header) => header.dataset.column);

  // Each sign becomes a link, where the trial of its repetition is here.
  function lead(cell, some) {
    const at = new Map(some.map((trial) => [trial.repetition, trial]));
    const holder = cell.querySelector("span");
    holder.removeAttribute("aria-hidden");
    let repetition = 0;
    for (const run of [...holder.querySelectorAll("b, i, u")]) {
      const signs = [...run.textContent].map((text) => {
        repetition += 1;
        const sign = made(run.localName, "", text);
        const trial = at.get(repetition);
        if (!trial) {
          return sign;
        }
        const found = link(trial, "");
        found.append(sign);
        const words = `repetition ${repetition} of ${trial.case_id} by ${trial.model}: ${trial.verdict}`;
        found.setAttribute("aria-label", words);
        found.title = words;
        return found;
      });
      run.replaceWith(...signs);
    }
  }

  for (const row of table.tBodies[0].rows) {
    const [head, ...others] = row.cells;
    const case_id = head.textContent.trim();
    if (cases.has(case_id)) {
      const found = made("a", "", ...head.childNodes);
      found.href = `#cases&case=${encodeURIComponent(case_id)}`;
      head.append(found);
    }
    others.forEach((cell, n) => {
      const some = cells.get(key(case_id, columns[n + 1].slice("model:".length)));
      if (some && cell.querySelector("span")) {
        lead(cell, some);
      }
    });
  }
})();
