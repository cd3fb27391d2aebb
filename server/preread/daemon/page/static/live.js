// Adds messages as sessions say them.
"use strict";
(() => {
  const list = document.getElementById("messages");
  const hidden = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
  const visible = (text) => text.replace(hidden, (c) => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
  const line = (text, kind) => {
    const found = document.createElement("p");
    found.textContent = visible(text);
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
