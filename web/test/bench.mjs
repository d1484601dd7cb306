// Ten runs of 500,000 steps: node test/bench.mjs SADAM. Ends with 1 where the page is too large or too slow.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { openBrowser } from "./browser.mjs";
import { makeLongRun, makeTable } from "./fixture.mjs";
import { chart, visit } from "./visit.mjs";

const budgets = {
  "file, MB": 10,
  "until it is drawn, s": 5,
  "a zoom, median, ms": 200,
  "a zoom, longest, ms": 500,
};

const [sadam] = process.argv.slice(2);
const browser = await openBrowser(0);
const folder = mkdtempSync(join(tmpdir(), "sadam-page-bench-"));

let tooMuch = false;
const say = (name, value) => {
  const over = name in budgets && value > budgets[name];
  tooMuch ||= over;
  console.log(
    `${name.padEnd(24)} ${value.toFixed(1).padStart(8)}${name in budgets ? `   at most ${budgets[name]}${over ? ": TOO MUCH" : ""}` : ""}`,
  );
};
try {
  const made = makeTable(sadam, join(folder, "table"));
  for (let run = 0; run < 10; ++run)
    makeLongRun(made.sadam, join(folder, "long", `run-${run}`), 1000 + 49_000 * run);
  const file = join(folder, "report.html");
  let start = performance.now();
  execFileSync(sadam, ["report", "--root", join(folder, "long"), "-o", file]);
  say("sadam report, s", (performance.now() - start) / 1000);
  say("file, MB", statSync(file).size / 1e6);
  start = performance.now();
  const page = await visit(browser, pathToFileURL(file).href);
  await page.getByRole("button", { name: "Choose all shown" }).click();
  await chart(page, "loss").locator("canvas").waitFor();
  say("until it is drawn, s", (performance.now() - start) / 1000);
  const times = await page.evaluate(async () => {
    const times = [],
      names = [
        "Zoom in",
        "Zoom in",
        "Later",
        "Later",
        "Zoom in",
        "Earlier",
        "Zoom out",
        "Zoom out",
        "Zoom out",
      ];
    for (const name of names) {
      const start = performance.now();
      document.querySelector(`button[aria-label="${name}"]`).click();
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      times.push(performance.now() - start);
    }
    return times.sort((a, b) => a - b);
  });
  say("a zoom, median, ms", times[times.length >> 1]);
  say("a zoom, longest, ms", times[times.length - 1]);
  await page.done();
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(tooMuch ? 1 : 0);
