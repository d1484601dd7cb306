// A page under watch: errors in its console, dialogs, and requests to elsewhere are failures.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export async function visit(browser, address, options = {}) {
  const { lost = false, ...rest } = options; // lost: the server goes away, which the browser logs
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    acceptDownloads: true,
    ...rest,
  });
  const page = await context.newPage();
  const complaints = [];
  const isOurs = (url) =>
    url.startsWith("data:") ||
    url.startsWith("blob:") ||
    url.split(/[?#]/)[0] === address.split(/[?#]/)[0] ||
    (address.startsWith("http") && url.startsWith(new URL("api/", address).href));
  page.on("console", (message) => {
    if (
      ["error", "warning"].includes(message.type()) &&
      !(lost && /ERR_|Failed to load/.test(message.text()))
    )
      complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!isOurs(request.url())) complaints.push(`request to ${request.url()}`);
  });
  await page.goto(address);
  await page.waitForSelector("h1");
  return Object.assign(page, {
    done: async () => {
      await context.close();
      assert.deepEqual(complaints, []);
    },
  });
}

/** What axe-core finds wrong, in one line each. */
export async function faults(page) {
  const context = page.context();
  // axe is put into the page past its policy, by the debugger.
  const session = await context.newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: axe });
  const { result, exceptionDetails } = await session.send("Runtime.evaluate", {
    expression: `axe.run(document, { resultTypes: ["violations"] }).then((r) => JSON.stringify(r.violations.map((v) =>
      v.id + ": " + v.nodes.slice(0, 3).map((n) => n.target.join(" ") + " " + n.failureSummary.split("\\n")[1]).join(" | "))))`,
    awaitPromise: true,
    returnByValue: true,
  });
  assert.equal(exceptionDetails, undefined);
  return JSON.parse(result.value);
}

export const chart = (page, key) => page.locator(`[data-chart="${key}"]`);

/** The box of a group in the list of runs. */
export const box = (page, group) => page.locator(`.run-list label[title="${group}"] input`);

/** Waits until it is drawn: a box that is about to be unchecked takes no check. */
export async function chooseNone(page) {
  await page.getByRole("button", { name: "Choose none" }).click();
  await page.locator("#curves").getByText("No run is chosen").waitFor();
}

/** The numbers of a chart, as its table has them. */
export async function numbers(page, key) {
  const figure = chart(page, key);
  if (!(await figure.locator("details").evaluate((details) => details.open)))
    await figure.locator("summary").click();
  await figure.locator("tbody tr").first().waitFor();
  return figure
    .locator("tbody tr")
    .evaluateAll((rows) =>
      rows.map((row) =>
        Array.from(row.children, (cell) => cell.textContent.replace(/\u202f/g, "").replace("−", "-")),
      ),
    );
}

/** What a button saves. */
export async function saved(page, key, name) {
  const waiting = page.waitForEvent("download");
  await chart(page, key)
    .getByRole("button", { name: `save as ${name}` })
    .click();
  return readFileSync(await (await waiting).path());
}

export async function drag(page, key, from, to) {
  const area = chart(page, key).locator(".u-over");
  await area.scrollIntoViewIfNeeded();
  const box = await area.boundingBox();
  await page.mouse.move(box.x + from * box.width, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + ((from + to) / 2) * box.width, box.y + box.height / 2, { steps: 3 });
  await page.mouse.move(box.x + to * box.width, box.y + box.height / 2, { steps: 3 });
  await page.mouse.up();
}

export async function until(what, test, seconds = 10) {
  const start = performance.now();
  for (;;) {
    const value = await test();
    if (value) return (performance.now() - start) / 1000;
    assert.ok(performance.now() - start < 1000 * seconds, `after ${seconds} s still not: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
