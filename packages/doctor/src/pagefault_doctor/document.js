"use strict";
(() => {
  const root = document.documentElement;
  const bar = document.querySelector(".bar");
  const find = document.getElementById("find");
  const failed = document.getElementById("failed");
  const count = document.getElementById("count");
  const entries = [...document.querySelectorAll("article")];
  // More marks than this do not help a reader.
  const MARKS = 2000;

  function mark(words) {
    if (!("highlights" in CSS)) return;
    CSS.highlights.delete("found");
    if (words === "") return;
    const ranges = [];
    for (const entry of entries) {
      if (entry.hidden) continue;
      const texts = document.createTreeWalker(entry, NodeFilter.SHOW_TEXT);
      for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
        const text = node.data.toLowerCase();
        // Positions are useless if lower case has another length. `line` is shown in closed entries.
        if (text.length !== node.data.length || node.parentElement.className === "line") continue;
        let start = text.indexOf(words);
        while (start >= 0) {
          if (ranges.length === MARKS) return CSS.highlights.set("found", new Highlight(...ranges));
          const end = start + words.length;
          const range = new Range();
          range.setStart(node, start);
          range.setEnd(node, end);
          ranges.push(range);
          start = text.indexOf(words, end);
        }
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
  }

  function filter() {
    const words = find.value.trim().toLowerCase();
    let shown = 0;
    for (const entry of entries) {
      const fits = !failed.checked || entry.classList.contains("failed");
      entry.hidden = !(fits && (words === "" || entry.textContent.toLowerCase().includes(words)));
      shown += entry.hidden ? 0 : 1;
    }
    count.textContent = shown === entries.length ? "" : `${shown} of ${entries.length}`;
    mark(words);
  }

  function fold(isOpen) {
    for (const details of document.querySelectorAll("article > details")) details.open = isOpen;
  }

  // Show the entry that a link refers to, even if a filter hides it.
  function follow() {
    const entry = document.getElementById(location.hash.slice(1));
    if (entry === null || !entry.hidden) return;
    find.value = "";
    failed.checked = false;
    filter();
    entry.scrollIntoView();
  }

  let timer = 0;
  find.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(filter, 150);
  });
  failed.addEventListener("change", filter);
  document.getElementById("fold").addEventListener("click", () => fold(false));
  document.getElementById("unfold").addEventListener("click", () => fold(true));
  document.getElementById("theme").addEventListener("click", () => {
    const isDark = getComputedStyle(root).colorScheme === "dark" ||
      (root.dataset.theme === undefined && matchMedia("(prefers-color-scheme: dark)").matches);
    root.dataset.theme = isDark ? "light" : "dark";
  });
  addEventListener("hashchange", follow);
  bar.hidden = false;
})();
