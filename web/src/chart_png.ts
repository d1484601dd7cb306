// A chart of curves as a picture: drawn anew, larger, with its title and a legend.

import type uPlot from "uplot";
import { h } from "./dom";
import { pngOfCanvas } from "./download";
import { colourOf, font, theme, type Look } from "./look";
import { markerPath } from "./markers";

const width = 1200;
const tall = 620;
const size = 18;
const head = 60;
const line = 30; // of the legend

type Make = (width: number, tall: number, size: number, holder: HTMLElement) => uPlot;

export async function chartPng(
  title: string,
  lines: { label: string; look: Look }[],
  make: Make,
): Promise<Blob> {
  const colours = theme();
  const holder = h("div", { class: "unseen" });
  document.body.append(holder);
  const plot = make(width, tall, size, holder);
  await Promise.resolve(); // uPlot draws when the caller is done
  const drawn = plot.ctx.canvas;
  const scale = drawn.width / width;
  const canvas = h("canvas", {
    width: drawn.width,
    height: (head + tall + 24 + line * lines.length) * scale,
  });
  const context = canvas.getContext("2d")!;
  context.fillStyle = colours.paper;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(drawn, 0, head * scale);
  plot.destroy();
  holder.remove();
  context.scale(scale, scale);
  context.fillStyle = colours.ink;
  context.font = "600 " + font(22);
  context.fillText(title, 24, 38);
  lines.forEach(({ label, look }, i) => {
    const y = head + tall + 16 + line * i;
    context.strokeStyle = context.fillStyle = colourOf(look, colours);
    context.lineWidth = 3;
    context.setLineDash(look.dash);
    context.beginPath();
    context.moveTo(84, y);
    context.lineTo(144, y);
    context.stroke();
    context.setLineDash([]);
    context.fill(new Path2D(markerPath(look.marker, 114, y, 6)));
    context.fillStyle = colours.ink;
    context.font = font(size);
    context.fillText(label, 160, y + 6);
  });
  return pngOfCanvas(canvas);
}
