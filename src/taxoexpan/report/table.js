"use strict";

// Makes the tables of a report sortable and filterable. All rows are in the page: the first ones in
// the table, the others in a <template>. The details of these are text, because a browser would need
// seconds to parse the details of 10,000 rows. No other text becomes markup.

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
const numberFormat = new Intl.NumberFormat("en");
const MAX_ROWS_WITHOUT_TOOLBAR = 6;
const NUMERIC = new Set(["number", "fraction"]);
const createHTML = (text) => text;
const closedDetails = globalThis.trustedTypes?.createPolicy("closed-details", { createHTML }) ?? { createHTML };

/** Return a text without case and accents, for searching. */
function normalize(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

class Row {
  constructor(line, index) {
    const next = line.nextElementSibling;
    Object.assign(this, { line, index, isOpen: false });
    this.details = next?.className === "details" ? next : null;
  }

  text(column) {
    this.texts ??= Array.from(this.line.cells, (cell) => cell.textContent);
    return this.texts[column];
  }

  number(column) {
    this.numbers ??= Array.from(this.line.cells, (cell) => parseFloat(cell.getAttribute("data-value")));
    return this.numbers[column];
  }

  get searchText() {
    this.text(0);
    return (this.normalized ??= normalize(this.texts.join("\n")));
  }

  /** The row of the details; their markup is made when they are opened for the first time. */
  get openedDetails() {
    const cell = this.details.firstElementChild;
    const closed = cell.querySelector("script");
    if (closed) cell.innerHTML = closedDetails.createHTML(closed.textContent);
    else cell.replaceChildren(cell.querySelector(".details-content"));
    return this.details;
  }
}

class SortableTable {
  constructor(section) {
    const find = (selector) => section.querySelector(selector);
    this.chunk = Number(find("table").dataset.chunk);
    this.body = find("tbody");
    const lines = [...this.body.children, ...(find("template")?.content.children ?? [])];
    this.rows = lines.filter((line) => line.className !== "details").map((line, index) => new Row(line, index));
    this.headers = [...section.querySelectorAll("th")];
    this.kinds = this.headers.map((head) => head.dataset.kind);
    this.count = find(".count");
    this.showMore = find(".show-more");
    this.filter = find("input[type=search]");
    this.minimums = [...section.querySelectorAll("input[data-column]")];
    this.openAllButton = find("button.open-all");
    this.order = { column: -1, descending: false };
    this.shown = this.chunk;
    this.allOpen = false;
    this.listen();
    find(".no-script")?.remove();
    find(".toolbar").hidden = this.rows.length <= MAX_ROWS_WITHOUT_TOOLBAR;
    this.select();
  }

  listen() {
    this.headers.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => this.sort(column));
      head.append(button);
    });
    for (const input of [this.filter, ...this.minimums]) {
      input.addEventListener("input", () => this.select());
    }
    this.showMore.firstElementChild.addEventListener("click", () => this.appendChunk());
    this.openAllButton?.addEventListener("click", () => this.toggleAll());
    // Paper has no "show more" button, so all rows that match the filter are printed.
    addEventListener("beforeprint", () => this.draw(Infinity));
    addEventListener("afterprint", () => this.draw(this.shown));
  }

  /** Sort by a column: numbers descending first, texts ascending first, then reversed, then unsorted. */
  sort(column) {
    const descendingFirst = NUMERIC.has(this.kinds[column]);
    if (this.order.column !== column) this.order = { column, descending: descendingFirst };
    else if (this.order.descending === descendingFirst) this.order = { column, descending: !descendingFirst };
    else this.order = { column: -1, descending: false };
    this.headers.forEach((head, index) => {
      if (index !== this.order.column) head.removeAttribute("aria-sort");
      else head.setAttribute("aria-sort", this.order.descending ? "descending" : "ascending");
    });
    this.rows.sort(this.comparator());
    this.select();
  }

  /** Return the function that compares two rows; empty cells come last in both directions. */
  comparator() {
    const { column, descending } = this.order;
    if (column < 0) return (a, b) => a.index - b.index;
    const sign = descending ? -1 : 1;
    if (NUMERIC.has(this.kinds[column])) {
      return (a, b) => {
        const [x, y] = [a.number(column), b.number(column)];
        if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y) || a.index - b.index;
        return sign * (x - y) || a.index - b.index;
      };
    }
    return (a, b) => {
      const [x, y] = [a.text(column), b.text(column)];
      if (!x || !y) return !x - !y || a.index - b.index;
      return sign * collator.compare(x, y) || a.index - b.index;
    };
  }

  /** Keep the rows that contain every word of the filter and reach every minimum. */
  select() {
    const words = normalize(this.filter.value).split(/\s+/).filter(Boolean);
    const minimums = this.minimums
      .filter((input) => input.value !== "")
      .map((input) => [Number(input.dataset.column), Number(input.value)]);
    this.matching = this.rows.filter(
      (row) =>
        words.every((word) => row.searchText.includes(word)) &&
        minimums.every(([column, value]) => row.number(column) >= value),
    );
    this.shown = this.chunk;
    this.draw(this.shown);
  }

  /** Draw the first matching rows. */
  draw(limit) {
    const elements = this.matching.slice(0, limit).flatMap((row) => this.elementsOf(row));
    this.body.replaceChildren(...elements);
    this.updateStatus(limit);
  }

  /** Draw the next chunk of matching rows, and move the focus there. */
  appendChunk() {
    const next = this.matching.slice(this.shown, this.shown + this.chunk);
    this.shown += this.chunk;
    const elements = next.flatMap((row) => this.elementsOf(row));
    this.body.append(...elements);
    this.updateStatus(this.shown);
    elements[0]?.querySelector("button")?.focus();
  }

  updateStatus(limit) {
    const [matching, total] = [this.matching.length, this.rows.length].map((n) => numberFormat.format(n));
    const status = `${matching} of ${total}`;
    if (this.count.textContent !== status) this.count.textContent = status;
    const remaining = this.matching.length - limit;
    this.showMore.hidden = remaining <= 0;
    const next = numberFormat.format(Math.min(remaining, this.chunk));
    this.showMore.firstElementChild.textContent = `Show ${next} more of ${numberFormat.format(remaining)}`;
  }

  /** Return the elements of a row: its cells and, if it is open, its details. */
  elementsOf(row) {
    if (row.details && !row.button) this.addButton(row);
    return row.isOpen ? [row.line, row.openedDetails] : [row.line];
  }

  addButton(row) {
    row.button = document.createElement("button");
    row.button.type = "button";
    row.button.className = "expander";
    row.button.setAttribute("aria-expanded", row.isOpen);
    row.button.setAttribute("aria-label", `Details of ${row.text(0)}`);
    row.line.className = "expandable";
    row.line.firstElementChild.prepend(row.button);
    row.line.addEventListener("click", () => {
      // A reader who selects text to copy it does not want to open the row.
      if (getSelection().isCollapsed) this.toggle(row, !row.isOpen);
    });
  }

  toggle(row, open) {
    row.isOpen = open;
    row.button?.setAttribute("aria-expanded", open);
    if (!this.body.contains(row.line)) return;
    if (open) row.line.after(row.openedDetails);
    else row.details.remove();
  }

  /** Open all rows, or close them again. */
  toggleAll() {
    const open = !this.allOpen;
    this.allOpen = open;
    this.openAllButton.textContent = open ? "Close all" : "Open all";
    for (const row of this.rows) if (row.details && row.isOpen !== open) this.toggle(row, open);
  }
}

for (const section of document.querySelectorAll("section.table")) new SortableTable(section);
