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

  // What the viewer fills in or has opened is left as it is. What only has the focus, such as a table that was clicked, goes on.
  const FIELDS = "input, select, textarea";

  function isHeld(element) {
    if (element.matches("details[open]")) return true;
    const active = document.activeElement;
    if (!active || !element.contains(active)) return false;
    return element.matches("form") || (element === active && active.matches(FIELDS));
  }

  function isWorkedWith(node) {
    const active = document.activeElement;
    if (!active || !node.contains(active)) return false;
    return active.matches(FIELDS) || active.closest("form, details[open]") !== null;
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
      if (!isWorkedWith(at)) at.remove();
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

  // The session has ended, or may not see the page any more.
  function mustSignIn() {
    stop();
    say("late", "Not current: ");
    const link = document.createElement("a");
    link.href = `/sign-in?next=${encodeURIComponent(pulse.dataset.live)}`;
    link.textContent = "Sign in again";
    pulse.append(link);
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

  // A refusal has a status and a reason, which an EventSource does not tell: they are asked for once.
  async function explain(refused) {
    const asking = new AbortController();
    let status = 0;
    let why = "no connection";
    try {
      const accept = { Accept: "application/problem+json" };
      const answer = await fetch(refused.url, { headers: accept, signal: asking.signal });
      status = answer.status;
      if (!answer.ok) why = (await answer.json()).detail || `status ${status}`;
    } catch {
      // There is no connection, or the answer is of a proxy.
      if (status) why = `status ${status}`;
    }
    asking.abort();
    // The page was hidden or looked at again meanwhile.
    if (source !== refused) return;
    if (status === 401 || status === 403) return mustSignIn();
    if (status !== 200) say("late", `Not current: ${why}`);
    again = setTimeout(start, 10000);
  }

  function start() {
    stop();
    source = new EventSource(`/live?page=${encodeURIComponent(pulse.dataset.live)}`);
    source.addEventListener("live", (event) => show(event.data));
    source.addEventListener("trouble", (event) => say("late", `Not current: ${event.data}`));
    source.addEventListener("over", mustSignIn);
    source.addEventListener("error", () => {
      // A browser tries again by itself after a break, and not after a refusal.
      if (source && source.readyState === EventSource.CLOSED) explain(source);
      else say("late", "Not current: no connection");
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
