// Tables that sort by a click on a header, filter by words, and keep both in the address.
// `#t-NAME&sort=COLUMN.desc&find=WORDS` is such an address; COLUMN is a header's data-column.
(function () {
  "use strict";

  const FEW_ROWS = 8; // are seen at a glance: they need no filter
  const DIRECTIONS = new Map([["asc", "ascending"], ["desc", "descending"]]);
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  function made(name, className, ...children) {
    const element = document.createElement(name);
    element.className = className;
    element.append(...children);
    return element;
  }

  function shown(cell) {
    return (cell.dataset.value ?? cell.textContent).trim();
  }

  // Without a value a row comes last in both directions; equal rows keep the page's order.
  function order(rows, index, type, direction) {
    const sign = direction === "desc" ? -1 : 1;
    const keyed = rows.map((row) => {
      const text = row.cells[index] ? shown(row.cells[index]) : "";
      const number = text === "" ? NaN : Number(text);
      const isMissing = type === "number" ? Number.isNaN(number) : text === "";
      return { row, isMissing, key: type === "number" ? number : text };
    });
    const compare = type === "number" ? (a, b) => a - b : collator.compare;
    keyed.sort((a, b) =>
      a.isMissing || b.isMissing
        ? a.isMissing - b.isMissing
        : sign * compare(a.key, b.key)
    );
    return keyed.map((one) => one.row);
  }

  class SortedTable {
    constructor(table) {
      this.table = table;
      this.rows = Array.from(table.tBodies[0].rows);
      this.headers = Array.from(table.tHead.rows[table.tHead.rows.length - 1].cells);
      this.column = null;
      this.direction = null;
      this.input = null;
      for (const header of this.headers.filter((one) => one.dataset.type)) {
        this.makeButton(header);
      }
      if ("filter" in table.dataset && this.rows.length > FEW_ROWS) {
        this.makeFilter();
      }
    }

    makeButton(header) {
      const button = made("button", "sort", ...header.childNodes);
      button.type = "button";
      header.append(button);
      button.addEventListener("click", () => {
        const isSame = this.column === header.dataset.column;
        const next = isSame ? { asc: "desc", desc: null }[this.direction] : "asc";
        this.sort(next ? header.dataset.column : null, next);
        this.keep();
      });
    }

    makeFilter() {
      this.texts = this.rows.map((row) => row.textContent.toLowerCase());
      this.input = made("input", "");
      this.input.type = "search";
      this.count = made("span", "count");
      this.count.setAttribute("role", "status");
      const label = made("label", "", "Filter rows ", this.input);
      let place = this.table;
      while (place.parentElement.tagName === "DIV" && place.parentElement.children.length === 1) {
        place = place.parentElement;
      }
      place.before(made("p", "filter", label, " ", this.count));
      this.input.addEventListener("input", () => {
        this.filter();
        this.keep();
      });
    }

    sort(column, direction) {
      const index = this.headers.findIndex((one) => one.dataset.type && one.dataset.column === column);
      const isSorted = index >= 0 && DIRECTIONS.has(direction);
      this.column = isSorted ? column : null;
      this.direction = isSorted ? direction : null;
      this.headers.forEach((header) => header.removeAttribute("aria-sort"));
      let rows = this.rows;
      if (isSorted) {
        this.headers[index].setAttribute("aria-sort", DIRECTIONS.get(direction));
        rows = order(this.rows, index, this.headers[index].dataset.type, direction);
      }
      this.table.tBodies[0].append(...rows);
    }

    filter() {
      const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let n = 0;
      this.rows.forEach((row, index) => {
        row.hidden = !words.every((word) => this.texts[index].includes(word));
        n += row.hidden ? 0 : 1;
      });
      this.count.textContent = words.length ? `${n} of ${this.rows.length} rows` : "";
    }

    keep() {
      const parts = [this.table.id];
      if (this.column) {
        parts.push(`sort=${encodeURIComponent(this.column)}.${this.direction}`);
      }
      if (this.input && this.input.value) {
        parts.push(`find=${encodeURIComponent(this.input.value)}`);
      }
      try {
        history.replaceState(null, "", `#${parts.join("&")}`);
      } catch {
        // A preview inside another page may have no address; the table works without.
      }
    }

    obey(state) {
      const sorting = state.get("sort") ?? "";
      const dot = sorting.lastIndexOf(".");
      this.sort(sorting.slice(0, Math.max(dot, 0)), sorting.slice(dot + 1));
      if (this.input) {
        this.input.value = state.get("find") ?? "";
        this.filter();
      }
      this.table.scrollIntoView();
    }
  }

  const tables = new Map();
  for (const table of document.querySelectorAll("table[data-sort]")) {
    tables.set(table.id, new SortedTable(table));
  }

  function follow() {
    const [id, ...parts] = location.hash.slice(1).split("&");
    const table = tables.get(id);
    if (!table) {
      return;
    }
    try {
      const pairs = parts.map((part) => part.split("=").map(decodeURIComponent));
      table.obey(new Map(pairs));
    } catch {
      // An address that was cut: the table stays as it is.
    }
  }

  window.addEventListener("hashchange", follow);
  document.addEventListener("DOMContentLoaded", follow);
})();
