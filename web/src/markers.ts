// The shapes that tell lines apart without their colours.

import uPlot from "uplot";

import { svg } from "./dom";
import { colourOf, type Look } from "./look";

const shapes = ["circle", "square", "triangle", "diamond", "cross", "down", "plus", "bar"];

/** The outline of a marker around (x, y) as an SVG path, which a canvas takes as well. */
export function markerPath(marker: number, x: number, y: number, r: number): string {
  switch (shapes[marker % shapes.length]) {
    case "square":
      return `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}z`;
    case "triangle":
      return `M${x} ${y - 1.25 * r}L${x + 1.2 * r} ${y + r}H${x - 1.2 * r}z`;
    case "diamond":
      return `M${x} ${y - 1.4 * r}L${x + 1.4 * r} ${y}L${x} ${y + 1.4 * r}L${x - 1.4 * r} ${y}z`;
    case "down":
      return `M${x} ${y + 1.25 * r}L${x + 1.2 * r} ${y - r}H${x - 1.2 * r}z`;
    case "cross":
      return cross(x, y, r, 0.9, true);
    case "plus":
      return cross(x, y, r, 1.25, false);
    case "bar":
      return `M${x - 0.6 * r} ${y - 1.4 * r}h${1.2 * r}v${2.8 * r}h${-1.2 * r}z`;
    default:
      return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
  }
}

function cross(x: number, y: number, r: number, reach: number, turned: boolean): string {
  const a = r * reach,
    b = r * 0.4;
  const corners = [
    [-b, -a],
    [b, -a],
    [b, -b],
    [a, -b],
    [a, b],
    [b, b],
    [b, a],
    [-b, a],
    [-b, b],
    [-a, b],
    [-a, -b],
    [-b, -b],
  ];
  const s = turned ? Math.SQRT1_2 * 1.25 : 1;
  const placed = corners.map(([u, v]) => (turned ? [x + s * (u - v), y + s * (u + v)] : [x + u, y + v]));
  return "M" + placed.map(([u, v]) => `${u} ${v}`).join("L") + "z";
}

/** A few markers along the line, not at the same places as those of the other lines. */
export function drawMarkers(
  plot: uPlot,
  index: number,
  marker: number,
  order: number,
  colour: string,
  paper: string,
  size: number,
): void {
  const xs = plot.data[0],
    ys = plot.data[index] as (number | null | undefined)[];
  const { min, max } = plot.scales.x;
  const places: number[] = [];
  for (let i = 0; i < xs.length; ++i)
    if (typeof ys[i] === "number" && xs[i] >= min! && xs[i] <= max!) places.push(i);
  const most = Math.max(3, Math.round(plot.over.clientWidth / 70));
  const every = places.length <= 2 * most ? 1 : places.length / most;
  const ratio = uPlot.pxRatio;
  const { ctx } = plot;
  ctx.save();
  ctx.fillStyle = colour;
  ctx.strokeStyle = paper;
  ctx.lineWidth = 1.2 * ratio;
  for (let k = every === 1 ? 0 : every * ((order * 0.37) % 1); k < places.length; k += every) {
    const i = places[Math.floor(k)];
    const outline = new Path2D(
      markerPath(
        marker,
        plot.valToPos(xs[i], "x", true),
        plot.valToPos(ys[i]!, "y", true),
        0.3 * size * ratio,
      ),
    );
    ctx.stroke(outline);
    ctx.fill(outline);
  }
  ctx.restore();
}

/** The sample of a line that stands before a group's name. */
export function swatch(look: Look | null): Element {
  const colour = look ? colourOf(look) : "none";
  return svg(
    "svg",
    { class: "swatch", viewBox: "0 0 30 12", width: 30, height: 12, "aria-hidden": "true" },
    look &&
      svg("line", {
        x1: 1,
        x2: 29,
        y1: 6,
        y2: 6,
        stroke: colour,
        "stroke-width": 2,
        "stroke-dasharray": look.dash.join(" ") || null,
      }),
    look && svg("path", { d: markerPath(look.marker, 15, 6, 3.6), fill: colour }),
  );
}
