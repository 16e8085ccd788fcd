// Draws what a study did over time, and follows when something changes.
(() => {
  const box = document.getElementById("charts");
  if (!box || typeof uPlot === "undefined") return;

  const night = matchMedia("(prefers-color-scheme: dark)");
  const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });
  const exact = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
  const percent = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
  const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
  const WHOLE = [...Array(10).keys()].flatMap((i) => [1, 2, 5].map((x) => x * 10 ** i)); // no half decisions
  const MARGIN = 1.6; // how far above what was lost a chart of regret reaches, as a ratio
  const together = uPlot.sync("study");
  let axis = "linear", data = null, tag = "", plots = [];

  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  // A colour over the paper, opaque: areas lie on top of each other.
  function mixed(name, share) {
    const parts = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
    const long = (hex) => (hex.length === 4 ? `#${[...hex.slice(1)].map((c) => c + c).join("")}` : hex);
    const [over, under] = [parts(long(color(name))), parts(long(color("paper")))];
    return `rgb(${over.map((x, i) => Math.round(share * x + (1 - share) * under[i])).join(",")})`;
  }

  const line = (label, name, extra = {}) => ({
    label, name, stroke: color(name), width: 1.8, points: { show: data.x.length < 3 && extra.width !== 0 }, ...extra,
  });

  // Each kind of chart: its lines, the bands between them, the range, how a value reads.
  const kinds = {
    shares() {
      const rows = data.actions.map((own, i) => ({ ...own, ys: data.shares[i] }));
      let sum = data.x.map(() => 0);
      const stacked = rows.map((own) => (sum = sum.map((x, i) => (own.ys[i] === null ? null : x + own.ys[i]))));
      const lines = rows.map((own, i) => ({
        ...line(own.label, own.color, { width: 0, fill: mixed(own.color, 0.72) }),
        ys: stacked[i], shown: own.ys,
      }));
      return { lines: lines.reverse(), range: [0, 1], text: (x) => `${percent.format(100 * x)} %` };
    },
    earns() {
      const named = data.actions.filter((own) => own.color !== "other");
      const lines = [], bands = [];
      named.forEach((own, i) => {
        const at = lines.length + 1;
        const edge = { width: 0, silent: true };
        lines.push({ ...line("", own.color, edge), ys: data.high[i] });
        lines.push({ ...line("", own.color, edge), ys: data.low[i] });
        bands.push({ series: [at, at + 1], fill: `${color(own.color)}1f` });
      });
      named.forEach((own, i) => lines.push({ ...line(own.label, own.color), ys: data.estimate[i] }));
      return { lines, bands, text: (x) => exact.format(x) };
    },
    regret() {
      const { estimate, at_most: most, theory } = data.regret;
      const lines = [
        { ...line("estimate", "a0"), ys: estimate },
        { ...line("at most", "a1", { dash: [6, 4] }), ys: most },
        { ...line("theory promises less than", "other", { dash: [2, 4] }), ys: theory },
      ].filter((own) => own.ys.some((x) => x !== null));
      const seen = [...estimate, ...most].filter((x) => x !== null);
      const all = lines.flatMap((own) => own.ys).filter((x) => x !== null);
      const top = seen.length ? Math.min(Math.max(...all), MARGIN * Math.max(...seen)) : Math.max(...all);
      return { lines, range: [0, top > 0 ? 1.05 * top : 1], text: (x) => exact.format(x) };
    },
    answers() {
      const drawn = [["asked", "a0"], ["told", "a2"], ["open", "a4"], ["late", "a3"], ["lapsed", "a1"]];
      const lines = drawn
        .map(([word, name]) => ({ ...line(word, name), ys: data.answers[word] }))
        .filter((own) => own.label === "asked" || own.ys.some((x) => x > 0));
      return { lines, range: (u, low, high) => [0, high > 0 ? 1.05 * high : 1], text: (x) => x.toLocaleString("en") };
    },
  };

  function key(list, lines, text) {
    list.replaceChildren();
    const spoken = lines.filter((own) => !own.silent);
    if (spoken.some((own) => own.shown)) spoken.reverse(); // areas are drawn from the top
    const cells = spoken.map((own) => {
      const item = document.createElement("li"), dot = document.createElement("span");
      const name = document.createElement("span"), value = document.createElement("span");
      dot.className = `dot ${own.name}`;
      name.textContent = own.label;
      value.className = "value";
      item.append(dot, name, value);
      list.append(item);
      return value;
    });
    return (at) => spoken.forEach((own, i) => {
      const x = (own.shown ?? own.ys)[at];
      cells[i].textContent = x === null || x === undefined ? "–" : text(x);
    });
  }

  function draw(div) {
    const made = kinds[div.dataset.kind]();
    const areas = div.dataset.kind === "shares" && data.x.length < 2;
    const empty = areas || !made.lines.some((own) => own.ys.some((y) => y !== null));
    div.closest("figure").hidden = empty;
    if (empty) return null;
    const say = key(box.querySelector(`[data-key="${div.dataset.kind}"]`), made.lines, made.text);
    const time = axis === "time", xs = time ? data.at : data.x;
    const grid = { stroke: color("line"), width: 1 };
    const ticks = { stroke: color("line"), width: 1, size: 5 };
    const shared = { stroke: color("soft"), font: FONT, grid, ticks };
    const plain = (u, values) => values.map((x) => (x === null ? "" : short.format(x)));
    const share = (u, values) => values.map((x) => `${Math.round(100 * x)} %`);
    const options = {
      width: Math.max(div.clientWidth, 200),
      height: 240,
      legend: { show: false },
      cursor: { sync: { key: together.key }, drag: { x: false, y: false }, points: { size: 6 } },
      scales: { x: { time, distr: axis === "log" ? 3 : 1 }, y: made.range ? { range: made.range } : {} },
      axes: [
        time ? { ...shared } : { ...shared, values: plain, incrs: WHOLE, grid: { show: false } },
        { ...shared, size: 58, values: div.dataset.kind === "shares" ? share : plain },
      ],
      series: [{}, ...made.lines],
      bands: made.bands ?? [],
      hooks: { setCursor: [(u) => say(u.cursor.idx ?? xs.length - 1)] },
    };
    const plot = new uPlot(options, [xs, ...made.lines.map((own) => own.ys)], div);
    say(xs.length - 1);
    return plot;
  }

  function redraw() {
    plots.forEach((own) => own.destroy());
    plots = [];
    if (!data || !data.x.length) return;
    box.hidden = false;
    plots = [...box.querySelectorAll(".chart")].map(draw).filter((own) => own);
  }

  async function load() {
    try {
      const answer = await fetch(box.dataset.chart, { cache: "no-store", headers: tag ? { "If-None-Match": tag } : {} });
      if (answer.status !== 200) return;
      tag = answer.headers.get("ETag") ?? "";
      data = await answer.json();
    } catch {
      return; // the page says that the service is away
    }
    redraw();
  }

  for (const button of box.querySelectorAll("[data-axis]")) {
    button.addEventListener("click", () => {
      axis = button.dataset.axis;
      for (const other of box.querySelectorAll("[data-axis]"))
        other.setAttribute("aria-pressed", String(other === button));
      redraw();
    });
  }
  let width = 0;
  new ResizeObserver(() => {
    if (box.clientWidth === width) return;
    width = box.clientWidth;
    plots.forEach((own) => own.setSize({ width: Math.max(own.root.parentElement.clientWidth, 200), height: 240 }));
  }).observe(box);
  night.addEventListener("change", redraw);
  document.addEventListener("changed", load);
  load();
})();
