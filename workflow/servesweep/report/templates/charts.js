const charts = (function charts() {
  if (!held.specs) return { repaint() {} };
  const hidden = new Set(), live = new Map(), wanted = new Set();
  let kept = points, view = held.views[0];
  const shown = () => kept.filter(point => point.status === "valid" && !hidden.has(point.configuration));

  // The points that no other beats, of each workload, over the means of the repeats.
  function frontier(drawn) {
    const { x, y, xLess, yLess } = view, groups = new Map();
    for (const point of drawn) {
      if (point[x] === null || point[y] === null) continue;
      const key = JSON.stringify([point.workload, point.configuration, point.rank]);
      const group = groups.get(key) ?? { workload: point.workload, configuration: point.configuration, rank: point.rank, [x]: 0, [y]: 0, n: 0 };
      group[x] += point[x]; group[y] += point[y]; group.n += 1;
      groups.set(key, group);
    }
    const means = [...groups.values()].map(({ n, ...group }) => ({ ...group, [x]: group[x] / n, [y]: group[y] / n }));
    const better = (a, b, key, less) => less ? a[key] - b[key] : b[key] - a[key];
    const edge = [], best = new Map();
    means.sort((a, b) => better(a, b, x, xLess) || better(a, b, y, yLess));
    for (const mean of means) {
      const last = best.get(mean.workload);
      if (last && better(mean, last, y, yLess) >= 0 && !(mean[x] === last[x] && mean[y] === last[y])) continue;
      best.set(mean.workload, mean);
      edge.push(mean);
    }
    return edge.sort((a, b) => a[x] - b[x]);
  }

  const theme = () => document.documentElement.dataset.theme || (dark.matches ? "dark" : "light");
  async function draw(name) {
    const spec = held.specs[name === "pareto" ? "pareto-" + view.key : name], drawn = shown();
    live.get(name)?.finalize();
    live.delete(name);
    const result = await vegaEmbed("#chart-" + name, { ...spec, datasets: { points: drawn, frontier: frontier(drawn) } }, {
      mode: "vega-lite", renderer: held.renderer, config: held.configs[theme()], tooltip: { theme: theme() },
      actions: { export: true, source: false, compiled: false, editor: false },
    });
    live.set(name, result.view);
  }
  function paint(names) {
    return Promise.all([...names].map(draw)).then(() => { document.documentElement.dataset.drawn = theme(); })
      .catch(error => console.error(error));
  }
  function update() {
    const drawn = shown(), edge = frontier(drawn);
    live.forEach((chart, name) => {
      chart.data("points", drawn);
      if (name === "pareto") chart.data("frontier", edge);
      chart.runAsync();
    });
  }

  const sight = new IntersectionObserver(entries => {
    const come = entries.filter(entry => entry.isIntersecting).map(entry => entry.target.id.replace("chart-", ""));
    const fresh = come.filter(name => !wanted.has(name));
    fresh.forEach(name => { wanted.add(name); sight.unobserve(document.getElementById("chart-" + name)); });
    if (fresh.length) paint(fresh);
  }, { rootMargin: "400px" });
  document.querySelectorAll(".chart").forEach(place => sight.observe(place));
  window.addEventListener("beforeprint", () => {
    const rest = [...document.querySelectorAll(".chart")].map(place => place.id.replace("chart-", "")).filter(name => !wanted.has(name));
    rest.forEach(name => wanted.add(name));
    paint(rest);
  });

  document.querySelectorAll(".tabs button").forEach(tab => tab.addEventListener("click", () => {
    view = held.views.find(each => each.key === tab.dataset.view);
    document.querySelectorAll(".tabs button").forEach(each => each.setAttribute("aria-pressed", String(each === tab)));
    document.querySelectorAll("[data-view-hint]").forEach(hint => { hint.hidden = hint.dataset.viewHint !== view.key; });
    paint(["pareto"]);
  }));
  document.querySelectorAll(".legend button").forEach(button => button.addEventListener("click", () => {
    const name = button.dataset.id, off = !hidden.has(name);
    if (off) hidden.add(name); else hidden.delete(name);
    button.setAttribute("aria-pressed", String(!off));
    update();
  }));
  watchers.push(left => {
    kept = left;
    const names = new Set(left.map(point => point.configuration));
    document.querySelectorAll(".legend button").forEach(button => { button.hidden = !names.has(button.dataset.id); });
    update();
  });
  return { repaint() { paint(live.keys()); } };
})();
