// S-Adam against its baseline and its controls, seed by seed.

import type { Cell, Difference, Row, Table } from "./data";
import { h, renew, svg } from "./dom";
import { fixed, signed } from "./format";
import { colourOf, theme, type Look } from "./look";
import { StripChart, type Strip, type Strips } from "./strips";
import type { View } from "./view";

/** The rows that some `less_baseline` is counted from. */
export const baselinesOf = (table: Table): Row[] =>
  table.rows.filter(({ key }) => table.rows.some(({ baseline }) => baseline === key));

/** A control stands below what it controls for, and need not repeat its name. */
export function titleOf(table: Table, row: Row): string {
  const parent = row.control_of === null ? null : table.rows.find(({ key }) => key === row.control_of);
  return parent && row.title.startsWith(`${parent.title}, `)
    ? row.title.slice(parent.title.length + 2)
    : row.title;
}

export const withInterval = (difference: Difference): string =>
  signed(difference.mean) + (difference.half_width === null ? "" : ` ± ${fixed(difference.half_width)}`);

export class Differences {
  readonly element = h("div");
  private charts: StripChart[][] = [];
  private arranged = "not yet";

  constructor(private view: View) {}

  draw(): void {
    const parts: { title: string; charts: Strips[] }[] = [];
    for (const table of this.view.report?.tables ?? [])
      table.columns.forEach((column, c) => {
        const charts = this.chartsOf(table, c);
        if (charts.length > 0)
          parts.push({ title: `${table.title.split(":")[0]} · ${column.title}`, charts });
      });
    const arrangement = JSON.stringify(
      parts.map(({ title, charts }) => [title, charts.map(({ key }) => key)]),
    );
    if (arrangement !== this.arranged) {
      this.arranged = arrangement;
      this.charts = parts.map(({ charts }) => charts.map((each) => new StripChart(each)));
      renew(
        this.element,
        ...(parts.length > 0 ? lead() : whatToType()),
        ...parts.flatMap(({ title }, i) => [
          h("h3", { class: "place" }, title),
          h("div", { class: "side-by-side" }, ...this.charts[i].map((chart) => chart.element)),
        ]),
      );
    }
    parts.forEach(({ charts }, i) => charts.forEach((strips, j) => this.charts[i][j].draw(strips)));
  }

  private chartsOf(table: Table, column: number): Strips[] {
    const kinds: [string, string, (cell: Cell, row: Row) => Difference | null][] = [
      ...baselinesOf(table).map(({ key, title }): (typeof kinds)[number] => [
        key === table.baseline ? "baseline" : `baseline-${key}`,
        `Minus ${title}`,
        (cell, row) => (row.baseline === key ? cell.less_baseline : null),
      ]),
      ["control", "Minus its matched control", (cell) => cell.less_control],
      ["shuffled", "Minus its shuffled control", (cell) => cell.less_shuffled],
      ["replayed", "Minus its replayed control", (cell) => cell.less_replayed],
      ["cosine", "Minus AdamW with a cosine schedule", (cell) => cell.less_cosine],
    ];
    const listed = kinds
      .map(([key, title, of]) => ({
        key,
        title,
        rows: table.rows.flatMap((row) => {
          const cell = row.cells[column],
            difference = cell ? of(cell, row) : null;
          return cell && difference ? [{ row, cell, difference }] : [];
        }),
      }))
      .filter(({ rows }) => rows.length > 0);
    const [from, to] = reach(
      listed.flatMap(({ rows }) => rows.map(({ difference }) => difference)),
      true,
    );
    return listed.map(({ key, title, rows }) => ({
      key: `${table.key}-${table.columns[column].key}-less-${key}`,
      title,
      axis: "points of test accuracy",
      from,
      to,
      zero: true,
      tall: 26,
      strips: rows.map(({ row, cell, difference }) =>
        strip(titleOf(table, row), row, difference, this.view.lookOf(cell)),
      ),
      rows: [
        ["method", "seed", "difference"],
        ...rows.flatMap(({ row, difference }) => [
          ...difference.pairs.map((pair) => [row.title, pair.seed, pair.difference]),
          [row.title, "mean", difference.mean],
          [row.title, "± (95 %)", difference.half_width],
        ]),
      ],
    }));
  }
}

const lead = () => [
  h(
    "p",
    { class: "lead" },
    "Test accuracy after the last epoch, less that of another run with the same seed: " +
      "it started from the same weights and saw the same batches. A dot is a seed, the diamond their mean, " +
      "the line its 95 % interval. An interval that holds 0 may be chance.",
  ),
];

const whatToType = () => [
  h(
    "p",
    { class: "empty" },
    "Seeds can be compared once a table has two methods with the same seed. Give it several: ",
    h("code", {}, "sadam reproduce table1 --seeds 1-4"),
    ".",
  ),
];

/** From the lowest to the highest that is drawn, with some air. */
export function reach(differences: Difference[], seeds: boolean): [number, number] {
  const ends = differences.flatMap(({ mean, half_width, pairs }) => [
    mean - (half_width ?? 0),
    mean + (half_width ?? 0),
    ...(seeds ? pairs.map((pair) => pair.difference) : []),
  ]);
  const from = Math.min(0, ...ends),
    to = Math.max(0, ...ends),
    pad = 0.06 * (to - from || 1);
  return [from - pad, to + pad];
}

function strip(label: string, row: Row, difference: Difference, look: Look | null): Strip {
  return {
    label,
    indent: row.control_of !== null,
    figure: withInterval(difference),
    draw: (scale, y) => {
      const colours = theme();
      const colour = look ? colourOf(look, colours) : colours.ink;
      const parts: SVGElement[] = [];
      const { mean, half_width: half } = difference;
      // The mean and its interval above, the seeds below, so that neither hides the other.
      const above = y - 5,
        below = y + 7,
        x = scale(mean);
      for (const pair of difference.pairs) {
        const dot = svg("circle", {
          cx: scale(pair.difference),
          cy: below,
          r: 3,
          fill: colour,
          "fill-opacity": 0.25,
          stroke: colour,
          "stroke-width": 1,
        });
        dot.append(svg("title", {}, `seed ${pair.seed}: ${signed(pair.difference)}`));
        parts.push(dot);
      }
      if (half !== null)
        parts.push(
          svg("line", {
            x1: scale(mean - half),
            x2: scale(mean + half),
            y1: above,
            y2: above,
            stroke: colour,
            "stroke-width": 3,
          }),
        );
      parts.push(
        svg("path", {
          d: `M${x} ${above - 6}L${x + 6} ${above}L${x} ${above + 6}L${x - 6} ${above}z`,
          fill: colour,
          stroke: colours.paper,
          "stroke-width": 1,
        }),
      );
      return parts;
    },
  };
}

/** A small picture of a difference for a line of a table: zero, interval, mean. */
export function whisker(difference: Difference, from: number, to: number): Element {
  const width = 96,
    height = 18,
    middle = height / 2;
  const scale = (value: number) => ((value - from) / (to - from || 1)) * (width - 8) + 4;
  const half = difference.half_width ?? 0;
  const sure = difference.half_width !== null && Math.abs(difference.mean) > half;
  return svg(
    "svg",
    {
      class: sure ? "whisker sure" : "whisker",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      "aria-hidden": "true",
    },
    svg("line", { class: "zero", x1: scale(0), x2: scale(0), y1: 1, y2: height - 1 }),
    svg("line", {
      class: "interval",
      x1: scale(difference.mean - half),
      x2: scale(difference.mean + half),
      y1: middle,
      y2: middle,
    }),
    svg("circle", { class: "mean", cx: scale(difference.mean), cy: middle, r: 3.5 }),
  );
}
