// Chromium, or the reason why there is none.

import { existsSync } from "node:fs";

const candidates = [
  process.env.CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** Ends with 77, which says "skipped" to ctest, where there is no browser. */
export async function openBrowser() {
  const skip = (why) => {
    console.log(`Skipped, since ${why}.`);
    process.exit(77);
  };
  const executablePath = candidates.find((path) => path && existsSync(path));
  if (!executablePath) skip("Chromium was not found: apt-get install chromium, or set CHROMIUM to its path");
  const playwright = await import("playwright-core").catch(() =>
    skip("playwright-core was not found: npm ci in web/"),
  );
  return playwright.chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
}
