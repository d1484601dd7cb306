// What every chart stands in: its title, its tools, its numbers as a table.

import { button, h, renew, rowHead, scrollTable } from "./dom";
import { csv, download, type Rows } from "./download";
import { short } from "./format";

export interface Content {
  key: string; // names the files
  title: string;
  note?: string;
  png(): Promise<Blob>;
  rows(): Rows; // everything, with a header: the CSV
  table(): Rows; // what is in view, with a header, for reading
}

const mostRows = 60;

/** A figure around `body`. `tools` stand before those that every chart has. */
export function frame(content: Content, body: Element, ...tools: Node[]): HTMLElement & { refresh(): void } {
  const numbers = h("div", { class: "numbers" });
  const details = h("details", { class: "as-table" }, h("summary", {}, "Numbers"), numbers);
  const fill = () => details.open && renew(numbers, numberTable(content));
  details.addEventListener("toggle", fill);
  const figure = h(
    "figure",
    { class: "chart", "data-chart": content.key },
    h(
      "div",
      { class: "chart-head" },
      h("h3", {}, content.title),
      h(
        "div",
        { class: "tools" },
        ...tools,
        button("PNG", {
          "aria-label": `${content.title}: save as PNG`,
          click: async () => download(`${content.key}.png`, await content.png()),
        }),
        button("CSV", {
          "aria-label": `${content.title}: save as CSV`,
          click: () => download(`${content.key}.csv`, csv(content.rows())),
        }),
      ),
    ),
    body,
    content.note ? h("figcaption", {}, content.note) : null,
    details,
  );
  return Object.assign(figure, { refresh: () => void fill() });
}

function numberTable(content: Content): HTMLElement {
  const [header, ...rows] = content.table();
  const every = Math.max(1, Math.ceil(rows.length / mostRows));
  const shown = rows.filter((_, i) => i % every === 0 || i === rows.length - 1);
  return scrollTable(
    {
      key: `numbers ${content.key}`,
      name: `${content.title}, numbers`,
      caption: content.title + (every > 1 ? `: one row in ${every}; the CSV has all` : ""),
    },
    header.map(String),
    shown.map(([first, ...rest]) => [rowHead(cell(first)), ...rest.map(cell)]),
  );
}

const cell = (value: string | number | null) => (typeof value === "string" ? value : short(value));
