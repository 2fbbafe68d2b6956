// The dashboard without this script is complete: it shows times in the viewer's zone, and keeps the live part of a page current.
"use strict";

(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

  // Moments are served in UTC; the original stays in `datetime`.
  function localize(root) {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const local = format.format(new Date(time.dateTime));
      if (time.classList.contains("ago")) time.title = local;
      else time.textContent = local;
    }
  }

  // An element that the viewer works with is left as it is.
  function isHeld(element) {
    if (element.matches("details[open]")) return true;
    const active = document.activeElement;
    const works = active && active !== document.body && element.contains(active);
    return works && (element === active || element.matches("form"));
  }

  function sameKind(a, b) {
    return a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || "") === (b.id || "");
  }

  function copyAttributes(from, to) {
    for (const { name, value } of [...from.attributes]) {
      if (to.getAttribute(name) !== value) to.setAttribute(name, value);
    }
    for (const { name } of [...to.attributes]) {
      if (!from.hasAttribute(name)) to.removeAttribute(name);
    }
  }

  // Makes `old` look like `fresh` and touches nothing that is already so.
  function update(old, fresh) {
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
      return;
    }
    if (isHeld(old)) return;
    copyAttributes(fresh, old);
    updateChildren(old, fresh);
  }

  function updateChildren(old, fresh) {
    const named = new Map();
    for (const child of old.children) if (child.id) named.set(child.id, child);
    let at = old.firstChild;
    for (const wanted of [...fresh.childNodes]) {
      let found = wanted.id ? named.get(wanted.id) : null;
      if (!found && at && sameKind(at, wanted)) found = at;
      if (!found || !sameKind(found, wanted)) {
        old.insertBefore(wanted, at);
        continue;
      }
      if (found === at) at = at.nextSibling;
      else old.insertBefore(found, at);
      update(found, wanted);
    }
    while (at) {
      const next = at.nextSibling;
      // What is worked with stays until the viewer leaves it.
      if (!(at.contains && at.contains(document.activeElement))) at.remove();
      at = next;
    }
  }

  localize(document);
  const zoneName = document.getElementById("zone");
  if (zoneName && zone) zoneName.textContent = `in ${zone}`;

  const pulse = document.getElementById("pulse");
  const live = document.getElementById("live");
  if (!pulse || !live || !window.EventSource) return;

  let source = null;
  let again = 0;

  function say(state, text) {
    if (pulse.dataset.state === state && pulse.textContent === text) return;
    pulse.dataset.state = state;
    pulse.textContent = text;
  }

  function show(html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    localize(template.content);
    updateChildren(live, template.content);
    say("live", "Live");
  }

  function stop() {
    clearTimeout(again);
    if (source) source.close();
    source = null;
  }

  function start() {
    stop();
    source = new EventSource(`/live?page=${encodeURIComponent(pulse.dataset.live)}`);
    source.addEventListener("live", (event) => show(event.data));
    source.addEventListener("trouble", (event) => say("late", `Not current: ${event.data}`));
    source.addEventListener("over", () => {
      stop();
      say("late", "Not current: sign in again");
    });
    source.addEventListener("error", () => {
      say("late", "Not current: no connection");
      // A browser tries again by itself after a break, and not after a refusal.
      if (source && source.readyState === EventSource.CLOSED) again = setTimeout(start, 10000);
    });
  }

  function follow() {
    if (document.hidden) {
      stop();
      say("paused", "Paused");
    } else {
      start();
    }
  }

  document.addEventListener("visibilitychange", follow);
  // A page that the browser keeps to go back to holds no connection.
  window.addEventListener("pagehide", stop);
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) follow();
  });
  follow();
})();
