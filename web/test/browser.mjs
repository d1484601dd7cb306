// Chromium, or the reason why there is none.

import { existsSync } from "node:fs";

const candidates = [
  process.env.CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** Ends with `skipped` where there is no browser: 77 says so to ctest. */
export async function openBrowser(skipped = 77) {
  const skip = (why) => {
    console.log(`Skipped, since ${why}.`);
    process.exit(skipped);
  };
  const executablePath = candidates.find((path) => path && existsSync(path));
  if (!executablePath) skip("Chromium was not found: apt-get install chromium, or set CHROMIUM to its path");
  const playwright = await import("playwright-core").catch(() =>
    skip("playwright-core was not found: npm ci in web/"),
  );
  return playwright.chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
}
