// Charts of strips that share one axis: differences seed by seed, and histograms. Drawn as SVG.

import { h, svg } from "./dom";
import { pngOfSvg, type Rows } from "./download";
import { frame, type Content } from "./frame";
import { short } from "./format";
import { fontFamily, theme } from "./look";

/** Places on the page of values on the axis. */
export type Scale = (value: number) => number;

export interface Strip {
  label: string;
  indent?: boolean;
  figure: string; // at the right end
  /** Draws into the strip, whose middle is `y`. */
  draw(scale: Scale, y: number, tall: number): SVGElement[];
}

export interface Strips {
  key: string;
  title: string;
  note?: string;
  axis: string;
  from: number;
  to: number;
  zero?: boolean; // a line at 0
  tall: number; // of a strip
  strips: Strip[];
  rows: Rows;
}

export class StripChart {
  readonly element: HTMLElement & { refresh(): void };
  private holder = h("div", { class: "strips" });
  private picture: SVGSVGElement | null = null;
  private width = 0;

  constructor(private chart: Strips) {
    const content: Content = {
      key: chart.key,
      title: chart.title,
      note: chart.note,
      png: () => pngOfSvg(this.picture!, theme().paper),
      rows: () => this.chart.rows,
      table: () => this.chart.rows,
    };
    this.element = frame(content, this.holder);
    new ResizeObserver(() => this.holder.clientWidth !== this.width && this.draw(this.chart)).observe(
      this.holder,
    );
  }

  draw(chart: Strips): void {
    this.chart = chart;
    this.width = this.holder.clientWidth;
    if (this.width > 0) this.holder.replaceChildren((this.picture = paint(chart, this.width)));
    this.element.refresh();
  }
}

const indentation = 14;
const ruler = document.createElement("canvas").getContext("2d")!;

function widthOf(text: string): number {
  ruler.font = `12px ${fontFamily}`;
  return ruler.measureText(text).width;
}

/** Without its middle, if it is too long: names differ in their ends. */
function shortened(text: string, width: number): string {
  let result = text;
  for (let kept = text.length - 1; kept > 4 && widthOf(result) > width; --kept)
    result = `${text.slice(0, Math.ceil(kept / 2))}…${text.slice(-Math.floor(kept / 2))}`;
  return result;
}

function paint(chart: Strips, width: number): SVGSVGElement {
  const look = theme();
  const longest = Math.max(
    ...chart.strips.map((strip) => widthOf(strip.label) + (strip.indent ? indentation : 0)),
  );
  const narrow = longest > 0.4 * width; // then a label stands above its strip
  const labels = narrow ? 0 : longest,
    figures = 16 + Math.max(...chart.strips.map((strip) => widthOf(strip.figure)));
  const above = narrow ? 18 : 0;
  const pitch = chart.tall + above + 8;
  const left = labels + (narrow ? 4 : 16),
    right = width - figures;
  const bottom = 6 + pitch * chart.strips.length;
  const height = bottom + 40;
  const scale: Scale = (value) =>
    left + ((right - left) * (value - chart.from)) / (chart.to - chart.from || 1);
  const text = (
    content: string,
    x: number,
    y: number,
    anchor: string,
    more: Record<string, string | number> = {},
  ) => svg("text", { x, y, "text-anchor": anchor, "font-size": 12, fill: look.ink, ...more }, content);
  const parts: SVGElement[] = [];
  for (const tick of ticks(chart.from, chart.to, (right - left) / 60)) {
    parts.push(svg("line", { x1: scale(tick), x2: scale(tick), y1: 0, y2: bottom, stroke: look.grid }));
    parts.push(text(short(tick), scale(tick), bottom + 15, "middle", { fill: look.faint, class: "figure" }));
  }
  if (chart.zero)
    parts.push(
      svg("line", { x1: scale(0), x2: scale(0), y1: 0, y2: bottom, stroke: look.axis, "stroke-width": 1.5 }),
    );
  parts.push(text(chart.axis, (left + right) / 2, bottom + 33, "middle", { fill: look.faint }));
  chart.strips.forEach((strip, i) => {
    const y = 6 + pitch * i + above + chart.tall / 2;
    const indent = strip.indent ? indentation : 0;
    const label = text("", indent, narrow ? y - chart.tall / 2 - 5 : y + 4, "start");
    label.append(shortened(strip.label, (narrow ? right : labels) - indent), svg("title", {}, strip.label));
    parts.push(label);
    parts.push(...strip.draw(scale, y, chart.tall));
    parts.push(text(strip.figure, width - 2, y + 4, "end", { class: "figure" }));
  });
  const summary = chart.strips.map((strip) => `${strip.label}: ${strip.figure}`).join("; ");
  return svg(
    "svg",
    {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": `${chart.title}. ${summary}`,
      "font-family": fontFamily,
    },
    ...parts,
  ) as SVGSVGElement;
}

/** Round numbers between two ends, about so many. */
export function ticks(from: number, to: number, about: number): number[] {
  const rough = (to - from) / Math.max(1, about);
  if (!(rough > 0)) return [from];
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const unit = power * ([1, 2, 5, 10].find((each) => each * power >= rough) ?? 10);
  const result = [];
  for (let i = Math.ceil(from / unit - 1e-9); i <= Math.floor(to / unit + 1e-9); ++i)
    result.push(Number((i * unit).toPrecision(12)));
  return result;
}
