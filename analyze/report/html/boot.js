// Draws the charts: each when it comes near the screen, all of them before the page is printed.
(function () {
  "use strict";

  const OPTIONS = {
    mode: "vega-lite",
    ast: true, // an interpreter of expressions: the page forbids eval
    renderer: "svg", // its colours are variables of the page, light, dark and on paper
    actions: false,
    defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
  };
  const NEAR = "600px 0px";

  const figures = Array.from(document.querySelectorAll("figure[data-chart]"));
  const holder = document.getElementById("charts");
  const charts = holder ? JSON.parse(holder.textContent) : { config: {}, specs: {} };
  const specs = new Map(Object.entries(charts.specs));

  function failed(figure, error) {
    const sentence = document.createElement("p");
    sentence.className = "chart-problem";
    sentence.textContent = `This chart could not be drawn (${error.message}).`;
    figure.querySelector(".plot").replaceChildren(sentence);
    figure.dataset.state = "failed";
  }

  async function draw(figure) {
    if (figure.dataset.state) {
      return;
    }
    figure.dataset.state = "drawing";
    try {
      const spec = specs.get(figure.dataset.chart);
      if (!spec) {
        throw new Error("the page holds no data of it");
      }
      const options = { ...OPTIONS, config: charts.config };
      const embed = await window.benchlake.charts();
      await embed(figure.querySelector(".plot"), spec, options);
      figure.dataset.state = "drawn";
    } catch (error) {
      failed(figure, error);
    }
  }

  const drawAll = () => figures.forEach(draw);

  // What will be drawn takes its place at once, so that links do not lead beside their target.
  for (const figure of figures) {
    const spec = specs.get(figure.dataset.chart);
    if (spec && typeof spec.height === "number") {
      figure.querySelector(".plot").style.minHeight = `${spec.height}px`;
    }
  }

  window.addEventListener("beforeprint", drawAll);
  if ("IntersectionObserver" in window) {
    const watch = (entries, observer) => {
      for (const entry of entries.filter((one) => one.isIntersecting)) {
        observer.unobserve(entry.target);
        draw(entry.target);
      }
    };
    const observer = new IntersectionObserver(watch, { rootMargin: NEAR });
    figures.forEach((figure) => observer.observe(figure));
  } else {
    drawAll();
  }

  window.benchlake.unpacked.catch(() => null).then(() => setTimeout(() => {
    document.documentElement.dataset.ready = "1"; // after what waited for the same
  }));
})();
