// Draws the charts when they come near the screen, and keeps the charts of an instance in step.
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const touch = matchMedia("(pointer: coarse)").matches;
  const config = {
    responsive: true,
    displaylogo: false,
    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
    toImageButtonOptions: { format: "svg" },
  };
  const near = new Set();

  function shown(trace, state) {
    const { policy, part } = trace.meta;
    return !state.hidden.has(policy) && (part !== "quantiles" || state.quantiles);
  }

  function draw(div, state) {
    const { views } = charts[div.dataset.chart];
    const view = views[state.view] ?? Object.values(views)[0];
    // On a touch screen a swipe moves the page, not the chart.
    const layout = { ...structuredClone(view.layout), dragmode: touch ? false : "zoom" };
    const bar = !touch && div.classList.contains("large") && "hover";
    const data = view.data.filter((trace) => shown(trace, state));
    Plotly.react(div, data, layout, { ...config, displayModeBar: bar });
  }

  function pressed(button, on) {
    button.setAttribute("aria-pressed", String(on));
  }

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
