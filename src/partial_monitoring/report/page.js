// Draws the charts when they come near the screen, and keeps the charts of an instance in step.
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const touch = matchMedia("(pointer: coarse)").matches;
  const config = {
    responsive: true,
    displaylogo: false,
    modeBarButtons: [["zoom2d", "pan2d", "resetScale2d", "toImage"]],
    toImageButtonOptions: { format: "svg" },
  };
  const near = new Set();
  const night = matchMedia("(prefers-color-scheme: dark)");
  const dark = new Map(Object.entries(JSON.parse(document.body.dataset.dark)));

  // What a trace and a layout look like on a dark page.
  function darkTrace(trace) {
    const line = { ...trace.line, color: dark.get(trace.line.color) ?? trace.line.color };
    const opacity = trace.fillcolor?.match(/, ([\d.]+)\)$/)?.[1];
    const fillcolor = opacity
      ? line.color + Math.round(255 * 1.6 * opacity).toString(16).padStart(2, "0")
      : (dark.get(trace.fillcolor) ?? trace.fillcolor);
    return { ...trace, line, ...(fillcolor && { fillcolor }) };
  }

  function darkLayout(layout) {
    const axis = { gridcolor: "#2e343b", linecolor: "#56606b" };
    return {
      ...layout,
      font: { ...layout.font, color: "#c9ced4" },
      hoverlabel: { ...layout.hoverlabel, bgcolor: "#20252b", font: { color: "#e4e8ec" } },
      xaxis: { ...layout.xaxis, ...axis },
      yaxis: { ...layout.yaxis, ...axis },
    };
  }

  function shown(trace, state) {
    const { policy, part } = trace.meta;
    return !state.hidden.has(policy) && (part !== "quantiles" || state.quantiles);
  }

  function draw(div, state) {
    const { views } = charts[div.dataset.chart];
    const view = views[state.view] ?? Object.values(views)[0];
    // On a touch screen a swipe moves the page, not the chart.
    let layout = { ...structuredClone(view.layout), dragmode: touch ? false : "zoom" };
    const bar = !touch && div.classList.contains("large") && "hover";
    let data = view.data.filter((trace) => shown(trace, state));
    if (night.matches && !matchMedia("print").matches) {
      layout = darkLayout(layout);
      data = data.map(darkTrace);
    }
    Plotly.react(div, data, layout, { ...config, displayModeBar: bar });
  }

  function pressed(button, on) {
    button.setAttribute("aria-pressed", String(on));
  }

  // A table that does not fit says so, and can be scrolled with the keyboard.
  const fit = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const cut = target.scrollWidth > target.clientWidth + 1;
      target.classList.toggle("cut", cut);
      if (cut) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  document.querySelectorAll(".scroll").forEach((table) => fit.observe(table));

  document.documentElement.classList.add("live");
  for (const instance of document.querySelectorAll(".instance")) {
    const all = (selector) => [...instance.querySelectorAll(selector)];
    const state = { view: "linear", quantiles: false, hidden: new Set() };
    const redraw = () => all(".chart").filter((div) => near.has(div)).forEach((div) => draw(div, state));

    const watch = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) {
          watch.unobserve(target);
          near.add(target);
          draw(target, state);
        }
      }
    }, { rootMargin: "600px" });
    all(".chart").forEach((div) => watch.observe(div));

    night.addEventListener("change", redraw);

    for (const button of all("[data-view]")) {
      button.addEventListener("click", () => {
        state.view = button.dataset.view;
        all("[data-view]").forEach((other) => pressed(other, other === button));
        redraw();
      });
    }
    for (const button of all("[data-quantiles]")) {
      state.quantiles = button.getAttribute("aria-pressed") === "true";
      button.addEventListener("click", () => {
        state.quantiles = !state.quantiles;
        pressed(button, state.quantiles);
        redraw();
      });
    }
    for (const button of all("button[data-policy]")) {
      button.addEventListener("click", () => {
        const name = button.dataset.policy;
        const hide = !state.hidden.has(name);
        if (hide) state.hidden.add(name);
        else state.hidden.delete(name);
        pressed(button, !hide);
        all("figure[data-policy]").forEach((figure) => {
          if (figure.dataset.policy === name) figure.hidden = hide;
        });
        redraw();
      });
    }
  }
})();
