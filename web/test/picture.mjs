// A picture of a report: node test/picture.mjs REPORT.html OUT.png [SECTION]

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { openBrowser } from "./browser.mjs";
import { visit } from "./visit.mjs";

const [report, out, section = "tables"] = process.argv.slice(2);
const browser = await openBrowser();
const page = await visit(browser, pathToFileURL(resolve(report)).href, {
  viewport: { width: 1280, height: 860 },
});
await page.evaluate((id) => {
  document.documentElement.style.scrollBehavior = "auto";
  document.getElementById(id).scrollIntoView();
}, section);
await page.waitForTimeout(300);
await page.screenshot({ path: out });
await page.done();
await browser.close();
