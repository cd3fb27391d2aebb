// Follows the running builds and says how each ended. When one begins, the page is loaded again.
"use strict";
(() => {
  const builds = document.getElementById("builds");
  const shown = new Map([...builds.querySelectorAll(".build")].map((one) => [one.dataset.feature, one]));
  const clock = () => new Date().toTimeString().slice(0, 8);
  const bottom = (build) => { const log = build.querySelector(".log"); log.scrollTop = log.scrollHeight; };
  const step = (build, text) => {
    const list = build.querySelector(".steps");
    const item = document.createElement("li");
    const time = document.createElement("time");
    const said = document.createElement("span");
    time.textContent = clock();
    said.textContent = visible(text);
    item.append(time, " ", said);
    list.append(item);
    bottom(build);
  };
  const TONES = { ok: "good", error: "bad" };
  const end = (build, data) => {
    shown.delete(data.feature);
    const [state, about] = [build.querySelector(".state"), build.querySelector(".about")];
    state.textContent = data.state === "error" ? "failed" : data.state;
    state.className = `state ${TONES[data.state] || "warn"}`;
    about.replaceChildren(state, " ", visible(data.why));
    step(build, data.why || "It is built.");
    if (build.contains(document.activeElement)) build.querySelector(".log").focus();
    for (const one of build.querySelectorAll("progress, form")) one.remove();
    if (data.state === "error") return;
    const link = document.createElement("a");
    link.href = build.dataset.dossier;
    link.textContent = "Its dossier";
    about.append(" ", link);
  };
  const stream = new EventSource(builds.dataset.stream);
  stream.addEventListener("hello", (event) => {
    const now = JSON.parse(event.data).builds.map((one) => one.feature);
    if (now.length !== shown.size || !now.every((one) => shown.has(one))) location.reload();
  });
  stream.addEventListener("build", (event) => {
    const data = JSON.parse(event.data);
    const build = shown.get(data.feature);
    const ended = !["running", "waiting"].includes(data.state);
    if (ended) { if (build) end(build, data); return; }
    if (!build) { stream.close(); location.reload(); return; }
    const progress = build.querySelector("progress");
    progress.max = data.total || 1;
    progress.value = data.done;
    const last = build.querySelector(".steps li:last-child span");
    if (data.message && last?.textContent !== visible(data.message)) step(build, data.message);
  });
  for (const build of shown.values()) bottom(build);
  const loaded = performance.now();
  setInterval(() => {
    for (const one of builds.querySelectorAll(".seconds")) one.textContent = `${Number(one.dataset.seconds) + Math.round((performance.now() - loaded) / 1000)} s`;
  }, 1000);
})();
