// The page that `sadam report` writes, opened from the disk.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  copyRun,
  longSteps,
  makeBrokenRun,
  makeLongRun,
  oddName,
  peakLoss,
  peakStep,
  widen,
  withData,
} from "./fixture.mjs";
import { box, chart, chooseNone, drag, faults, numbers, saved, until, visit } from "./visit.mjs";

export async function setUp({ browser, sadam, folder, made }) {
  mkdirSync(folder, { recursive: true });
  const report = (name, root) => {
    const file = join(folder, `${name}.html`);
    execFileSync(sadam, ["report", "--root", root, "-o", file], { stdio: ["ignore", "ignore", "inherit"] });
    return pathToFileURL(file).href;
  };
  copyRun(made.sadam, join(folder, "odd", oddName));
  makeBrokenRun(made.sadam, join(folder, "odd", "broken"));
  makeLongRun(made.sadam, join(folder, "long", "long"));
  return {
    browser,
    folder,
    events: (run) =>
      readFileSync(join(made.root, "table1-quick-3-epochs/synthetic", run, "events.jsonl"), "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    small: report("small", made.root),
    odd: report("odd", join(folder, "odd")),
    /** The small one, with its data changed by a function. */
    changed: (name, change) => {
      const file = join(folder, `${name}.html`);
      writeFileSync(file, withData(readFileSync(join(folder, "small.html"), "utf8"), change));
      return pathToFileURL(file).href;
    },
    long: report("long", join(folder, "long")),
  };
}

const rowOf = (page, name) =>
  page.locator(".paper-table tbody tr", { has: page.getByText(name, { exact: true }) });

export const checks = {
  async "tells the story: table, curves, probe, seeds, chattering, recipes"({ browser, small, events }) {
    const page = await visit(browser, small);
    assert.deepEqual(await page.locator("nav a").allTextContents(), [
      "Tables",
      "Curves",
      "What the probe saw",
      "Chattering",
      "Seed by seed",
      "Recipes and environments",
    ]);
    assert.match(await page.locator(".summary").textContent(), /9 runs \(9 finished\)/);
    assert.deepEqual(await page.locator(".legend li > span").allTextContents(), [
      "AdamW",
      "S-Adam k=2, authors' code",
      "S-Adam k=2, authors' code, matched",
    ]);
    for (const key of [
      "test_accuracy",
      "test_loss",
      "loss",
      "lgi",
      "brake",
      "lgi-histogram",
      "brake-histogram",
      "chatter",
      "flips",
    ])
      await chart(page, key).waitFor();
    assert.match(await page.locator("#seeds").textContent(), /Minus AdamW.*Minus its matched control/s);
    assert.match(await page.locator("#recipes").textContent(), /3 epochs instead of 10.*optimizer\.name/s);
    // The table's mean, from the events themselves.
    const best = [1, 2, 3].map((seed) => {
      const epochs = events(`adamw/seed-${seed}`).filter(({ event }) => event === "epoch");
      return Math.max(...epochs.map((epoch) => 100 * epoch.test_accuracy));
    });
    const mean = (best[0] + best[1] + best[2]) / 3;
    assert.equal(await rowOf(page, "AdamW").locator("strong").textContent(), mean.toFixed(2));
    await page.done();
  },

  async "curves are the events: thick lines are means over the seeds"({ browser, small, events }) {
    const page = await visit(browser, small);
    const epochs = [1, 2, 3].map((seed) =>
      events(`sadam-k2/seed-${seed}`).filter(({ event }) => event === "epoch"),
    );
    const rows = await numbers(page, "test_loss");
    assert.equal(rows.length, 3);
    rows.forEach((row, i) => {
      const mean = (epochs[0][i].test_loss + epochs[1][i].test_loss + epochs[2][i].test_loss) / 3;
      assert.ok(Math.abs(Number(row[2]) - mean) < 1e-3 * mean, `${row} instead of ${mean}`);
    });
    await page.done();
  },

  async "a drag zooms all charts, a double click shows all again"({ browser, small }) {
    const page = await visit(browser, small);
    const whole = page.getByRole("button", { name: "Whole range" });
    assert.ok(await whole.isDisabled());
    const all = (await numbers(page, "lgi")).length;
    await drag(page, "loss", 0.5, 0.9);
    await until("a zoomed chart", () => whole.isEnabled());
    const zoomed = (await numbers(page, "lgi")).map(([x]) => Number(x));
    assert.ok(zoomed.length < all && zoomed.length > 0);
    assert.ok(Math.min(...zoomed) >= 1.4 && Math.max(...zoomed) <= 2.8, String(zoomed));
    await chart(page, "loss").locator(".u-over").dblclick();
    await until("the whole range", () => whole.isDisabled());
    assert.equal((await numbers(page, "lgi")).length, all);
    await page.done();
  },

  async "keys alone zoom, read values, filter and choose"({ browser, small }) {
    const page = await visit(browser, small);
    const plot = chart(page, "test_accuracy").locator(".plot");
    await plot.focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    assert.match(await chart(page, "test_accuracy").locator(".reading").innerText(), /epoch \d[\s\S]*AdamW/);
    await page.keyboard.press("+");
    await until("a zoomed chart", () => page.getByRole("button", { name: "Whole range" }).isEnabled());
    await page.keyboard.press("0");
    await until("the whole range", () => page.getByRole("button", { name: "Whole range" }).isDisabled());
    await page.keyboard.press("/");
    await page.keyboard.type("matched");
    assert.match(await page.locator(".chooser .said").textContent(), /3 of 9 runs shown, 9 chosen/);
    for (let i = 0; i < 3; ++i) await page.keyboard.press("Tab"); // two buttons, then the box
    await page.keyboard.press("Space");
    await until("one group less", async () => (await page.locator(".legend li").count()) === 2);
    assert.ok(
      await page.evaluate(() => document.activeElement.matches("input[type=checkbox]")),
      "the focus stays where it was",
    );
    await page.done();
  },

  async "choosing runs: groups, single seeds, from a table, none"({ browser, small }) {
    const page = await visit(browser, small);
    const legend = page.locator(".legend li");
    await rowOf(page, "AdamW").getByRole("checkbox").uncheck();
    await until("AdamW is gone", async () => (await legend.count()) === 2);
    await page.getByText("3 seeds of S-Adam k=2, authors' code", { exact: true }).click();
    await page.locator("details.seeds[open]").getByLabel("seed 2").uncheck();
    await until("two seeds", async () => /2 seeds/.test(await legend.first().textContent()));
    await chooseNone(page);
    await page.getByRole("button", { name: "Show these curves" }).click();
    await until("all of the table", async () => (await legend.count()) === 3);
    await page.reload();
    await until("the choice is kept", async () => (await legend.count()) === 3);
    await page.done();
  },

  async "charts can be saved as PNG and CSV"({ browser, small, events }) {
    const page = await visit(browser, small);
    const lines = (await saved(page, "loss", "CSV")).toString().trim().split("\n");
    assert.equal(lines[0], "group,run,seed,step,epoch,value,lowest,highest");
    const [first] = events("adamw/seed-1");
    assert.ok(lines[1].startsWith("AdamW,table1-quick-3-epochs/synthetic/adamw/seed-1,1,1,0.25,"), lines[1]);
    assert.ok(Math.abs(Number(lines[1].split(",")[5]) - first.loss) < 1e-5);
    assert.equal(lines.length, 1 + 9 * 12);
    for (const key of ["loss", "brake-histogram", "table1-quick-3-epochs-synthetic-less-baseline"]) {
      const png = await saved(page, key, "PNG");
      assert.equal(png.subarray(1, 4).toString(), "PNG");
      assert.ok(
        png.readUInt32BE(16) >= 800 && png.length > 8000,
        `${key}: ${png.readUInt32BE(16)} pixels, ${png.length} bytes`,
      );
    }
    await page.done();
  },

  async "logarithmic scale, smoothing and the axis change the chart"({ browser, small }) {
    const page = await visit(browser, small);
    const picture = () =>
      chart(page, "loss")
        .locator("canvas")
        .evaluate((canvas) => canvas.toDataURL());
    let before = await picture();
    const changes = async (what) => {
      await until(what, async () => (await picture()) !== before);
      before = await picture();
    };
    await chart(page, "loss").getByRole("button", { name: "logarithmic" }).click();
    await changes("another scale");
    assert.equal(
      await chart(page, "loss").getByRole("button", { name: "logarithmic" }).getAttribute("aria-pressed"),
      "true",
    );
    await page.getByLabel("Smoothing").fill("20");
    await changes("smoother lines");
    await page.getByLabel("steps", { exact: true }).check();
    await changes("another axis");
    assert.equal((await numbers(page, "test_loss"))[2][0], "12");
    await page.done();
  },

  async "odd names are just names, and a broken line of events is said to be one"({ browser, odd }) {
    const page = await visit(browser, odd);
    await page.getByText(oddName, { exact: false }).first().waitFor();
    assert.equal(await page.locator("img").count(), 0);
    const text = await page.locator("body").innerText();
    assert.match(text, /1 damaged/);
    assert.match(await page.locator(".problem").first().innerText(), /\w+ .*\./);
    // What can be read is drawn.
    await chooseNone(page);
    await box(page, "broken").check();
    await chart(page, "loss").waitFor();
    assert.ok((await numbers(page, "loss")).length >= 4);
    await page.done();
  },

  async "no peak of 500,000 steps is lost, and zooming stays quick"({ browser, long }) {
    assert.ok(statSync(new URL(long)).size < 1_000_000, "ten of them make less than 10 MB");
    const page = await visit(browser, long);
    await page.getByLabel("steps", { exact: true }).check();
    const rows = (await saved(page, "loss", "CSV"))
      .toString()
      .trim()
      .split("\n")
      .slice(1)
      .map((line) => line.split(","));
    assert.ok(rows.length <= 2000 && Number(rows[rows.length - 1][3]) === longSteps);
    const peak = rows.find((row) => Number(row[6]) === peakLoss);
    assert.ok(peak && Math.abs(Number(peak[3]) - peakStep) <= 512, String(peak));
    const axis = await chart(page, "loss")
      .locator("canvas")
      .evaluate((canvas) => {
        // The band reaches the top of the chart at the peak alone: look for its colour there.
        const { width, height } = canvas,
          data = canvas.getContext("2d").getImageData(0, 0, width, Math.round(height * 0.3)).data;
        const columns = new Set();
        for (let i = 0; i < data.length; i += 4)
          if (data[i + 3] > 20 && data[i + 2] > data[i] + 8) columns.add((i / 4) % width);
        for (const column of columns) if (column < 0.12 * width) columns.delete(column); // the labels of the axis
        return [Math.min(...columns) / width, Math.max(...columns) / width, columns.size];
      });
    assert.ok(axis[2] > 0 && axis[0] > 0.55 && axis[1] < 0.8, `the peak is drawn at ${axis}`);
    const took = await page.evaluate(async () => {
      const times = [],
        buttons = ["Zoom in", "Zoom in", "Later", "Later", "Earlier", "Zoom out"];
      for (const name of buttons) {
        const start = performance.now();
        document.querySelector(`button[aria-label="${name}"]`).click();
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
        times.push(performance.now() - start);
      }
      return Math.max(...times);
    });
    assert.ok(took < 1000, `a zoom took ${took} ms`);
    await page.done();
  },

  async "accessible in light and dark, and no wider than a phone"({ browser, small }) {
    for (const colorScheme of ["light", "dark"]) {
      const page = await visit(browser, small, { colorScheme });
      await numbers(page, "loss");
      await page
        .locator("#recipes details")
        .first()
        .evaluate((details) => {
          details.open = true;
        });
      assert.deepEqual(await faults(page), [], colorScheme);
      await page.setViewportSize({ width: 320, height: 700 });
      await until("no wider", () => page.evaluate(() => document.documentElement.scrollWidth <= 320));
      await page.done();
    }
  },

  async "wide tables fit every page: nothing sticks out, no name is torn"({ browser, changed }) {
    const page = await visit(browser, changed("wide", widen));
    for (const width of [280, 320, 600, 721, 768, 834, 900, 960, 1024, 1100, 1280, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      await page.evaluate(
        () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
      );
      const seen = await page.evaluate(() => {
        const cells = [...document.querySelectorAll(".paper-table tbody :is(th, td)")];
        const lines = (cell) => cell.offsetHeight / parseFloat(getComputedStyle(cell).lineHeight);
        const outside = (each) => each.getBoundingClientRect().right > innerWidth;
        return {
          cells: cells.length,
          outside: cells.filter(outside).length,
          lines: Math.max(...cells.map(lines)),
          wider: document.documentElement.scrollWidth - innerWidth,
        };
      });
      assert.equal(seen.cells, 3 * 6 * 11);
      assert.equal(seen.outside, 0, `cells outside at ${width}`);
      assert.ok(seen.lines <= 4, `a cell has ${seen.lines} lines at ${width}`);
      assert.ok(seen.wider <= 0, `the page is ${seen.wider} too wide at ${width}`);
    }
    await page.done();
  },

  async "shows the times of convergence, and differences to every control"({ browser, changed }) {
    const page = await visit(browser, changed("controls", widen));
    const first = page.locator(".paper-table").first();
    assert.match((await first.locator("thead").innerText()).replace(/\s+/g, " "), /paper, s converged, s/);
    assert.match(
      (await rowOf(page, "S-Adam k=2, authors' code").first().innerText()).replace(/\s+/g, " "),
      /12322.5 1286.5/,
    );
    assert.match(
      await page.locator("#seeds").textContent(),
      /Minus AdamW.*Minus its matched.*Minus its shuffled.*Minus AdamW with a cosine schedule/s,
    );
    assert.deepEqual((await numbers(page, "wide-c0-less-shuffled")).at(-2), [
      "S-Adam k=2, authors' code",
      "mean",
      "13.26",
    ]);
    await page.done();
  },

  async "rows with another baseline have their own differences"({ browser, changed }) {
    const file = changed("baselines", (report) => {
      widen(report);
      report.tables[0].rows.find(({ key }) => key === "sadam-k2").baseline = "prox_sgd";
    });
    const page = await visit(browser, file);
    const head = await page.locator(".paper-table thead").first().innerText();
    assert.match(head.replace(/\s+/g, " "), /last − Prox-SGD ?last − AdamW/);
    const row = await rowOf(page, "S-Adam k=2, authors' code").first().innerText();
    assert.match(row.replace(/\s+/g, " "), /\+10.57 ± 31.98 –/);
    assert.match(await page.locator("#seeds").textContent(), /Minus Prox-SGD.*Minus AdamW/s);
    assert.deepEqual(
      (await numbers(page, "wide-c0-less-baseline-prox_sgd")).map(([method]) => method).slice(1, 2),
      ["S-Adam k=2, authors' code"],
    );
    assert.equal((await numbers(page, "wide-c0-less-baseline")).at(1)[0], "Prox-SGD");
    await page.done();
  },

  async "a single epoch shows each seed"({ browser, changed }) {
    const file = changed("single", (report) => {
      for (const { details, group, seed } of report.runs) {
        details.epochs.length = 1;
        // The others span the range, so that it stays when the seeds go.
        const accuracy = { adamw: 10, "sadam-k2": 20 * seed + 10, "sadam-k2.matched": 90 };
        details.epochs[0].test_accuracy = accuracy[group.split("/").pop()];
      }
    });
    const page = await visit(browser, file);
    const picture = () =>
      chart(page, "test_accuracy")
        .locator("canvas")
        .evaluate((canvas) => canvas.toDataURL());
    const before = await picture();
    await page.getByLabel("each seed").uncheck();
    await until("seeds are gone", async () => (await picture()) !== before);
    await page.done();
  },

  async "prints on white, whatever the screen was"({ browser, small }) {
    const page = await visit(browser, small, { colorScheme: "dark" });
    const light = await page.evaluate(async () => {
      dispatchEvent(new Event("beforeprint"));
      await new Promise((resolve) => setTimeout(resolve, 100));
      const canvas = document.querySelector('[data-chart="test_accuracy"] canvas');
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const seen = new Set();
      for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) seen.add(data.slice(i, i + 3).join());
      dispatchEvent(new Event("afterprint"));
      return [seen.has("31,109,185"), seen.has("104,183,237")]; // the first colour of the light and of the dark theme
    });
    assert.deepEqual(light, [true, false]);
    await page.done();
  },

  async "a page whose data was changed by hand runs no script of it"({ browser, folder, small }) {
    const html = readFileSync(new URL(small), "utf8").replace(
      "</body>",
      "<script>window.ran = true</script><p onclick='window.ran = true'>x</p></body>",
    );
    writeFileSync(join(folder, "changed.html"), html);
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(pathToFileURL(join(folder, "changed.html")).href);
    await page.locator("p", { hasText: /^x$/ }).click();
    assert.equal(await page.evaluate(() => window.ran), undefined);
    await context.close();
  },
};
