// Adds messages as sessions say them.
"use strict";
(() => {
  const list = document.getElementById("messages");
  const line = (text, kind) => {
    const found = document.createElement("p");
    found.textContent = text.split("\n").map(visible).join("\n");
    if (kind) found.className = kind;
    return found;
  };
  new EventSource(list.dataset.stream).addEventListener("message", (event) => {
    const said = JSON.parse(event.data);
    if (said.text === undefined) return;
    const item = document.createElement("li");
    item.append(line(said.text), line(`${said.name}, just now`, "small muted"));
    list.prepend(item);
    document.getElementById("silence")?.remove();
  });
})();
