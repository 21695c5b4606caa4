(function table() {
  const ALL_ROWS = 300;  // beyond that, only the rows in sight are in the document
  const SPARE = 15;
  const body = document.querySelector(".points tbody"), scroll = document.querySelector(".scroll");
  const windowed = points.length > ALL_ROWS;
  const order = new Map(points.map((point, i) => [point, i]));
  const collator = new Intl.Collator("en", { numeric: true });
  const formats = held.columns.map(([, decimals]) => decimals === null || decimals < 0 ? null
    : new Intl.NumberFormat("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals }));
  const heads = [...document.querySelectorAll(".points th[data-column]")];
  const rows = new Map();
  let kept = points, sorted = points, by = null, sign = 0, drawn = "";

  function written(point, column) {
    const [key] = held.columns[column], value = point[key];
    if (value === null || value === undefined) return "";
    return formats[column] && typeof value === "number" ? formats[column].format(value) : String(value);
  }
  function shortened(text, most) {  // ids differ at their ends
    const tail = (most - 1) >> 1;
    return text.length <= most ? text : text.slice(0, most - 1 - tail) + "…" + text.slice(text.length - tail);
  }
  function row(point) {
    if (rows.has(point)) return rows.get(point);
    const tr = document.createElement("tr");
    held.columns.forEach(([key], column) => {
      const td = tr.insertCell(), text = written(point, column);
      if (key === "status") {
        const mark = td.appendChild(document.createElement("span"));
        mark.className = "status " + point.status.replace(" ", "-");
        mark.textContent = point.status;
        if (point.reason) td.title = point.reason;
      } else if (key === "configuration") {
        td.textContent = windowed ? shortened(text, narrowest() ? 20 : 44) : text;
        td.title = text;
      } else {
        td.textContent = text;
        if (key === "slo") td.title = point.missed;
      }
      td.className = heads[column].className;
    });
    rows.set(point, tr);
    return tr;
  }
  function narrowest() { return window.innerWidth < 640; }
  function space(count, height) {
    const tr = document.createElement("tr");
    tr.className = "space";
    tr.insertCell().colSpan = held.columns.length;
    tr.firstChild.style.height = count * height + "px";
    return tr;
  }
  function draw(force) {
    const height = 31, from = windowed ? Math.max(0, Math.floor(scroll.scrollTop / height) - SPARE) : 0;
    const seen = Math.ceil((scroll.clientHeight || 600) / height) + 2 * SPARE;
    const to = windowed ? Math.min(sorted.length, from + seen) : sorted.length;
    const now = from + "-" + to;
    if (!force && now === drawn) return;
    drawn = now;
    const inSight = sorted.slice(from, to).map(row);
    if (from > 0) inSight.unshift(space(from, height));
    if (to < sorted.length) inSight.push(space(sorted.length - to, height));
    body.replaceChildren(...inSight);
  }
  function arrange() {
    sorted = kept;
    if (sign) {
      const key = held.columns[by][0];
      const missing = point => point[key] === null || point[key] === "";
      sorted = [...kept].sort((a, b) => {
        if (missing(a) !== missing(b)) return missing(a) ? 1 : -1;
        const x = a[key], y = b[key];
        const difference = typeof x === "number" && typeof y === "number" ? x - y : collator.compare(x ?? "", y ?? "");
        return sign * difference || order.get(a) - order.get(b);
      });
    }
    if (windowed) scroll.scrollTop = 0;
    draw(true);
  }
  function press(head) {
    const column = Number(head.dataset.column), was = column === by ? sign : 0;
    const first = head.classList.contains("number") ? -1 : 1;
    [by, sign] = [column, was === 0 ? first : was === first ? -first : 0];
    heads.forEach(each => each.removeAttribute("aria-sort"));
    if (sign) head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    arrange();
  }
  if (windowed) {  // widths that do not change while rows come and go
    document.querySelector(".points").classList.add("windowed");
    const columns = document.querySelectorAll(".points col");
    const widths = held.columns.map(([key], column) => {
      const longest = points.reduce((most, point) => Math.max(most, written(point, column).length), 0);
      const most = key === "configuration" ? (narrowest() ? 20 : 44) : 40;
      return Math.max(Math.min(longest, most), heads[column].textContent.length + 2) + (key === "status" ? 2 : 0);
    });
    columns.forEach((column, i) => { column.style.width = "calc(" + widths[i] + "ch + 20px)"; });
    document.querySelector(".points").style.width = "calc(" + widths.reduce((a, b) => a + b, 0) + "ch + " + 20 * widths.length + "px)";
    scroll.addEventListener("scroll", () => draw(false), { passive: true });
    new ResizeObserver(() => draw(false)).observe(scroll);
  }
  heads.forEach(head => head.querySelector("button").addEventListener("click", () => press(head)));
  watchers.push(left => { kept = left; arrange(); });
})();
