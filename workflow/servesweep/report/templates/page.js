"use strict";
(function charts() {
  const held = document.getElementById("drawn");
  if (!held) return;
  const drawn = JSON.parse(held.textContent);
  const points = drawn.rows.map(row => Object.fromEntries(drawn.keys.map((key, i) => [key, row[i]])));
  const hidden = new Set();
  const shown = () => points.filter(point => !hidden.has(point.configuration));
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let views = [];

  async function draw() {
    views.forEach(view => view.finalize());
    const theme = dark.matches ? "dark" : "light";
    const options = {
      mode: "vega-lite", renderer: drawn.renderer, config: drawn.configs[theme], tooltip: { theme },
      actions: { export: true, source: false, compiled: false, editor: false },
    };
    views = await Promise.all(Object.entries(drawn.specs).map(async ([name, spec]) => {
      const datasets = { points: shown(), frontier: drawn.frontier };
      const result = await vegaEmbed("#chart-" + name, { ...spec, datasets }, options);
      return result.view;
    }));
    document.documentElement.dataset.drawn = theme;
  }

  document.querySelectorAll(".legend button").forEach(button => button.addEventListener("click", () => {
    const name = button.dataset.id, off = !hidden.has(name);
    if (off) hidden.add(name); else hidden.delete(name);
    button.setAttribute("aria-pressed", String(!off));
    views.forEach(view => view.data("points", shown()).runAsync());
  }));
  dark.addEventListener("change", draw);
  draw().catch(error => console.error(error));
})();

(function table() {
  const body = document.querySelector(".points tbody");
  const rows = Array.from(body.rows);
  const told = document.querySelector(".tools output");
  const filter = document.getElementById("filter");
  const texts = rows.map(row => row.textContent.toLowerCase());

  function narrow() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    rows.forEach((row, i) => {
      row.hidden = !words.every(word => texts[i].includes(word));
      count += row.hidden ? 0 : 1;
    });
    told.textContent = count === rows.length ? rows.length + " points" : count + " of " + rows.length + " points";
  }

  const order = new Map(rows.map((row, i) => [row, i]));
  const names = new Intl.Collator(undefined, { numeric: true });
  function key(row, column) {
    const text = row.cells[column].textContent.trim(), number = Number(text.replace(/,/g, ""));
    return { text, number: text !== "" && !Number.isNaN(number) ? number : null };
  }
  function sort(head) {
    const column = Number(head.dataset.column), was = head.getAttribute("aria-sort");
    const first = head.classList.contains("number") ? "descending" : "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    const next = was === null ? first : was === first ? other : null;
    document.querySelectorAll(".points th[aria-sort]").forEach(th => th.removeAttribute("aria-sort"));
    if (next) head.setAttribute("aria-sort", next);
    const sign = next === "descending" ? -1 : 1;
    const keyed = rows.map(row => [row, key(row, column)]);
    keyed.sort(([a, x], [b, y]) => {
      if (!next) return order.get(a) - order.get(b);
      if ((x.text === "") !== (y.text === "")) return x.text === "" ? 1 : -1;
      const difference = x.number !== null && y.number !== null ? x.number - y.number : names.compare(x.text, y.text);
      return sign * difference || order.get(a) - order.get(b);
    });
    body.append(...keyed.map(([row]) => row));
  }
  document.querySelectorAll(".points th[data-column]").forEach(head =>
    head.querySelector("button").addEventListener("click", () => sort(head)));
  filter.addEventListener("input", narrow);
  narrow();
})();
