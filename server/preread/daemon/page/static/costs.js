// The costs of each day as bars. The table below them says the same.
"use strict";
(() => {
  const days = JSON.parse(document.getElementById("costs").textContent);
  const place = document.getElementById("chart");
  const DAY = 86400;
  const noon = (name) => Date.parse(name + "T12:00:00") / 1000;
  const known = new Map(days.map((day) => [day.name, day.usd]));
  const first = noon(days[0].name), last = noon(days.at(-1).name);
  const times = [], costs = [];
  for (let at = first; at <= last + 1; at += DAY) {
    const date = new Date(at * 1000);
    const name = [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((n) => String(n).padStart(2, "0")).join("-");
    times.push(at);
    costs.push(known.get(name) || 0);
  }
  // A label below a bar, and no label twice.
  const labelled = (chart) => {
    const step = Math.ceil(times.length / Math.max(1, Math.floor(chart.width / 70)));
    return times.filter((_, place) => place % step === 0);
  };
  const DOLLARS = [0.01, 0.1, 1, 10, 100, 1000].flatMap((unit) => [unit, 2 * unit, 5 * unit]);
  let plot = null;
  const draw = () => {
    const style = getComputedStyle(document.documentElement);
    const [accent, soft, line] = ["--accent", "--soft", "--line"].map((name) => style.getPropertyValue(name).trim());
    const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
    plot?.destroy();
    plot = new uPlot({
      width: place.clientWidth, height: 220, legend: { show: false }, cursor: { show: false },
      scales: { x: { time: true, range: [first - DAY * 0.7, last + DAY * 0.7] }, y: { range: (_, _low, high) => [0, Math.max(high * 1.1, 0.01)] } },
      axes: [
        { ...axis, grid: { show: false }, splits: labelled, values: "{D} {MMM}" },
        { ...axis, size: 60, incrs: DOLLARS, values: (_, ticks) => ticks.map((tick) => "$" + tick.toFixed(2)) },
      ],
      series: [{}, { fill: accent, stroke: accent, width: 0, points: { show: false }, paths: uPlot.paths.bars({ size: [0.6, 34] }) }],
    }, [times, costs], place);
  };
  draw();
  new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: 220 })).observe(place);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
