"use strict";
(() => {
  const PRINTED = 640; // points: what fits between the margins of a page
  const config = { displayModeBar: false, responsive: true };
  const plots = [...document.querySelectorAll(".plot")];

  const shown = (plot) => plot.closest("details:not([open])") === null;

  function draw(plot) {
    if (!shown(plot) || plot.classList.contains("js-plotly-plot")) return;
    const figure = JSON.parse(document.getElementById(plot.id + "-figure").textContent);
    Plotly.newPlot(plot, figure.data, figure.layout, config);
  }

  function resize(width) {
    for (const plot of plots.filter(shown)) {
      if (plot.classList.contains("js-plotly-plot")) {
        Plotly.relayout(plot, width ? { width, autosize: false } : { width: null, autosize: true });
      }
    }
  }

  plots.forEach(draw);
  for (const section of document.querySelectorAll("details.run, details.specialists")) {
    section.addEventListener("toggle", () => plots.forEach(draw));
  }

  addEventListener("beforeprint", () => resize(PRINTED));
  addEventListener("afterprint", () => resize(0));
})();
