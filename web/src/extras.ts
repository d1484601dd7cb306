// Pictures and the lab's tables that lie beside the runs.

import type { Picture, Sheet } from "./data";
import { button, h, renew, scrollTable } from "./dom";
import { csv, download } from "./download";
import { plural } from "./format";
import { theme } from "./look";

/** As an image, so that a script in it never runs. It follows the page's theme, not the system's. */
function address(picture: Picture): string {
  if (picture.svg === null) return `data:image/png;base64,${picture.png ?? ""}`;
  const svg = picture.svg.replace(
    /\(\s*prefers-color-scheme:\s*dark\s*\)/g,
    theme().name === "dark" ? "all" : "not all",
  );
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
}

export function drawPictures(holder: Element, pictures: Picture[]): void {
  renew(
    holder,
    ...pictures.map((picture) =>
      h(
        "figure",
        { class: picture.svg === null ? "picture bitmap" : "picture" },
        h("img", { src: address(picture), alt: picture.title, loading: "lazy" }),
        h(
          "figcaption",
          {},
          h("b", {}, picture.title),
          h("small", {}, picture.id),
          button("Save", {
            "data-key": `save ${picture.id}`,
            "aria-label": `Save ${picture.title}`,
            click: () =>
              download(
                picture.id.split("/").pop()!,
                picture.svg === null
                  ? pngBytes(picture.png ?? "")
                  : new Blob([picture.svg], { type: "image/svg+xml" }),
              ),
          }),
        ),
      ),
    ),
  );
}

function pngBytes(base64: string): Blob {
  return new Blob([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], { type: "image/png" });
}

const mostRows = 500;

export function drawSheets(holder: Element, sheets: Sheet[]): void {
  renew(
    holder,
    ...sheets.map((sheet) => {
      const numeric = sheet.header.map((_, i) =>
        sheet.rows.every((row) => (row[i] ?? "") === "" || Number.isFinite(Number(row[i]))),
      );
      const aside = (i: number) => (numeric[i] ? "number" : null);
      const shown = sheet.rows.slice(0, mostRows);
      return h(
        "details",
        { class: "sheet", "data-key": `sheet ${sheet.id}`, open: sheet.rows.length <= 12 },
        h(
          "summary",
          {},
          h("span", {}, sheet.title),
          h("small", {}, `${plural(sheet.rows.length, "row")} · ${sheet.id}`),
        ),
        h(
          "div",
          { class: "tools" },
          button("CSV", {
            "data-key": `csv ${sheet.id}`,
            "aria-label": `${sheet.title}: save as CSV`,
            click: () => download(`${sheet.title}.csv`, csv([sheet.header, ...sheet.rows])),
          }),
        ),
        scrollTable(
          { key: `rows ${sheet.id}`, name: sheet.title, look: "plain" },
          sheet.header.map((name, i) => h("th", { scope: "col", class: aside(i) }, name)),
          shown.map((row) => row.map((value, i) => h("td", { class: aside(i) }, value))),
        ),
        shown.length < sheet.rows.length
          ? h("p", { class: "said" }, `The first ${mostRows} rows; the CSV has all.`)
          : null,
      );
    }),
  );
}
