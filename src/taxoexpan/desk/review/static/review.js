// Keys, focus and messages for screen readers. Without this script every action still works.
"use strict";

(() => {
  const KEYS_OFF = "taxoexpan-keys-off";
  let isLoading = false;
  let typedAhead = null; // keys that are pressed while a panel opens belong into its field
  const find = (selector) => document.querySelector(selector);
  const isTyping = (element) =>
    element.matches("textarea, select, input:not([type=checkbox], [type=radio], [type=submit])");
  const isActivated = (element) => element.matches("a[href], button, summary, label, [type=radio], [type=checkbox]");
  const keysAreOff = () => {
    try { return localStorage.getItem(KEYS_OFF) === "1"; } catch { return false; }
  };

  /** Do what a key stands for: press the button, follow the link, or focus the field that has it. */
  function press(key) {
    // While a panel is open, only its own keys work, and those that open another panel.
    const isAllowed = (element) => !find("#panel") || element.closest("#panel, [data-panel]");
    const target = [...document.querySelectorAll("[data-key]")].find((element) =>
      element.dataset.key.split(" ").includes(key) && isAllowed(element));
    if (!target && key === "b" && find("#decide") && !find("#panel")) show("No batch is left to undo.");
    if (!target) return false;
    if (target.matches("input, .label")) {
      target.focus();
      target.select?.();
    } else {
      typedAhead = target.matches("[data-panel]") ? "" : null;
      target.click();
    }
    return true;
  }

  /** The button that rejects the proposal in which the focus is. */
  function focusedProposal(key) {
    const proposal = key === "x" && !find("#panel") && document.activeElement.closest(".proposal");
    return proposal && proposal.querySelector("[name=drop]");
  }

  function toggle(digit) {
    const box = find(`[data-toggle="${digit}"]`);
    if (!box) return false;
    box.click();
    box.focus();
    return true;
  }

  function onKey(event) {
    const { key, target } = event;
    if (key === "Enter" && (event.ctrlKey || event.metaKey) && target.matches("textarea")) {
      return void target.form.querySelector(".primary").click();
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
    if (isLoading && !isTyping(target)) {
      // A key is meant for the page that is shown, never for the one that comes next.
      if (typedAhead !== null && key.length === 1) typedAhead += key;
      return event.preventDefault();
    }
    if (key === "Escape") return void (press("Escape") ? event.preventDefault() : target.blur());
    if (target.closest(".results, .search") && moveInResults(event)) return;
    if (target.matches(".tree .label") && moveInTree(event)) return;
    if (isTyping(target) || keysAreOff()) return;
    if (key === " " && target.matches("a.button")) { // it looks like a button
      event.preventDefault();
      return void target.click();
    }
    if ((key === "Enter" || key === " ") && isActivated(target)) return;
    const digit = !find("#panel") && event.shiftKey && /^Digit[1-9]$/.test(event.code) && event.code.slice(-1);
    const own = focusedProposal(key);
    let done;
    if (digit) done = toggle(digit);
    else if (own) { own.click(); done = true; }
    else done = press(key.length === 1 ? key.toLowerCase() : key);
    if (done) event.preventDefault();
  }

  /** Arrow keys walk from the search field through the results, and Enter takes the first one. */
  function moveInResults(event) {
    const buttons = [...document.querySelectorAll(".results button.pick")];
    const field = find(".search input[type=search]");
    const at = buttons.indexOf(document.activeElement);
    if (event.key === "Enter" && document.activeElement === field) {
      const shown = find(".results")?.dataset.query;
      if (buttons.length && shown === field.value.trim()) {
        event.preventDefault();
        buttons[0].click();
        return true;
      }
      return false;
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !field) return false;
    event.preventDefault();
    (buttons[at + step] ?? (step < 0 ? field : buttons[at]))?.focus();
    return true;
  }

  /** Open or close a branch; its children are loaded when it is opened for the first time. */
  function openBranch(link, isOpen = link.ariaExpanded !== "true") {
    const list = link.parentElement.querySelector(":scope > ul");
    link.ariaExpanded = String(isOpen);
    if (list) list.hidden = !isOpen;
    else if (isOpen) htmx.ajax("GET", link.href, { target: link.parentElement, swap: "beforeend" });
  }

  /** In a tree, arrow keys walk, open and close, and Enter places the new concept. */
  function moveInTree(event) {
    const { key, target } = event;
    const labels = [...target.closest(".tree").querySelectorAll(".label")].filter((each) => each.checkVisibility());
    const node = target.parentElement;
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    const is = (expanded) => target.matches("[data-open]") && target.ariaExpanded === expanded;
    if (key in steps) labels[labels.indexOf(target) + steps[key]]?.focus();
    else if (key === "ArrowRight" && is("false")) openBranch(target, true);
    else if (key === "ArrowRight") node.querySelector("ul .label")?.focus();
    else if (key === "ArrowLeft" && is("true")) openBranch(target, false);
    else if (key === "ArrowLeft") node.parentElement.closest(".node")?.querySelector(".label").focus();
    else if (key === "Enter" && node.matches(".more")) openBranch(target);
    else if (key === "Enter") node.querySelector(`:scope > .here [name=${event.shiftKey ? "with" : "accept"}]`)?.click();
    else return false;
    event.preventDefault();
    return true;
  }

  function announce(text) {
    const live = find("#live");
    if (live) live.textContent = text;
  }

  /** Show a message in the place of the last one. */
  function show(text, kind = "") {
    const note = document.createElement("p");
    note.textContent = text;
    const toast = document.createElement("div");
    toast.className = `toast ${kind}`;
    toast.append(note);
    find(".toast")?.remove();
    find("#live")?.after(toast);
    announce(text);
  }

  /** After a new page: say what happened, show the open concept in the list, and place the focus. */
  function arrive(isFirst) {
    const message = find("[data-announce]");
    if (message) announce(message.textContent.trim().replace(/\s+/g, " "));
    const open = find(".concepts [aria-current]");
    if (open) {
      const list = open.closest(".concepts");
      const offset = open.offsetTop - list.offsetTop;
      if (offset < list.scrollTop || offset + open.offsetHeight > list.scrollTop + list.clientHeight) {
        list.scrollTop = offset - list.clientHeight / 3;
      }
    }
    const field = find("[autofocus]");
    if (field) {
      field.focus();
      if (typedAhead && isTyping(field)) {
        field.value += typedAhead;
        field.dispatchEvent(new Event("input", { bubbles: true }));
      }
    } else if (!isFirst) {
      find("[data-focus]")?.focus({ preventScroll: true });
    }
    typedAhead = null;
    const box = find("[data-keys]");
    if (box) box.checked = !keysAreOff();
    countSelected();
  }

  /** Say on the first button how many parents, or how many concepts, it accepts. */
  function countSelected() {
    const form = find("#decide");
    const total = find("[data-total]");
    if (total) {
      const cleared = document.querySelectorAll("[name=take]:not(:checked)").length;
      total.textContent = (total.dataset.total - cleared).toLocaleString("en");
    }
    if (!form) return;
    for (const button of form.querySelectorAll(".buttons > [name=accept]")) {
      const others = [...form.querySelectorAll("[name=with]:checked")].filter((box) => box.value !== button.value);
      const text = others.length ? `Accept ${others.length + 1} parents ` : "Accept ";
      if (button.firstChild.nodeValue !== text) button.firstChild.nodeValue = text;
    }
  }

  document.addEventListener("keydown", onKey);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-open]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openBranch(link);
  });
  document.addEventListener("change", (event) => {
    const { target } = event;
    if (target.matches("[data-keys]")) {
      try { localStorage.setItem(KEYS_OFF, target.checked ? "0" : "1"); } catch { /* private mode */ }
    }
    const form = target.closest("form[data-auto]");
    if (form) form.requestSubmit();
    countSelected();
  });
  // Parents that are marked stay marked while a panel opens.
  document.addEventListener("htmx:configRequest", (event) => {
    if (!event.detail.elt.matches("[data-panel]")) return;
    const marked = [...document.querySelectorAll("#decide [name=with]:checked")];
    event.detail.path += marked.map((box) => `&with=${encodeURIComponent(box.value)}`).join("");
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.detail.boosted) isLoading = true;
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    const { target } = event;
    if (target === document.body) {
      isLoading = false;
      arrive(false);
    }
    if (target.matches?.(".results")) announce(target.dataset.count ?? "");
    const results = target.querySelector?.("[data-count]");
    if (results) announce(results.dataset.count);
  });
  document.addEventListener("htmx:sendError", () => {
    isLoading = false;
    show("The server does not answer. Start it again, and look whether your last decision was saved.", "problem");
  });
  arrive(true);
})();
