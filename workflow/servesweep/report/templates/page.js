const named = document.querySelectorAll("[data-configuration]");
watchers.push(kept => {
  const names = new Set(kept.map(point => point.configuration));
  named.forEach(each => { each.hidden = !names.has(each.dataset.configuration); });
});

const NEXT = { "": "light", light: "dark", dark: "" };
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement, theme = NEXT[root.dataset.theme ?? ""];
  if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
  document.querySelector("#theme span").textContent = theme || "auto";
  charts.repaint();
});
dark.addEventListener("change", () => charts.repaint());
narrow();
