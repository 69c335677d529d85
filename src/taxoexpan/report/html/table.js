"use strict";

// Makes the tables of a report sortable and filterable. All rows are in the JSON beside each table;
// texts become text nodes, never markup.

const words = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
const figures = new Intl.NumberFormat("en");
const FEW = 6; // rows that anyone can look through without a filter
const NUMERIC = new Set(["number", "share"]);

/** The element that a compact node stands for: a text, or [tag, attributes or 0, ...children]. */
function build(node) {
  if (typeof node === "string") return document.createTextNode(node);
  const [tag, attributes, ...children] = node;
  const made = document.createElement(tag);
  for (const name in attributes || {}) made.setAttribute(name, attributes[name]);
  made.append(...children.map(build));
  return made;
}

/** All text of a compact node. */
function textOf(node) {
  return typeof node === "string" ? node : node.slice(2).map(textOf).join("");
}

/** A text without case and accents, to be searched. */
function folded(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

class Row {
  constructor([cells, values, details], place) {
    Object.assign(this, { cells, values, details, place, open: false });
  }

  text(column) {
    this.texts ??= this.cells.map((nodes) => nodes.map(textOf).join(""));
    return this.texts[column];
  }

  get searched() {
    this.text(0);
    return (this.folded ??= folded(this.texts.join("\n")));
  }
}

class Sheet {
  constructor(section) {
    const find = (selector) => section.querySelector(selector);
    const { chunk, rows } = JSON.parse(find("script").textContent);
    this.chunk = chunk;
    this.rows = rows.map((row, place) => new Row(row, place));
    this.heads = [...section.querySelectorAll("th")];
    this.columns = this.heads.map((head) => ({ name: head.textContent, kind: head.dataset.kind }));
    this.body = find("tbody");
    this.count = find(".count");
    this.rest = find(".rest");
    this.filter = find("input[type=search]");
    this.least = [...section.querySelectorAll("input[data-column]")];
    this.all = find("button.all");
    this.sorted = { column: -1, down: false };
    this.shown = chunk;
    this.opened = false;
    this.listen();
    find(".scriptless")?.remove();
    find(".tools").hidden = rows.length <= FEW;
    this.select();
  }

  listen() {
    this.heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => this.sort(column));
      head.append(button);
    });
    for (const input of [this.filter, ...this.least]) {
      input.addEventListener("input", () => this.select());
    }
    this.rest.firstElementChild.addEventListener("click", () => this.more());
    this.all?.addEventListener("click", () => this.openAll());
    // On paper nothing can be asked for: all that the filter leaves is printed.
    addEventListener("beforeprint", () => this.draw(Infinity));
    addEventListener("afterprint", () => this.draw(this.shown));
  }

  /** Sort by a column: first the way most want it, then the other way, then as it was. */
  sort(column) {
    const first = NUMERIC.has(this.columns[column].kind);
    if (this.sorted.column !== column) this.sorted = { column, down: first };
    else if (this.sorted.down === first) this.sorted = { column, down: !first };
    else this.sorted = { column: -1, down: false };
    this.heads.forEach((head, each) => {
      if (each !== this.sorted.column) head.removeAttribute("aria-sort");
      else head.setAttribute("aria-sort", this.sorted.down ? "descending" : "ascending");
    });
    this.rows.sort(this.order());
    this.select();
  }

  /** How two rows are compared; what has no value comes last either way. */
  order() {
    const { column, down } = this.sorted;
    if (column < 0) return (a, b) => a.place - b.place;
    const way = down ? -1 : 1;
    if (NUMERIC.has(this.columns[column].kind)) {
      return (a, b) => {
        const [x, y] = [a.values[column], b.values[column]];
        if (x === null || y === null) return (x === null) - (y === null) || a.place - b.place;
        return way * (x - y) || a.place - b.place;
      };
    }
    return (a, b) => {
      const [x, y] = [a.text(column), b.text(column)];
      if (!x || !y) return !x - !y || a.place - b.place;
      return way * words.compare(x, y) || a.place - b.place;
    };
  }

  /** Keep the rows that hold every word of the filter, and shares of at least what is asked. */
  select() {
    const wanted = folded(this.filter.value).split(/\s+/).filter(Boolean);
    const least = this.least
      .filter((input) => input.value !== "")
      .map((input) => [Number(input.dataset.column), Number(input.value)]);
    this.matched = this.rows.filter(
      (row) =>
        wanted.every((word) => row.searched.includes(word)) &&
        least.every(([column, value]) => (row.values[column] ?? -Infinity) >= value),
    );
    this.shown = this.chunk;
    this.draw(this.shown);
  }

  /** Put the first matched rows on the page. */
  draw(most) {
    const lines = this.matched.slice(0, most).flatMap((row) => this.lines(row));
    this.body.replaceChildren(...lines);
    this.tell(most);
  }

  more() {
    const next = this.matched.slice(this.shown, this.shown + this.chunk);
    this.shown += this.chunk;
    const lines = next.flatMap((row) => this.lines(row));
    this.body.append(...lines);
    this.tell(this.shown);
    lines[0]?.querySelector("button")?.focus();
  }

  tell(most) {
    const [matched, total] = [this.matched.length, this.rows.length].map((n) => figures.format(n));
    const told = `${matched} of ${total}`;
    if (this.count.textContent !== told) this.count.textContent = told;
    const left = this.matched.length - most;
    this.rest.hidden = left <= 0;
    const next = figures.format(Math.min(left, this.chunk));
    this.rest.firstElementChild.textContent = `Show ${next} more of ${figures.format(left)}`;
  }

  /** The lines of a row: its cells and, where it is open, its details. */
  lines(row) {
    row.line ??= this.line(row);
    return row.open ? [row.line, this.below(row)] : [row.line];
  }

  line(row) {
    const line = build(["tr", { role: "row" }]);
    row.cells.forEach((nodes, column) => {
      const { name, kind } = this.columns[column];
      line.append(build(["td", { role: "cell", class: kind, "data-name": name }, ...nodes]));
    });
    if (row.details) {
      const told = `Details of ${row.text(0)}`;
      const attributes = { type: "button", class: "opener", "aria-expanded": row.open, "aria-label": told };
      line.className = "opens";
      line.firstElementChild.prepend(build(["button", attributes]));
      line.addEventListener("click", () => {
        // Who marks a text to copy it does not want to open anything.
        if (getSelection().isCollapsed) this.toggle(row, !row.open);
      });
    }
    return line;
  }

  below(row) {
    const span = { role: "cell", colspan: this.columns.length };
    return (row.opened ??= build(["tr", { role: "row", class: "details" }, ["td", span, row.details]]));
  }

  toggle(row, open) {
    row.open = open;
    row.line?.firstElementChild.firstElementChild.setAttribute("aria-expanded", open);
    if (!row.line?.isConnected) return;
    if (open) row.line.after(this.below(row));
    else row.opened.remove();
  }

  /** Open all rows, or close them again. */
  openAll() {
    const open = !this.opened;
    this.opened = open;
    this.all.textContent = open ? "Close all" : "Open all";
    for (const row of this.rows) if (row.details && row.open !== open) this.toggle(row, open);
  }
}

for (const section of document.querySelectorAll("section.table")) new Sheet(section);
