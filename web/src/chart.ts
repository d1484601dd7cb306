// A chart of curves over steps, epochs or time: uPlot, with zoom, a reading at the cursor, markers, bands.

import uPlot from "uplot";
import { chartPng } from "./chart_png";
import { align, valueAt, type Axis, type Points, type Strand } from "./curves";
import { button, h } from "./dom";
import type { Rows } from "./download";
import { duration, short } from "./format";
import { frame } from "./frame";
import { colourOf, font, theme, type Look, type Theme } from "./look";
import { drawMarkers } from "./markers";

/** A group in a chart: its seeds thin, the line that stands for them thick, a band from lowest to highest. */
export interface Trace {
  label: string;
  look: Look;
  seeds: Points[];
  main: Points;
  exact: Points; // the same before it was smoothed
  band: { x: number[]; low: (number | null)[]; high: (number | null)[] } | null;
}

export interface Drawing {
  traces: Trace[];
  axis: Axis;
  from: number;
  to: number;
  logarithmic: boolean;
}

export interface Kind {
  key: string;
  title: string;
  note?: string;
  unit?: string;
  canBeLogarithmic?: boolean;
  limits?: [number | null, number | null]; // a range that is shown whatever the values are
}

export interface Host {
  zoom(range: [number, number] | null): void;
  move(share: number): void; // of what is in view
  setLogarithmic(key: string, on: boolean): void;
  rows(key: string): Rows;
}

const height = 240;
const axisNames: Record<Axis, string> = { epoch: "epoch", step: "step", time: "training time, s" };
/** A point without neighbours is no line: it gets a ring. */
const alone: uPlot.Series.Points = {
  size: 6,
  show: (plot, series) => {
    const values = plot.data[series] as (number | null | undefined)[];
    return values.filter((value) => typeof value === "number").length === 1;
  },
};
const faded = (colour: string, opacity: number) =>
  colour +
  Math.round(opacity * 255)
    .toString(16)
    .padStart(2, "0");

export class Chart {
  readonly element: HTMLElement & { refresh(): void };
  private title: string;
  private plotHolder: HTMLElement;
  private reading = h("div", { class: "reading", hidden: true });
  private logButton: HTMLButtonElement | null = null;
  private plot: uPlot | null = null;
  private signature = "";
  private drawing: Drawing | null = null;
  private active = false; // the pointer or the focus is here
  private announce = h("span", { class: "unseen", "aria-live": "polite" });

  constructor(
    readonly kind: Kind,
    private host: Host,
  ) {
    this.title = kind.title + (kind.unit ? `, ${kind.unit}` : "");
    this.plotHolder = h(
      "div",
      {
        class: "plot",
        tabindex: 0,
        role: "application",
        "aria-roledescription": "chart",
        "aria-label": `${kind.title}. Arrow keys read values, plus and minus zoom, 0 shows all. The numbers follow as a table.`,
        keydown: (event) => this.key(event as KeyboardEvent),
        focus: () => {
          this.active = true;
        },
        blur: () => {
          this.active = false;
          this.reading.hidden = true;
        },
        pointerenter: () => {
          this.active = true;
        },
        pointerleave: () => {
          this.active = false;
          this.reading.hidden = true;
        },
      },
      this.reading,
    );
    const tools: Node[] = [];
    if (kind.canBeLogarithmic) {
      this.logButton = button("log", {
        "aria-pressed": "false",
        "aria-label": `${kind.title}: logarithmic scale`,
        click: () => this.host.setLogarithmic(kind.key, !(this.drawing?.logarithmic ?? false)),
      });
      tools.push(this.logButton);
    }
    this.element = frame(
      {
        key: kind.key,
        title: this.title,
        note: kind.note,
        png: () =>
          chartPng(this.title, this.drawing?.traces ?? [], (width, tall, size, holder) => {
            const options = this.options(this.drawing!, theme(), width, tall, size);
            return new uPlot({ ...options, cursor: { show: false } }, this.columns(this.drawing!), holder);
          }),
        rows: () => host.rows(kind.key),
        table: () => this.table(),
      },
      this.plotHolder,
      ...tools,
    );
    this.element.append(this.announce);
    new ResizeObserver(() => this.fit()).observe(this.plotHolder);
  }

  draw(drawing: Drawing): void {
    this.drawing = drawing;
    this.logButton?.setAttribute("aria-pressed", String(drawing.logarithmic));
    const data = this.columns(drawing);
    const signature = JSON.stringify([
      theme().name,
      drawing.axis,
      drawing.logarithmic,
      drawing.traces.map(({ look, seeds, band }) => [look, seeds.length, band !== null]),
    ]);
    if (this.plot && signature === this.signature) this.plot.setData(data);
    else {
      const width = this.plotHolder.clientWidth;
      if (width === 0) return;
      this.plot?.destroy();
      this.signature = signature;
      this.plot = new uPlot(this.options(drawing, theme(), width, height, 12), data, this.plotHolder);
    }
    this.element.refresh();
  }

  private fit(): void {
    const width = this.plotHolder.clientWidth;
    if (width === 0 || !this.drawing) return;
    if (!this.plot) this.draw(this.drawing);
    else if (this.plot.width !== width) this.plot.setSize({ width, height });
  }

  private strands(drawing: Drawing): Strand[] {
    const bands = drawing.traces.flatMap(({ band }): Strand[] =>
      band
        ? [
            { x: band.x, y: band.high, keep: "max" },
            { x: band.x, y: band.low, keep: "min" },
          ]
        : [],
    );
    const seeds = drawing.traces.flatMap((trace) =>
      trace.seeds.map((seed): Strand => ({ ...seed, keep: "mean" })),
    );
    const mains = drawing.traces.map(({ main }): Strand => ({ ...main, keep: "mean" }));
    const all = [...bands, ...seeds, ...mains];
    if (!drawing.logarithmic) return all;
    return all.map((strand) => ({ ...strand, y: strand.y.map((y) => (y !== null && y > 0 ? y : null)) }));
  }

  private columns(drawing: Drawing): uPlot.AlignedData {
    return align(this.strands(drawing), drawing.from, drawing.to) as uPlot.AlignedData;
  }

  private options(drawing: Drawing, look: Theme, width: number, tall: number, size: number): uPlot.Options {
    const { traces, logarithmic } = drawing;
    const series: uPlot.Series[] = [{}];
    const bands: uPlot.Band[] = [];
    const none = { show: false };
    for (const trace of traces) {
      if (!trace.band) continue;
      bands.push({
        series: [series.length, series.length + 1],
        fill: faded(colourOf(trace.look, look), 0.1),
      });
      series.push(
        { stroke: "transparent", width: 0, points: none },
        { stroke: "transparent", width: 0, points: none },
      );
    }
    for (const trace of traces)
      for (const _ of trace.seeds)
        series.push({
          stroke: faded(colourOf(trace.look, look), 0.4),
          width: 1,
          points: { ...alone, fill: look.paper },
        });
    const firstMain = series.length;
    for (const trace of traces)
      series.push({
        stroke: colourOf(trace.look, look),
        width: (2 * size) / 12,
        dash: trace.look.dash,
        points: none,
      });
    const axis: uPlot.Axis = {
      stroke: look.faint,
      font: font(size),
      labelFont: font(size),
      grid: { stroke: look.grid, width: 1 },
      ticks: { show: false },
      border: { show: false },
    };
    const [low, high] = this.kind.limits ?? [null, null];
    return {
      width,
      height: tall,
      series,
      bands,
      padding: [10, 14, 0, 0],
      legend: { show: false },
      scales: {
        x: { time: false, range: () => [this.drawing!.from, this.drawing!.to] },
        y: logarithmic
          ? { distr: 3, log: 10 }
          : {
              range: (_, min, max) => {
                if (min === null || max === null || min > max) return [low ?? 0, high ?? 1];
                const pad = 0.05 * (max - min || Math.abs(max) || 1);
                return [
                  low === null ? min - pad : Math.min(low, min),
                  high === null ? max + pad : Math.max(high, max),
                ];
              },
            },
      },
      axes: [
        {
          ...axis,
          label: axisNames[drawing.axis],
          labelSize: 1.7 * size,
          size: 2.3 * size,
          space: 5 * size,
          incrs:
            drawing.axis === "time"
              ? undefined
              : [
                  1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 1e7,
                  1e8,
                ],
          values: (_, splits) => splits.map((x) => (x === null ? "" : short(x))),
        },
        {
          ...axis,
          size: 4.6 * size,
          space: 2.6 * size,
          values: (_, splits) => splits.map((y) => (y === null ? "" : short(y))),
        },
      ],
      cursor: {
        sync: { key: "sadam", scales: ["x", null] },
        drag: { x: true, y: false, setScale: false, dist: 6 },
        points: { show: false },
        y: false,
        bind: {
          dblclick: () => () => {
            this.host.zoom(null);
            return null;
          },
        },
      },
      hooks: {
        draw: [
          (plot) =>
            traces.forEach((trace, i) =>
              drawMarkers(
                plot,
                firstMain + i,
                trace.look.marker,
                i,
                colourOf(trace.look, look),
                look.paper,
                size,
              ),
            ),
        ],
        setCursor: [(plot) => this.read(plot)],
        setSelect: [
          (plot) => {
            if (plot.select.width < 6) return;
            const range = [plot.select.left, plot.select.left + plot.select.width].map((pixel) =>
              plot.posToVal(pixel, "x"),
            );
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            this.host.zoom([range[0], range[1]]);
          },
        ],
      },
    };
  }

  private read(plot: uPlot): void {
    const left = plot.cursor.left;
    if (!this.active || left === undefined || left === null || left < 0 || !this.drawing) {
      this.reading.hidden = true;
      return;
    }
    const x = this.snap(plot.posToVal(left, "x"));
    const lines = this.drawing.traces
      .map((trace) => ({ trace, value: valueAt(trace.main, x) }))
      .filter(({ value }) => value !== null)
      .sort((a, b) => b.value! - a.value!);
    this.reading.replaceChildren(
      h(
        "div",
        { class: "at" },
        `${this.drawing.axis} ${this.drawing.axis === "time" ? duration(x) : short(roundFor(x, this.drawing))}`,
      ),
      ...lines.map(({ trace, value }) => {
        const mark = h("span", { class: "dot" });
        mark.style.backgroundColor = colourOf(trace.look);
        return h("div", {}, mark, h("b", {}, short(value)), " ", trace.label);
      }),
    );
    this.reading.hidden = false;
    const box = plot.over.offsetLeft + left,
      wide = this.plotHolder.clientWidth;
    const onRight = left < plot.over.clientWidth / 2;
    this.reading.style.left = onRight ? `${box + 14}px` : "";
    this.reading.style.right = onRight ? "" : `${wide - box + 14}px`;
    this.announce.textContent = document.activeElement === this.plotHolder ? this.reading.innerText : "";
  }

  /** To the nearest point of a line that has few of them. */
  private snap(x: number): number {
    const points = this.drawing!.traces.flatMap(({ main }) => (main.x.length <= 200 ? main.x : []));
    return points.reduce(
      (best, point) => (Math.abs(point - x) < Math.abs(best - x) ? point : best),
      points[0] ?? x,
    );
  }

  private key(event: KeyboardEvent): void {
    const plot = this.plot,
      drawing = this.drawing;
    if (!plot || !drawing || event.ctrlKey || event.metaKey || event.altKey) return;
    const width = plot.over.clientWidth;
    const left = plot.cursor.left !== undefined && plot.cursor.left >= 0 ? plot.cursor.left : width / 2;
    const centre = plot.posToVal(left, "x");
    const zoomBy = (factor: number) =>
      this.host.zoom([centre - (centre - drawing.from) * factor, centre + (drawing.to - centre) * factor]);
    const step = event.shiftKey ? 1 : 10;
    switch (event.key) {
      case "ArrowLeft":
        plot.setCursor({ left: Math.max(0, left - step), top: 10 });
        break;
      case "ArrowRight":
        plot.setCursor({ left: Math.min(width, left + step), top: 10 });
        break;
      case "+":
      case "=":
        zoomBy(0.5);
        break;
      case "-":
        zoomBy(2);
        break;
      case "0":
      case "Escape":
        this.host.zoom(null);
        break;
      case "PageUp":
        this.host.move(-0.5);
        break;
      case "PageDown":
        this.host.move(0.5);
        break;
      default:
        return;
    }
    event.preventDefault();
  }

  private table(): Rows {
    const drawing = this.drawing;
    if (!drawing) return [["nothing"]];
    const mains = drawing.traces.map(({ exact }): Strand => ({ ...exact, keep: "mean" }));
    const [xs, ...columns] = align(mains, drawing.from, drawing.to, 600);
    const rows: Rows = [[axisNames[drawing.axis], ...drawing.traces.map(({ label }) => label)]];
    xs.forEach((x, i) => {
      if (x < drawing.from || x > drawing.to) return;
      rows.push([roundFor(x, drawing), ...columns.map((column) => column[i] ?? null)]);
    });
    return rows;
  }
}

/** Without the digits that come from where the cursor happens to be. */
function roundFor(x: number, drawing: Drawing): number {
  if (drawing.axis === "step") return Math.round(x);
  const unit = Math.pow(10, Math.floor(Math.log10((drawing.to - drawing.from || 1) / 1000)));
  return Number((Math.round(x / unit) * unit).toPrecision(10));
}
