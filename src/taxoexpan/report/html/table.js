"use strict";

// Makes the tables of a report sortable and filterable. The JSON next to each table holds all rows.
// Texts become text nodes, never markup.

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
const numberFormat = new Intl.NumberFormat("en");
const MAX_ROWS_WITHOUT_TOOLBAR = 6;
const NUMERIC = new Set(["number", "fraction"]);

/** Build the DOM node of a JSON node: a text, or [tag, attributes or 0, ...children]. */
function build(node) {
  if (typeof node === "string") return document.createTextNode(node);
  const [tag, attributes, ...children] = node;
  const created = document.createElement(tag);
  for (const name in attributes || {}) created.setAttribute(name, attributes[name]);
  created.append(...children.map(build));
  return created;
}

/** Return all text of a JSON node. */
function textOf(node) {
  return typeof node === "string" ? node : node.slice(2).map(textOf).join("");
}

/** Return a text without case and accents, for searching. */
function normalize(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

class Row {
  constructor([cells, numbers, details], index) {
    Object.assign(this, { cells, numbers, details, index, isOpen: false });
  }

  text(column) {
    this.texts ??= this.cells.map((nodes) => nodes.map(textOf).join(""));
    return this.texts[column];
  }

  get searchText() {
    this.text(0);
    return (this.normalized ??= normalize(this.texts.join("\n")));
  }
}

class SortableTable {
  constructor(section) {
    const find = (selector) => section.querySelector(selector);
    const { chunk, rows } = JSON.parse(find("script").textContent);
    this.chunk = chunk;
    this.rows = rows.map((row, index) => new Row(row, index));
    this.headers = [...section.querySelectorAll("th")];
    this.columns = this.headers.map((head) => ({ name: head.textContent, kind: head.dataset.kind }));
    this.body = find("tbody");
    this.count = find(".count");
    this.showMore = find(".show-more");
    this.filter = find("input[type=search]");
    this.minimums = [...section.querySelectorAll("input[data-column]")];
    this.openAllButton = find("button.open-all");
    this.order = { column: -1, descending: false };
    this.shown = chunk;
    this.allOpen = false;
    this.listen();
    find(".no-script")?.remove();
    find(".toolbar").hidden = rows.length <= MAX_ROWS_WITHOUT_TOOLBAR;
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
    const descendingFirst = NUMERIC.has(this.columns[column].kind);
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
    if (NUMERIC.has(this.columns[column].kind)) {
      return (a, b) => {
        const [x, y] = [a.numbers[column], b.numbers[column]];
        if (x === null || y === null) return (x === null) - (y === null) || a.index - b.index;
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
        minimums.every(([column, value]) => (row.numbers[column] ?? -Infinity) >= value),
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
    row.element ??= this.buildRow(row);
    return row.isOpen ? [row.element, this.detailsOf(row)] : [row.element];
  }

  buildRow(row) {
    const line = build(["tr", { role: "row" }]);
    row.cells.forEach((nodes, column) => {
      const { name, kind } = this.columns[column];
      line.append(build(["td", { role: "cell", class: kind, "data-name": name }, ...nodes]));
    });
    if (row.details) {
      const label = `Details of ${row.text(0)}`;
      const attributes = { type: "button", class: "expander", "aria-expanded": row.isOpen, "aria-label": label };
      line.className = "expandable";
      line.firstElementChild.prepend(build(["button", attributes]));
      line.addEventListener("click", () => {
        // A reader who selects text to copy it does not want to open the row.
        if (getSelection().isCollapsed) this.toggle(row, !row.isOpen);
      });
    }
    return line;
  }

  detailsOf(row) {
    const span = { role: "cell", colspan: this.columns.length };
    return (row.detailsElement ??= build(["tr", { role: "row", class: "details" }, ["td", span, row.details]]));
  }

  toggle(row, open) {
    row.isOpen = open;
    row.element?.firstElementChild.firstElementChild.setAttribute("aria-expanded", open);
    if (!row.element?.isConnected) return;
    if (open) row.element.after(this.detailsOf(row));
    else row.detailsElement.remove();
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
