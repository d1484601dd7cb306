// The page that `sadam serve` shows, while runs begin, grow, stop and vanish.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { copyRun, grow, oddName, serve, stepLine } from "./fixture.mjs";
import { box, chart, drag, faults, numbers, until, visit } from "./visit.mjs";

export async function setUp({ browser, sadam, folder, made }) {
  const root = join(folder, "runs");
  mkdirSync(root, { recursive: true });
  const server = await serve(sadam, root);
  return { browser, sadam, made, root, server, tearDown: () => server.stop() };
}

const lines = (to) => Array.from({ length: to }, (_, i) => stepLine(i + 1)).join("");
const lastStep = async (page, key) => Number((await numbers(page, key)).at(-1)[0]);
const wipe = (root) => {
  rmSync(root, { recursive: true });
  mkdirSync(root);
};

export const checks = {
  async "an empty folder says what to type, and the first run appears"({ browser, server, root, made }) {
    wipe(root);
    const page = await visit(browser, server.url);
    await until("live", async () => (await page.locator(".connection").textContent()) === "live");
    await page.locator(".nothing").waitFor();
    assert.match(
      await page.locator(".nothing").innerText(),
      /No runs yet[\s\S]*sadam reproduce table1 --quick --root /,
    );
    assert.deepEqual(await faults(page), []);
    copyRun(made.adamw, join(root, oddName));
    await until("the first run", async () => /1 run /.test(await page.locator(".summary").textContent()));
    await chart(page, "test_accuracy").waitFor();
    await page.getByText(oddName).first().waitFor();
    await page.done();
  },

  async "a run grows while it is watched, and choice and zoom stay"({ browser, server, root, made }) {
    wipe(root);
    const run = copyRun(made.sadam, join(root, "growing"), lines(100));
    copyRun(made.adamw, join(root, "other"));
    const page = await visit(browser, server.url);
    await box(page, "other").uncheck();
    await until(
      "100 steps",
      async () => (await chart(page, "loss").count()) > 0 && (await lastStep(page, "loss")) === 100,
    );
    const took = [];
    for (const to of [150, 175, 200]) {
      grow(run, to === 150 ? 101 : to - 24, to);
      took.push(await until(`${to} steps`, async () => (await lastStep(page, "loss")) === to));
    }
    assert.ok(Math.min(...took) < 2, `new points took ${took} s`); // the quickest: others may keep the machine busy
    await drag(page, "loss", 0.25, 0.5);
    await until("a zoomed chart", async () => (await lastStep(page, "loss")) < 110);
    const before = await numbers(page, "loss");
    grow(run, 201, 300);
    await until("300 steps are known", async () => /300/.test(await page.locator("#recipes").textContent()));
    assert.deepEqual(await numbers(page, "loss"), before);
    assert.deepEqual(await page.locator(".legend li").count(), 1);
    await page.getByRole("button", { name: "Whole range" }).click();
    await until("300 steps", async () => (await lastStep(page, "loss")) === 300);
    await page.done();
  },

  async "a real run is trained, killed and resumed under the reader's eyes"({
    browser,
    server,
    sadam,
    root,
  }) {
    wipe(root);
    const page = await visit(browser, server.url);
    const common = ["train", "--root", root, "--quiet"];
    const start = (args) => spawn(sadam, [...common, ...args], { stdio: "ignore" });
    const ended = (run) => new Promise((resolve) => run.on("exit", resolve));
    const first = start([
      "--name",
      "real",
      "--set",
      "data.name=synthetic10",
      "--set",
      "data.train_images=1024",
      "--set",
      "data.test_images=64",
      "--set",
      "train.epochs=500",
      "--set",
      "train.batch=32",
      "--set",
      "train.threads=1",
    ]);
    const over = ended(first);
    const state = (name) => async () => (await page.locator(`.run-list .state.${name}`).count()) === 1;
    await until("running", state("running"), 10);
    await until("epochs", async () => /epoch [1-9]/.test(await page.locator(".run-list").textContent()), 10);
    first.kill("SIGKILL");
    await over;
    await until("stopped", state("stopped"));
    const second = start(["--resume", "real"]);
    const overToo = ended(second);
    await until("running again", state("running"), 10);
    second.kill("SIGINT");
    await overToo;
    await until("stopped again", state("stopped"));
    await page.done();
  },

  async "a run that vanishes is gone from the page, and comes back chosen"({ browser, server, root, made }) {
    wipe(root);
    copyRun(made.adamw, join(root, "stays"));
    copyRun(made.sadam, join(root, "leaves"));
    const page = await visit(browser, server.url);
    const legend = () => page.locator(".legend li").count();
    await until("two", async () => (await legend()) === 2);
    // The browser would log that a run was not found which leaves while it is asked for.
    await until("both were read", async () => (await page.locator(".recipe").count()) === 2);
    renameSync(join(root, "leaves"), join(root, "..", "away"));
    await until("one", async () => (await legend()) === 1);
    renameSync(join(root, "..", "away"), join(root, "leaves"));
    await until("two again", async () => (await legend()) === 2);
    await page.done();
  },

  async "a lost connection is said, and found again"({ browser, sadam, root, made }) {
    wipe(root);
    copyRun(made.adamw, join(root, "one"));
    const own = await serve(sadam, root);
    const page = await visit(browser, own.url, { lost: true });
    const says = (text) => async () => (await page.locator(".connection").textContent()).includes(text);
    await until("live", says("live"));
    await chart(page, "test_accuracy").waitFor();
    await own.stop();
    await until("lost", says("lost"));
    await chart(page, "test_accuracy").waitFor(); // what was there stays
    copyRun(made.sadam, join(root, "two"));
    const again = await serve(sadam, root, own.port);
    await until("live again", says("live"), 10);
    await until("what came meanwhile", async () =>
      (await page.locator(".summary").textContent()).includes("2 runs"),
    );
    await page.done();
    await again.stop();
  },

  async "hidden tabs leave their connections to others, and are up to date when they are shown"({
    browser,
    server,
    root,
    made,
  }) {
    wipe(root);
    copyRun(made.adamw, join(root, "one"));
    const context = await browser.newContext();
    // A headless browser shows all its tabs: this one says what is shown.
    await context.addInitScript(() => {
      let hidden = false;
      Object.defineProperty(document, "hidden", { get: () => hidden });
      window.hide = (value) => {
        hidden = value;
        document.dispatchEvent(new Event("visibilitychange"));
      };
    });
    const says = (page, text) => async () => (await page.locator(".summary").textContent()).includes(text);
    const pages = [];
    for (let i = 0; i < 8; ++i) {
      const page = await context.newPage();
      pages.push(page);
      await page.goto(server.url, { timeout: 5000 });
      await until(`tab ${i}`, says(page, "1 run "), 5);
      await until("live", async () => (await page.locator(".connection").textContent()) === "live");
      await page.evaluate(() => window.hide(true));
    }
    copyRun(made.sadam, join(root, "two"));
    await pages[0].evaluate(() => window.hide(false));
    await until("what came meanwhile", says(pages[0], "2 runs"));
    copyRun(made.sadam, join(root, "three"));
    await until("live again", says(pages[0], "3 runs"));
    assert.ok(await says(pages[1], "1 run ")());
    await context.close();
  },

  async "a slow report is said to be loading, and nothing can be chosen before it is there"({
    browser,
    server,
    root,
    made,
  }) {
    wipe(root);
    copyRun(made.adamw, join(root, "one"));
    const context = await browser.newContext();
    const page = await context.newPage();
    let answer;
    const asked = new Promise((resolve) => (answer = resolve));
    await page.route("**/api/report*", async (route) => {
      await asked;
      await route.continue();
    });
    await page.goto(server.url);
    await page.getByText("Loading …").waitFor();
    const all = page.getByRole("button", { name: "Choose all shown", includeHidden: true });
    assert.ok(!(await all.isVisible()));
    for (const name of ["Choose none", "Choose all shown"]) // as a script would
      await page.getByRole("button", { name, includeHidden: true }).evaluate((button) => button.click());
    answer();
    await until("the run is chosen", async () => (await page.locator(".legend li").count()) === 1);
    assert.ok(!(await page.getByText("Loading …").isVisible()));
    await page.getByRole("button", { name: "Choose none" }).click();
    await until("none", async () => (await page.locator(".legend li").count()) === 0);
    await all.click();
    await until("all", async () => (await page.locator(".legend li").count()) === 1);
    await context.close();
  },

  async "many pages at once see the same"({ browser, server, root, made }) {
    wipe(root);
    copyRun(made.adamw, join(root, "one"));
    const pages = await Promise.all([1, 2].map(() => visit(browser, server.url)));
    copyRun(made.sadam, join(root, "two"));
    for (const page of pages)
      await until("two runs", async () => (await page.locator(".summary").textContent()).includes("2 runs"));
    for (const page of pages) await page.done();
  },
};
