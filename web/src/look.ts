// How a group of runs is drawn. A deuteranope can tell the colours apart (test/pure.mjs checks it), and every group has a
// marker of its own, so that a grey print will do.

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

export const light: Theme = {
  name: "light",
  paper: "#ffffff",
  ink: "#1b1f24",
  faint: "#57606a",
  grid: "#e9ecef",
  axis: "#b6bdc4",
  lines: ["#1f6db9", "#d86105", "#1b4332", "#b15fc4", "#7c2d12", "#8c8279", "#102a83", "#7a1f6b"],
};

export const dark: Theme = {
  name: "dark",
  paper: "#171b21",
  ink: "#e8ebef",
  faint: "#a3adb8",
  grid: "#282f38",
  axis: "#56616d",
  lines: ["#68b7ed", "#f0a13c", "#3fd18f", "#c9599b", "#f2ee8a", "#e6e6f2", "#4a78d8", "#6f8f2a"],
};

export const dashes: number[][] = [[], [7, 4], [2, 3], [10, 3, 2, 3]];

/** That of the page, for canvases and saved pictures. */
export const fontFamily =
  'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif';
export const font = (size: number): string => `${size}px ${fontFamily}`;

let printing = false;

/** Paper is white, whatever the screen was. */
export function setPrinting(value: boolean): void {
  printing = value;
}

export function theme(): Theme {
  if (printing) return light;
  return document.documentElement.dataset.theme === "dark" ? dark : light;
}

export const colourOf = (look: Look, of: Theme = theme()): string => of.lines[look.colour % of.lines.length];
