// The page in a real browser: node test/run.mjs SADAM [WORDS…] runs the checks whose names hold all the words.
// Says so and ends with 77 where there is no Chromium.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const skip = (why) => { console.log(`The tests of the page in a browser were skipped: ${why}`); process.exit(77); };

const [sadam = process.env.SADAM, ...words] = process.argv.slice(2);
if (!sadam || !existsSync(sadam)) {
  console.error("Name the program: node test/run.mjs build/release/src/cli/sadam");
  process.exit(2);
}
const candidates = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = candidates.find((path) => path && existsSync(path));
if (!executablePath) skip("Chromium was not found (apt-get install chromium, or set CHROMIUM to its path).");
let chromium;
try {
  ({ chromium } = await import("playwright-core"));
} catch {
  skip("playwright-core was not found (npm ci in web/).");
}

const folder = mkdtempSync(join(tmpdir(), "sadam-page-"));
const { makeTable } = await import("./fixture.mjs");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
let failed = 0, ran = 0;

async function run(name, made) {
  const { checks, setUp } = await import(`./${name}.mjs`);
  const chosen = Object.entries(checks).filter(([check]) => words.every((word) => `${name} ${check}`.includes(word)));
  if (chosen.length === 0) return;
  const stage = setUp ? await setUp({ browser, sadam: resolve(sadam), folder: join(folder, name), made: made() }) : {};
  for (const [check, body] of chosen) {
    const start = performance.now();
    let problem = null;
    try {
      await body(stage);
    } catch (error) {
      problem = error;
      ++failed;
    }
    ++ran;
    console.log(`${problem ? "FAILED" : "ok"}  ${name}: ${check} (${Math.round(performance.now() - start)} ms)`);
    if (problem) console.log(problem.stack ?? problem);
  }
  await stage.tearDown?.();
}

try {
  let table = null; // trained once, by the first that needs it
  const made = () => (table ??= makeTable(resolve(sadam), join(folder, "table")));
  await run("curves", made);
  await run("disk", made);
  await run("live", made);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
console.log(failed === 0 ? `All ${ran} checks passed.` : `${failed} of ${ran} checks failed.`);
process.exit(failed === 0 && ran > 0 ? 0 : 1);
