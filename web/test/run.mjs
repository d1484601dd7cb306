// The page in a real browser: node test/run.mjs SADAM [WORDS…] runs the checks whose names hold all the words.
// Says so and ends with 77 where there is no Chromium.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { openBrowser } from "./browser.mjs";
import { makeTable } from "./fixture.mjs";

const [sadam = process.env.SADAM, ...words] = process.argv.slice(2);
if (!sadam || !existsSync(sadam)) {
  console.error("Name the program: node test/run.mjs build/release/src/cli/sadam");
  process.exit(2);
}
const browser = await openBrowser();
const folder = mkdtempSync(join(tmpdir(), "sadam-page-"));
let failed = 0,
  ran = 0;

async function run(name, made) {
  const { checks, setUp } = await import(`./${name}.mjs`);
  const chosen = Object.entries(checks).filter(([check]) =>
    words.every((word) => `${name} ${check}`.includes(word)),
  );
  if (chosen.length === 0) return;
  const stage = setUp
    ? await setUp({ browser, sadam: resolve(sadam), folder: join(folder, name), made: made() })
    : {};
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
    console.log(
      `${problem ? "FAILED" : "ok"}  ${name}: ${check} (${Math.round(performance.now() - start)} ms)`,
    );
    if (problem) console.log(problem.stack ?? problem);
  }
  await stage.tearDown?.();
}

try {
  let table = null; // trained once, by the first that needs it
  const made = () => (table ??= makeTable(resolve(sadam), join(folder, "table")));
  await run("pure", made);
  await Promise.all([run("disk", made), run("live", made)]); // the one computes while the other waits
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
console.log(failed === 0 ? `All ${ran} checks passed.` : `${failed} of ${ran} checks failed.`);
process.exit(failed === 0 && ran > 0 ? 0 : 1);
