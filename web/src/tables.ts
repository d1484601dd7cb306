// The paper's tables with ours beside them: a block for each data set, a line for each method.

import type { Cell, Difference, Row, Table } from "./data";
import { baselinesOf, reach, titleOf, whisker, withInterval } from "./differences";
import { button, h, renew } from "./dom";
import { csv, download, type Rows } from "./download";
import { fixed, missing, signed } from "./format";
import { swatch } from "./markers";
import type { View } from "./view";

type Field = [string, (cell: Cell, row: Row) => (Node | string)[]];

export class Tables {
  readonly element = h("div");
  private drawn = "";

  private width = 0;

  constructor(private view: View) {
    new ResizeObserver(() => {
      if (this.element.clientWidth !== this.width) this.fit();
    }).observe(this.element);
  }

  /** What a table cannot show beside each other in its card it leaves out, or puts below each other. */
  fit(printing = false): void {
    this.width = this.element.clientWidth;
    const blocks = [...this.element.querySelectorAll<HTMLElement>(".sideways")];
    for (const manner of ["", "lean", "cards"]) {
      // All are written before any is measured: the browser lays them out once.
      const tooWide = blocks.filter((each) => printing || each.scrollWidth > each.clientWidth);
      for (const each of manner === "" ? blocks : tooWide) each.className = `sideways ${manner}`;
    }
  }

  draw(): void {
    const tables = this.view.report?.tables ?? [];
    // Nothing moves under the reader's hands where nothing has changed.
    const state = JSON.stringify([
      tables,
      tables.flatMap((table) =>
        table.rows.flatMap((row) =>
          row.cells.map(
            (cell) => cell && [cell.runs.map((id) => this.view.isChosen(id)), this.view.lookOf(cell)],
          ),
        ),
      ),
    ]);
    if (state === this.drawn) return;
    this.drawn = state;
    renew(this.element, ...tables.map((table) => this.table(table)));
    this.fit();
  }

  private table(table: Table): Element {
    const columns = table.columns.map((_, c) => c).filter((c) => table.rows.some((row) => row.cells[c]));
    return h(
      "article",
      { class: "results" },
      h(
        "div",
        { class: "chart-head" },
        h("h3", {}, table.title),
        h(
          "div",
          { class: "tools" },
          button("CSV", {
            "data-key": `csv ${table.key}`,
            "aria-label": `${table.title}: save as CSV`,
            click: () => download(`${table.key}.csv`, csv(asRows(table))),
          }),
        ),
      ),
      h("div", { class: "blocks" }, ...columns.map((c) => this.block(table, c))),
      table.notes.length > 0
        ? h("ul", { class: "notes" }, ...table.notes.map((note) => h("li", {}, note)))
        : null,
    );
  }

  private block(table: Table, column: number): Element {
    const cells = table.rows.map((row) => row.cells[column]);
    const has = (test: (cell: Cell) => unknown) => cells.some((cell) => cell && test(cell));
    const differences = cells
      .flatMap((cell) => (cell ? [cell.less_baseline, cell.less_control] : []))
      .filter((each): each is Difference => each !== null);
    const [from, to] = reach(differences, false);
    const ids = cells.flatMap((cell) => cell?.runs ?? []);
    const difference = (of: Difference | null) => [
      h(
        "span",
        { class: "difference" },
        h("span", {}, of ? withInterval(of) : missing),
        of ? whisker(of, from, to) : h("span", { class: "whisker" }),
      ),
    ];
    const fields: Field[] = [];
    if (has((cell) => cell.paper !== null)) fields.push(["paper", (cell) => [fixed(cell.paper)]]);
    fields.push(["ours, best", (cell) => [h("strong", {}, fixed(cell.mean)), deviation(cell.deviation)]]);
    if (has((cell) => cell.less_paper !== null))
      fields.push(["ours − paper", (cell) => [signed(cell.less_paper)]]);
    fields.push(["last epoch", (cell) => [fixed(cell.last_mean), deviation(cell.last_deviation)]]);
    for (const { key, title } of baselinesOf(table)) {
      const less = (row: Row) => (row.baseline === key ? (row.cells[column]?.less_baseline ?? null) : null);
      if (table.rows.some(less)) fields.push([`last − ${title}`, (_, row) => difference(less(row))]);
    }
    if (has((cell) => cell.less_control))
      fields.push(["last − matched", (cell) => difference(cell.less_control)]);
    if (has((cell) => seconds(cell.paper_seconds)))
      fields.push(["paper, s", (cell) => [fixed(cell.paper_seconds, 1)]]);
    if (has((cell) => seconds(cell.seconds)))
      fields.push(["converged, s", (cell) => [fixed(cell.seconds, 1)]]);
    if (has((cell) => cell.mean_brake !== null))
      fields.push(["brake", (cell) => [fixed(cell.mean_brake, 3)]]);
    fields.push(["seeds", (cell) => [String(cell.seeds)]]);
    return h(
      "div",
      { class: "block" },
      h(
        "div",
        { class: "block-head" },
        h("h4", {}, table.columns[column].title),
        ids.length > 0
          ? button("Show these curves", {
              "data-key": `show ${table.key} ${column}`,
              click: () => {
                this.view.chooseOnly(ids);
                document.getElementById("curves")?.scrollIntoView();
              },
            })
          : null,
      ),
      this.paperTable(table, column, fields),
    );
  }

  /** Scrolls by itself where nothing helps, so that the page need not. */
  private paperTable(table: Table, column: number, fields: Field[]): Element {
    const name = `${table.title}, ${table.columns[column].title}`;
    return h(
      "div",
      {
        class: "sideways",
        role: "region",
        tabindex: 0,
        "data-key": `sideways ${table.key} ${column}`,
        "aria-label": name,
      },
      h(
        "table",
        { class: "paper-table", role: "table" },
        h("caption", { class: "unseen" }, `${name}: test accuracy in per cent`),
        h(
          "thead",
          { role: "rowgroup" },
          h(
            "tr",
            { role: "row" },
            h("th", { scope: "col", role: "columnheader" }, "method"),
            ...fields.map(([name]) =>
              h(
                "th",
                { scope: "col", role: "columnheader", class: name.startsWith("last −") ? "wide" : null },
                name,
              ),
            ),
          ),
        ),
        h(
          "tbody",
          { role: "rowgroup" },
          ...table.rows.map((row) => {
            const cell = row.cells[column];
            return h(
              "tr",
              { role: "row", class: row.control_of !== null ? "control" : null },
              h("th", { scope: "row", role: "rowheader" }, this.method(table, row, column, cell)),
              ...fields.map(([name, of]) => {
                const content = h(
                  "td",
                  { role: "cell", "data-name": name },
                  ...(cell && (cell.seeds > 0 || name.startsWith("paper")) ? of(cell, row) : [missing]),
                );
                if (content.textContent === missing) content.classList.add("none");
                return content;
              }),
            );
          }),
        ),
      ),
    );
  }

  /** Its name; with a box to choose its curves where it has runs. */
  private method(table: Table, row: Row, column: number, cell: Cell | null): Node {
    if (!cell || cell.runs.length === 0) return h("span", {}, titleOf(table, row));
    const chosen = cell.runs.filter((id) => this.view.isChosen(id)).length;
    const box = h("input", {
      type: "checkbox",
      "data-key": `${table.key} ${row.key} ${column}`,
      checked: chosen > 0,
      change: (event) => this.view.choose(cell.runs, (event.target as HTMLInputElement).checked),
    });
    return h("label", {}, box, swatch(this.view.lookOf(cell)), h("span", {}, titleOf(table, row)));
  }
}

/** Whether there is a time: a program that knows of none leaves it out. */
const seconds = (value: number | null | undefined) => typeof value === "number";

const deviation = (value: number | null) =>
  value === null ? "" : h("span", { class: "deviation" }, ` ± ${fixed(value)}`);

function asRows(table: Table): Rows {
  const rows: Rows = [
    [
      "column",
      "method",
      "control_of",
      "paper",
      "seeds",
      "best_mean",
      "best_deviation",
      "less_paper",
      "last_mean",
      "last_deviation",
      "baseline",
      "less_baseline",
      "less_baseline_half_width",
      "less_control",
      "less_control_half_width",
      "less_shuffled",
      "less_shuffled_half_width",
      "less_replayed",
      "less_replayed_half_width",
      "less_cosine",
      "less_cosine_half_width",
      "paper_seconds",
      "seconds",
      "mean_brake",
    ],
  ];
  table.columns.forEach((column, c) => {
    for (const row of table.rows) {
      const cell = row.cells[c];
      if (cell)
        rows.push([
          column.key,
          row.key,
          row.control_of,
          cell.paper,
          cell.seeds,
          cell.mean,
          cell.deviation,
          cell.less_paper,
          cell.last_mean,
          cell.last_deviation,
          row.baseline,
          ...[
            cell.less_baseline,
            cell.less_control,
            cell.less_shuffled,
            cell.less_replayed,
            cell.less_cosine,
          ].flatMap((each) => [each?.mean ?? null, each?.half_width ?? null]),
          cell.paper_seconds ?? null,
          cell.seconds ?? null,
          cell.mean_brake,
        ]);
    }
  });
  return rows;
}
