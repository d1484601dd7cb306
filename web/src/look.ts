// How a group of runs is drawn. Colours differ in lightness as well as in hue, and every group has a marker of its own, so
// that nobody needs the colours: not a deuteranope, not a reader of a grey print.

export interface Look {
  colour: number; // index into Theme.lines; controls share that of the row they control for
  dash: number[];
  marker: number;
}

export interface Theme {
  name: "light" | "dark";
  paper: string;
  ink: string;
  faint: string; // labels
  grid: string;
  axis: string;
  lines: string[];
}

const light: Theme = {
  name: "light",
  paper: "#ffffff",
  ink: "#1b1f24",
  faint: "#57606a",
  grid: "#e9ecef",
  axis: "#b6bdc4",
  lines: ["#1f6fb2", "#c4500c", "#1c7f6b", "#9a4a9c", "#8a6d00", "#3c4654", "#0f93a8", "#b4365a"],
};

const dark: Theme = {
  name: "dark",
  paper: "#171b21",
  ink: "#e8ebef",
  faint: "#a3adb8",
  grid: "#282f38",
  axis: "#56616d",
  lines: ["#6cb6f0", "#f28f4f", "#4cc3a8", "#d59ad8", "#d9b84a", "#c3ccd6", "#4fd2e4", "#f58aa8"],
};

export const dashes: number[][] = [[], [7, 4], [2, 3], [10, 3, 2, 3]];
export const markers = ["circle", "square", "triangle", "diamond", "cross", "down", "plus", "bar"];

/** That of the page, for canvases and saved pictures. */
export const fontFamily = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif';

let printing = false;

/** Paper is white, whatever the screen was. */
export function setPrinting(value: boolean): void {
  printing = value;
}

export function theme(): Theme {
  if (printing) return light;
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light") return light;
  if (chosen === "dark") return dark;
  return matchMedia("(prefers-color-scheme: dark)").matches ? dark : light;
}

export const colourOf = (look: Look, of: Theme = theme()): string => of.lines[look.colour % of.lines.length];

/** The outline of a marker around (x, y) as an SVG path, which a canvas takes as well. */
export function markerPath(marker: number, x: number, y: number, r: number): string {
  switch (markers[marker % markers.length]) {
    case "square": return `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}z`;
    case "triangle": return `M${x} ${y - 1.25 * r}L${x + 1.2 * r} ${y + r}H${x - 1.2 * r}z`;
    case "diamond": return `M${x} ${y - 1.4 * r}L${x + 1.4 * r} ${y}L${x} ${y + 1.4 * r}L${x - 1.4 * r} ${y}z`;
    case "down": return `M${x} ${y + 1.25 * r}L${x + 1.2 * r} ${y - r}H${x - 1.2 * r}z`;
    case "cross": return cross(x, y, r, 0.9, true);
    case "plus": return cross(x, y, r, 1.25, false);
    case "bar": return `M${x - 0.6 * r} ${y - 1.4 * r}h${1.2 * r}v${2.8 * r}h${-1.2 * r}z`;
    default: return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
  }
}

function cross(x: number, y: number, r: number, reach: number, turned: boolean): string {
  const a = r * reach, b = r * 0.4;
  const corners = [[-b, -a], [b, -a], [b, -b], [a, -b], [a, b], [b, b], [b, a], [-b, a], [-b, b], [-a, b], [-a, -b], [-b, -b]];
  const s = turned ? Math.SQRT1_2 * 1.25 : 1;
  const placed = corners.map(([u, v]) => (turned ? [x + s * (u - v), y + s * (u + v)] : [x + u, y + v]));
  return "M" + placed.map(([u, v]) => `${u} ${v}`).join("L") + "z";
}
