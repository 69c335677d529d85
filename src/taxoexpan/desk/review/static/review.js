// Keys, focus and messages for screen readers. Without this script every action still works.
"use strict";

(() => {
  const KEYS_OFF = "taxoexpan-keys-off";
  const PATIENCE = 4000; // milliseconds until a request without an answer can be sent again
  let isLoading = false;
  let waitingKeys = []; // pressed while a page was loading
  let lateTimer;
  const find = (selector) => document.querySelector(selector);
  const isTyping = (element) =>
    element.matches("textarea, select, input:not([type=checkbox], [type=radio], [type=submit])");
  const isActivated = (element) => element.matches("a[href], button, summary, label, [type=radio], [type=checkbox]");
  const keysAreOff = () => {
    try { return localStorage.getItem(KEYS_OFF) === "1"; } catch { return false; }
  };

  /** The button, link or field that has a key. */
  function targetOf(key) {
    // While a panel is open, only its own keys work, and those that open another panel.
    const isAllowed = (element) => !find("#panel") || element.closest("#panel, [data-panel]");
    return [...document.querySelectorAll("[data-key]")].find((element) =>
      element.dataset.key.split(" ").includes(key) && isAllowed(element));
  }

  /** Do what a key stands for: press the button, follow the link, or focus the field that has it. */
  function press(key) {
    const target = targetOf(key);
    if (!target && key === "b" && find("#decide") && !find("#panel")) show("No batch is left to undo.");
    if (!target) return false;
    if (target.matches("input, .label")) {
      target.focus();
      target.select?.();
    } else {
      target.click();
    }
    return true;
  }

  const nameOf = (key) => (key.length === 1 ? key.toLowerCase() : key);

  /** Use the keys that were pressed while this page was loading: as the text of its field, or one after the other. */
  function useWaitingKeys() {
    const field = document.activeElement;
    if (isTyping(field) && waitingKeys.length) {
      field.value += waitingKeys.filter((key) => key.length === 1).join("");
      field.dispatchEvent(new Event("input", { bubbles: true }));
      waitingKeys = [];
    }
    while (waitingKeys.length && !isLoading) {
      const key = nameOf(waitingKeys[0]);
      if (targetOf(key)?.matches("button")) { // it would decide about something that nobody has seen
        const before = find("[data-announce]")?.textContent.trim() ?? "";
        show(`${before} Keys that were pressed while this page was loading did nothing: ${waitingKeys.join(" ")}`.trim());
        waitingKeys = [];
      } else {
        waitingKeys.shift();
        press(key);
      }
    }
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
    if (isLoading && !isTyping(target) && !target.closest(".toast")) {
      waitingKeys.push(key);
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
    else done = press(nameOf(key));
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

  /** Show a message in the place of the last one, and return its element. */
  function show(text, kind = "") {
    const note = document.createElement("p");
    note.textContent = text;
    const toast = document.createElement("div");
    toast.className = `toast ${kind}`;
    toast.append(note);
    find(".toast")?.remove();
    find("#live")?.after(toast);
    announce(text);
    return toast;
  }

  /** Say that a request has no answer, with a button that sends it again; the server takes a repeated decision once. */
  function offerAgain(text, { elt, requestConfig }) {
    const submitter = requestConfig.triggeringEvent?.submitter;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Try again";
    button.addEventListener("click", () => {
      htmx.trigger(elt, "htmx:abort");
      if (submitter ?? !elt.matches("form")) (submitter ?? elt).click();
      else elt.requestSubmit();
    });
    show(text, "problem").append(button);
    button.focus();
  }

  /** After a new page: say what happened, show the open concept in the list, and place the focus. */
  function arrive(isFirst) {
    const message = find("[data-announce]");
    if (message) announce(message.textContent.trim().replace(/\s+/g, " "));
    const open = find(".concepts [aria-current]");
    if (open) {
      const list = open.closest(".concepts");
      const offset = open.offsetTop;
      if (offset < list.scrollTop || offset + open.offsetHeight > list.scrollTop + list.clientHeight) {
        list.scrollTop = offset - list.clientHeight / 3;
      }
    }
    const field = find("[autofocus]");
    if (field) field.focus();
    else if (!isFirst) find("[data-focus]")?.focus({ preventScroll: true });
    const box = find("[data-keys]");
    if (box) box.checked = !keysAreOff();
    countSelected();
    useWaitingKeys();
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

  function endLoading() {
    isLoading = false;
    clearTimeout(lateTimer);
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
    const { detail } = event;
    if (!detail.boosted) return;
    isLoading = true;
    const { verb, path } = detail.requestConfig;
    if (verb === "post" && path !== "/choose") show("Saving…");
    clearTimeout(lateTimer);
    lateTimer = setTimeout(() => offerAgain("The server has not answered yet.", detail), PATIENCE);
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    const { target } = event;
    if (target === document.body) {
      endLoading();
      arrive(false);
    }
    if (target.matches?.(".results")) announce(target.dataset.count ?? "");
    const results = target.querySelector?.("[data-count]");
    if (results) announce(results.dataset.count);
  });
  document.addEventListener("htmx:sendError", ({ detail }) => {
    if (!detail.boosted) return;
    endLoading();
    waitingKeys = [];
    offerAgain("The server does not answer. Start it again, then send this again: nothing is saved twice.", detail);
  });
  arrive(true);
})();
