// Drives Chromium through the dashboard. `node browser.js TASK URL [OPTION=VALUE]...` does one task and fails with what it found.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const { chromium } = require("playwright-core");

const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const SIZES = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true },
  dark: { viewport: { width: 1280, height: 800 }, colorScheme: "dark" },
};

// What comes and goes, and should be in the picture of a page.
const PASSING = { "/inbox": "Versions that keys wait for" };

const [task, url, ...rest] = process.argv.slice(2);
const options = Object.fromEntries(rest.map((option) => option.split(/=(.*)/s).slice(0, 2)));

// A page that fails the task if the browser complains about anything.
async function open(browser, settings = {}) {
  const context = await browser.newContext({ locale: "en-GB", timezoneId: "Europe/Berlin", ...settings });
  context.setDefaultTimeout(30000);
  const page = await context.newPage();
  page.complaints = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) page.complaints.push(`${page.url()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => page.complaints.push(`${page.url()}: ${error}`));
  return page;
}

function quiet(page) {
  assert.deepEqual(page.complaints, [], "the browser complains");
}

// Moments are in the zone of the viewer, which is not that of the server.
async function inZoneOfTheViewer(page, address) {
  const wrong = await page.evaluate(() => {
    const format = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium", timeZone: "Europe/Berlin" });
    const times = [...document.querySelectorAll("time[datetime]")];
    const shown = (time) => (time.classList.contains("ago") ? time.title : time.textContent);
    return times.filter((time) => shown(time) !== format.format(new Date(time.dateTime))).map((time) => time.outerHTML);
  });
  assert.deepEqual(wrong, [], `${address}: times in Europe/Berlin`);
}

async function pages(page) {
  await page.goto(url);
  const found = await page.$$eval("nav.pages a", (links) => links.map((link) => link.getAttribute("href")));
  assert.ok(found.length > 0, "no navigation");
  return found;
}

// A server at another origin that answers every request with one page.
async function elsewhere(html, type = "text/html") {
  const server = http.createServer((request, response) => {
    response.setHeader("Content-Type", type);
    response.setHeader("Access-Control-Allow-Origin", "*");
    response.end(html);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  server.unref();
  return `http://127.0.0.1:${server.address().port}/`;
}

// Reloads until the page says something.
async function until(page, address, text) {
  for (let tries = 0; tries < 120; tries += 1) {
    await page.goto(address);
    const said = await page.locator("main").innerText();
    if (text.test(said)) return said;
    await page.waitForTimeout(500);
  }
  assert.fail(`${address} never said ${text}: ${await page.locator("main").innerText()}`);
}

// Waits until a tile of the overview says so, by live updates alone.
async function tile(page, name, value) {
  const says = ([name, value]) => {
    const tiles = [...document.querySelectorAll(".figures > div")];
    return tiles.some((tile) => tile.querySelector("dt").innerText === name && tile.querySelector("dd").innerText === value);
  };
  const said = await page.waitForFunction(says, [name, value]).catch(() => null);
  assert.ok(said, `the tile ${name} never said ${value}: ${await page.locator(".figures").innerText()}`);
}

// Nothing is wider than the screen. A phone zooms out until a wide page fits, so that its own width of the window says nothing.
async function fits(page, address, size) {
  const { width } = page.viewportSize();
  const wide = await page.evaluate((width) => document.documentElement.scrollWidth - width, width);
  assert.ok(wide <= 0, `${address} is ${wide} px wider than the ${size}`);
}

// A record whose key is one long word, as digests are; gives the address of its page.
async function longKey() {
  const about = { tenant: "acme", scope: "exports@1", key: "0123456789abcdef".repeat(4) };
  const post = async (path, body) => {
    const headers = { "Content-Type": "application/json" };
    const answer = await fetch(`${url}api/v1/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    assert.ok(answer.ok, `${path}: ${answer.status}`);
    return answer.json();
  };
  const { fence } = await post("claims", about);
  await post("claims/settle", { ...about, fence, verdict: "succeeded", body: "done" });
  return `/keys/one?${new URLSearchParams(about)}`;
}

// Charts are taken when they have something to show: a sample is taken every five seconds.
async function drawn(page) {
  await page.goto(url);
  const hasPoints = () => {
    const line = document.querySelector("#chart-requests .line");
    return (line?.getAttribute("d").match(/[ML]/g) ?? []).length > 10;
  };
  await page.waitForFunction(hasPoints, undefined, { timeout: 90000 });
}

// A picture of the page from its top, at most so high.
async function picture(page, file, height) {
  const whole = await page.evaluate(() => document.documentElement.scrollHeight);
  const { width } = page.viewportSize();
  await page.screenshot({ path: file, fullPage: true, clip: { x: 0, y: 0, width, height: Math.min(whole, height) } });
}

// Clicks on what leads to another page, and waits for it.
async function follow(page, target) {
  const element = typeof target === "string" ? page.locator(target).first() : target;
  await Promise.all([page.waitForEvent("framenavigated"), element.click()]);
  await page.waitForLoadState();
}

// Asks the API with a token until it says something.
async function api(address, text) {
  let said = "";
  for (let tries = 0; tries < 120; tries += 1) {
    const answer = await fetch(url + address, { headers: { Authorization: `Bearer ${options.token}` } });
    said = await answer.text();
    if (text.test(said)) return said;
    await new Promise((passed) => setTimeout(passed, 500));
  }
  return assert.fail(`${address} never said ${text}: ${said}`);
}

async function signIn(page, token) {
  await page.fill("input[name=token]", token);
  await follow(page, "button.primary");
}

const tasks = {
  // Each page at each size: no complaint, one heading, nothing wider than the window; a picture of each.
  async renders(browser) {
    const shots = options.screenshots;
    const long = await longKey();
    for (const [size, settings] of Object.entries(SIZES)) {
      const page = await open(browser, settings);
      const addresses = await pages(page);
      await drawn(page);
      // One record, one message: what lists lead to, such as a person has to look at.
      for (const [list, prefix] of [["unknown", "/keys/one?"], ["dead-letters?cause=attempts-exhausted", "/inbox/one?"]]) {
        await page.goto(url + list);
        addresses.push(await page.locator(`main a[href*="${prefix}"]`).first().getAttribute("href"));
      }
      for (const address of addresses) {
        await page.goto(url + address.slice(1));
        await page.waitForFunction(() => {
          const pulse = document.getElementById("pulse");
          return !pulse || pulse.dataset.state === "live";
        });
        assert.equal(await page.locator("main h1").count(), 1, address);
        await fits(page, address, size);
        if (size === "desktop" && PASSING[address]) await page.waitForSelector(`text=${PASSING[address]}`, { timeout: 90000 });
        await inZoneOfTheViewer(page, address);
        const name = (address.slice(1).split("?")[0] || "overview").replaceAll("/", "-");
        const file = path.join(shots, size === "desktop" ? `${name}.png` : `${name}-${size}.png`);
        await picture(page, file, size === "dark" ? 800 : 1600);
      }
      await page.goto(url + long.slice(1));
      await fits(page, long, size);
      const [paper, ink] = await page.evaluate(() => {
        const { backgroundColor, color } = getComputedStyle(document.body);
        return [backgroundColor, color].map((colour) => Math.max(...colour.match(/\d+/g).map(Number)));
      });
      const [dark, light] = size === "dark" ? [paper, ink] : [ink, paper];
      assert.ok(dark < 64 && light > 192, `the ${size}: paper ${paper}, ink ${ink}`);
      quiet(page);
      await page.context().close();
    }
  },

  // Without the script each page is complete as it was served, its times in UTC.
  async plain(browser) {
    const page = await open(browser, { ...SIZES.desktop, javaScriptEnabled: false });
    for (const address of await pages(page)) {
      await page.goto(url + address.slice(1));
      const text = await page.locator("main").innerText();
      const rows = await page.locator(address === "/configuration" ? "main pre" : "main tbody tr").count();
      assert.ok(rows > 0, `${address} shows nothing: ${text}`);
    }
    const zone = await page.locator("#zone").innerText();
    assert.equal(zone, "in UTC");
    quiet(page);
  },

  // Tab reaches every control in the order of the document, and shows where it is.
  async keyboard(browser) {
    const page = await open(browser, SIZES.desktop);
    for (const address of await pages(page)) {
      await page.goto(url + address.slice(1));
      await page.evaluate(() => {
        const controls = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
        const shown = [...document.querySelectorAll(controls)].filter((control) => control.checkVisibility());
        window.controls = shown;
      });
      const count = await page.evaluate(() => window.controls.length);
      const visited = [];
      for (let at = 0; at < count + 5; at += 1) {
        await page.keyboard.press("Tab");
        const focus = await page.evaluate(() => {
          const active = document.activeElement;
          const outline = getComputedStyle(active).outlineStyle;
          return active === document.body ? null : { at: window.controls.indexOf(active), outline };
        });
        if (!focus) break;
        if (focus.at < 0) continue;
        // Some pages lead from their last control to the first without the browser's own in between.
        if (focus.at === visited[0]) break;
        assert.notEqual(focus.outline, "none", `${address}: the focus does not show at ${focus.at}`);
        visited.push(focus.at);
      }
      const sorted = [...visited].sort((a, b) => a - b);
      assert.deepEqual(visited, sorted, `${address}: the order of the document`);
      const missed = count - new Set(visited).size;
      // A live update may have replaced a row since they were counted.
      assert.ok(missed <= count / 10, `${address}: ${missed} of ${count} controls were not reached`);
      await page.goto(url + address.slice(1));
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      assert.equal(await page.evaluate(() => document.activeElement.id), "content", "the skip link");
    }
    quiet(page);
  },

  // The live part changes by itself, keeps the focus, and rests while the page is hidden.
  async live(browser) {
    const page = await open(browser, SIZES.desktop);
    const streams = [];
    page.on("request", (request) => {
      if (request.url().includes("/live?")) streams.push("open");
    });
    page.on("requestfailed", (request) => {
      if (request.url().includes("/live?")) streams.push("closed");
    });
    await page.goto(url);
    await page.waitForSelector("#pulse[data-state=live]");
    await page.evaluate(() => {
      const region = document.querySelector("#live .scroll");
      region.focus();
      window.held = region;
    });
    // What has the focus goes on itself, and keeps it.
    const before = await page.evaluate(() => window.held.innerText);
    await page.waitForFunction((before) => window.held.innerText !== before, before);
    assert.ok(await page.evaluate(() => document.activeElement === window.held && window.held.isConnected), "the focus stays");

    const hide = (hidden) =>
      page.evaluate((hidden) => {
        Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
        document.dispatchEvent(new Event("visibilitychange"));
      }, hidden);
    await hide(true);
    await page.waitForSelector("#pulse[data-state=paused]");
    const paused = streams.length;
    assert.equal(streams.at(-1), "closed", streams.join());
    await hide(false);
    await page.waitForSelector("#pulse[data-state=live]");
    assert.equal(streams.length, paused + 1, "one stream is opened again");
    quiet(page);
  },

  // No page frames this one, and no script of elsewhere, or in the page itself, is run.
  async strangers(browser) {
    const framing = await open(browser, SIZES.desktop);
    await framing.goto(await elsewhere(`<iframe src="${url}"></iframe>`));
    await framing.waitForFunction(() => document.readyState === "complete");
    const inside = framing.frames().find((frame) => frame !== framing.mainFrame());
    const brands = await inside.locator(".brand").count().catch(() => 0);
    assert.equal(brands, 0, "the dashboard shows in a frame");

    const page = await open(browser, SIZES.desktop);
    const script = await elsewhere("window.foreign = true;", "text/javascript");
    await page.goto(url);
    const violated = await page.evaluate(async (script) => {
      const violations = [];
      const second = new Promise((resolve) => {
        document.addEventListener("securitypolicyviolation", (event) => {
          violations.push(event.effectiveDirective);
          if (violations.length === 2) resolve();
        });
      });
      const add = (change) => {
        const element = document.createElement("script");
        change(element);
        document.body.append(element);
      };
      add((element) => (element.src = script));
      add((element) => (element.textContent = "window.foreign = true;"));
      await second;
      return violations;
    }, script);
    assert.deepEqual(violated, ["script-src-elem", "script-src-elem"]);
    assert.equal(await page.evaluate(() => window.foreign), undefined);
  },

  // A handler fails, messages are parked, an alert fires; the operator finds out why, mends it, retries all of them, sees the backlog drain, and finds
  // it in the audit.
  async story(browser) {
    let isMended = false;
    let drain = null;
    const drained = new Promise((resolve) => (drain = resolve));
    const handler = http.createServer((request, response) => {
      request.resume().on("end", async () => {
        // The backlog stands for as long as the operator has not seen it.
        if (isMended) await drained;
        response.statusCode = isMended ? 200 : 500;
        response.end(isMended ? "sent" : "there is no template order-paid");
      });
    });
    await new Promise((listening) => handler.listen(Number(options.handler), "127.0.0.1", listening));
    handler.unref();
    for (const id of ["evt-1", "evt-2", "evt-3"]) {
      const headers = { "Idempotency-Key": id, "Content-Type": "application/json" };
      const sent = await fetch(`${options.inbox}inbox/mailer`, { method: "POST", headers, body: '{"to":"ann@example.org"}' });
      assert.equal(sent.status, 202, await sent.text());
    }

    const page = await open(browser, SIZES.desktop);
    const parked = `${url}inbox?consumer=mailer%401&state=PARKED`;
    await page.goto(parked);
    await signIn(page, options.token);
    assert.equal(page.url(), parked);
    await until(page, `${url}alerts`, /firing[\s\S]*parked[\s\S]*consumer mailer@1/);
    await page.goto(url);
    await tile(page, "Dead letters", "3");
    await tile(page, "Backlog", "0");
    await until(page, parked, /evt-[\s\S]*evt-[\s\S]*evt-/);
    await follow(page, "main a[href*='/inbox/one?']");
    await follow(page, "text=Show what the handler answered");
    const said = await page.locator("main").innerText();
    assert.match(said, /the handler answered 500/);
    assert.match(said, /there is no template order-paid/);

    isMended = true;
    await page.goto(parked);
    const form = page.locator("form.act").filter({ has: page.locator("select[name=verb]") });
    await form.locator("select[name=verb]").selectOption("retry");
    await form.locator("input[name=reason]").fill("the template is there now");
    await follow(page, form.locator("button"));
    const forecast = await page.locator("main").innerText();
    assert.match(forecast, /Would change\s+3/);
    await page.screenshot({ path: path.join(options.screenshots, "dry-run.png"), fullPage: true });
    await follow(page, "button:has-text('3 messages')");
    assert.match(await page.locator(".notice").innerText(), /3/);

    await page.goto(url);
    await tile(page, "Dead letters", "0");
    await tile(page, "Backlog", "3");
    drain();
    await tile(page, "Backlog", "0");
    await until(page, `${url}inbox?consumer=mailer%401&state=COMPLETED`, /evt-[\s\S]*evt-[\s\S]*evt-/);
    await page.goto(`${url}audit`);
    const audit = await page.locator("main").innerText();
    assert.match(audit, /oli[\s\S]*retry[\s\S]*mailer@1[\s\S]*the template is there now/);
    quiet(page);
  },

  // A message fails for what it says; the operator corrects it in the form, sees what differs, and it runs; the original stays.
  async edits(browser) {
    const handler = http.createServer((request, response) => {
      let body = "";
      request.on("data", (part) => (body += part));
      request.on("end", () => {
        response.statusCode = body.includes("@") ? 200 : 422;
        response.end(response.statusCode === 200 ? "sent" : "bob is no address");
      });
    });
    await new Promise((listening) => handler.listen(Number(options.handler), "127.0.0.1", listening));
    handler.unref();
    const headers = { "Idempotency-Key": "evt-7", "Content-Type": "application/json" };
    const sent = await fetch(`${options.inbox}inbox/mailer`, { method: "POST", headers, body: '{"to":"bob"}' });
    assert.equal(sent.status, 202, await sent.text());

    const page = await open(browser, SIZES.desktop);
    const failed = `${url}inbox?consumer=mailer%401&state=FAILED_TERMINAL`;
    await page.goto(failed);
    await signIn(page, options.token);
    await until(page, failed, /evt-7/);
    await follow(page, "main a[href*='/inbox/one?']");
    await follow(page, "text=Show the payload to edit it");
    const form = page.locator("form.act").filter({ has: page.locator("textarea[name=payload]") });
    assert.equal(await form.locator("textarea").inputValue(), '{"to":"bob"}');
    await form.locator("textarea").fill('{"to":"bob@example.org"}');
    await form.locator("input[name=reason]").fill("the address was cut off");
    await follow(page, form.locator("button"));
    const forecast = await page.locator("main").innerText();
    assert.match(forecast, /"bob"[\s\S]*"bob@example\.org"/);
    await page.screenshot({ path: path.join(options.screenshots, "edit.png"), fullPage: true });
    await follow(page, "form.act button.primary, form.act button.danger");

    await until(page, `${url}inbox?consumer=mailer%401&state=COMPLETED`, /evt-7/);
    await follow(page, "main a[href*='/inbox/one?']");
    await follow(page, "text=Show payload and headers");
    assert.match(await page.locator("main").innerText(), /\{"to":"bob"\}/, "the original");
    await page.goto(`${url}audit`);
    assert.match(await page.locator("main").innerText(), /oli[\s\S]*edit[\s\S]*mailer@1[\s\S]*the address was cut off/);
    quiet(page);
  },

  // One who may only look is shown no forms, and is refused if it posts nevertheless; one without a session, a token or of another origin as well.
  async refusals(browser) {
    const page = await open(browser, SIZES.desktop);
    await page.goto(url);
    await signIn(page, options.reader);
    const addresses = await pages(page);
    for (const address of addresses) {
      await page.goto(url + address.slice(1));
      assert.equal(await page.locator("main form[method=post]").count(), 0, `${address} shows a form`);
    }
    const token = await page.locator(".account [name=form_token]").getAttribute("value");
    const cookies = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join("; ");
    const post = async (address, headers, body) => {
      const form = { "Content-Type": "application/x-www-form-urlencoded", ...headers };
      const answer = await fetch(url + address, { method: "POST", headers: form, body, redirect: "manual" });
      return answer.status;
    };
    const act = "consumer=mailer%401&verb=pause&reason=x";
    const own = { Cookie: cookies };
    assert.equal(await post("inbox", own, `${act}&form_token=${token}`), 403, "the role read");
    assert.equal(await post("inbox", {}, `${act}&form_token=${token}`), 401, "no session");

    await follow(page, "text=Sign out");
    await signIn(page, options.token);
    const good = await page.locator(".account [name=form_token]").getAttribute("value");
    const mine = { Cookie: (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join("; ") };
    assert.equal(await post("inbox", mine, act), 403, "no token");
    assert.equal(await post("inbox", mine, `${act}&form_token=${token}`), 403, "the token of another session");
    assert.equal(await post("inbox", { ...mine, Origin: "http://evil.example" }, `${act}&form_token=${good}`), 403, "another origin");
    const audit = await api("api/v1/inbox/audit", /./);
    assert.doesNotMatch(audit, /pause/, "nothing changed");
    assert.equal(await post("inbox", { ...mine, Origin: url.slice(0, -1) }, `${act}&form_token=${good}`), 303, "it would have worked");
    await api("api/v1/inbox/audit", /pause/);
    quiet(page);
  },

  // Signing in and out, and what a page elsewhere cannot do meanwhile.
  async sessions(browser) {
    const page = await open(browser, SIZES.desktop);
    await page.goto(`${url}?a=1`);
    assert.ok(page.url().includes("/sign-in?next="), page.url());
    await page.screenshot({ path: path.join(options.screenshots, "sign-in.png") });
    await signIn(page, "wrong");
    assert.equal(await page.locator("[role=alert]").innerText(), "There is no such token.");
    page.complaints.length = 0; // The browser logs the 403 of the wrong token.
    await signIn(page, options.token);
    assert.equal(page.url(), `${url}?a=1`);
    quiet(page);

    const forging = await page.context().newPage();
    const form = `<form method="post" action="${url}sign-out"><input name="form_token" value="00"></form><script>document.forms[0].submit()</script>`;
    const [answer] = await Promise.all([
      forging.waitForResponse((response) => response.url() === `${url}sign-out`),
      forging.goto(await elsewhere(form)),
    ]);
    assert.ok([401, 403].includes(answer.status()), `a form from elsewhere got ${answer.status()}`);
    await page.reload();
    assert.equal(await page.locator(".account strong").innerText(), options.name, "still signed in");

    await follow(page, "text=Sign out");
    assert.ok(page.url().endsWith("/sign-in"), page.url());
    await page.goto(url);
    assert.ok(page.url().includes("/sign-in"), "signed out");
    quiet(page);
  },
};

(async () => {
  assert.ok(tasks[task], `expected one of ${Object.keys(tasks)}, found ${task}`);
  const browser = await chromium.launch({ executablePath: options.chromium, args: ARGS });
  try {
    await tasks[task](browser);
  } finally {
    await browser.close();
  }
})().catch((error) => {
  console.error(error.stack || error);
  process.exit(1);
});
