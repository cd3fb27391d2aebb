// As dossiers change, shows the list of them anew, or says so above the dossier that somebody reads.
"use strict";
(() => {
  const main = document.getElementById("main");
  const news = document.getElementById("news");
  const text = (of) => {
    const copy = of.cloneNode(true);
    for (const one of copy.querySelectorAll("#news, time, .age")) one.remove();
    return copy.textContent;
  };
  const replace = (now) => {
    const focused = main.contains(document.activeElement) && document.activeElement.getAttribute("href");
    main.replaceChildren(...document.adoptNode(now).childNodes);
    [...main.querySelectorAll("a")].find((one) => one.getAttribute("href") === focused)?.focus();
  };
  const say = () => {
    if (news.firstChild) return;
    const said = document.createElement("p");
    const link = document.createElement("a");
    said.className = "notice";
    link.href = location.href.split("#")[0];
    link.textContent = "Show it as it is now";
    said.append("This dossier has changed. ", link);
    news.append(said);
  };
  const look = () => {
    const request = new XMLHttpRequest();
    request.responseType = "document";
    request.addEventListener("load", () => {
      const now = request.response?.getElementById("main");
      if (now && text(now) !== text(main)) (news.hasAttribute("data-replaces") ? replace : say)(now);
    });
    request.open("GET", location.href);
    request.send();
  };
  let stream = null;
  let isNew = true; // what is shown
  let timer = 0;
  const soon = () => { clearTimeout(timer); timer = setTimeout(look, 300); };
  const follow = () => {
    stream = new EventSource(news.dataset.stream);
    stream.addEventListener("hello", () => { if (!isNew) soon(); isNew = false; });
    stream.addEventListener("dossier", soon);
  };
  // A browser allows only six connections to a server: tabs that nobody sees keep none.
  const change = () => {
    stream?.close();
    stream = null;
    if (!document.hidden) follow();
  };
  document.addEventListener("visibilitychange", change);
  change();
})();
