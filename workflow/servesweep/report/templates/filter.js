const dark = window.matchMedia("(prefers-color-scheme: dark)");
const held = JSON.parse(document.getElementById("data").textContent);
const points = held.rows.map(row => Object.fromEntries(held.keys.map((key, i) => [key, row[i]])));
const WORDS = ["configuration", "point", "status", "slo", "engine", "frontend", "gpu", "precision", "deployment", "workload"];
const texts = points.map(point => WORDS.map(key => point[key]).join(" ").toLowerCase());

// Everything that shows points; each is called with those that are left.
const watchers = [];
const bar = document.querySelector(".bar");
const filter = document.getElementById("filter"), reset = document.getElementById("reset");
const facets = [...bar.querySelectorAll("select")];

function narrow() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const chosen = facets.filter(facet => facet.value).map(facet => [facet.dataset.facet, facet.value]);
  const kept = points.filter((point, i) =>
    chosen.every(([key, value]) => point[key] === value) && words.every(word => texts[i].includes(word)));
  const all = points.length.toLocaleString("en"), some = kept.length.toLocaleString("en");
  bar.querySelector("output").textContent = kept.length === points.length ? all + " points" : some + " of " + all + " points";
  reset.hidden = !words.length && !chosen.length;
  facets.forEach(facet => facet.classList.toggle("chosen", Boolean(facet.value)));
  watchers.forEach(watcher => watcher(kept));
}

let waiting = 0;
filter.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(narrow, points.length > 500 ? 120 : 0);
});
facets.forEach(facet => facet.addEventListener("change", narrow));
reset.addEventListener("click", () => {
  filter.value = "";
  facets.forEach(facet => { facet.value = ""; });
  narrow();
});
