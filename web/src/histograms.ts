// How often ρ and the brake took which value: a strip for each chosen group.

import type { Histogram } from "./data";
import { svg } from "./dom";
import { fixed } from "./format";
import { colourOf, theme } from "./look";
import type { Strips } from "./strips";
import type { View } from "./view";

/** The seeds of a group together. Bins of other widths go where their middles are. */
export function together(histograms: Histogram[]): Histogram {
  const width = Math.max(...histograms.map((each) => each.width));
  const counts: number[] = new Array(histograms[0].counts.length).fill(0);
  for (const each of histograms)
    each.counts.forEach((count, i) => {
      counts[Math.floor(((i + 0.5) * each.width) / width)] += count;
    });
  return { width, counts };
}

export function histogramStrips(
  view: View,
  quantity: "lgi" | "brake",
  title: string,
  axis: string,
): Strips | null {
  const groups = view.chosen().flatMap(({ group, label, runs }) => {
    const found = runs.flatMap((run) => view.details(run.id)?.histograms[quantity] ?? []);
    const means = runs.flatMap((run) => (quantity === "lgi" ? run.mean_lgi : run.mean_brake) ?? []);
    const look = view.looks.of(group.key);
    return found.length > 0 && look
      ? [
          {
            label,
            look,
            histogram: together(found),
            mean: means.length > 0 ? means.reduce((a, b) => a + b) / means.length : null,
          },
        ]
      : [];
  });
  if (groups.length === 0) return null;
  // Empty bins at the end say nothing.
  const end = ({ width, counts }: Histogram) =>
    width * counts.reduce((last, n, i) => (n > 0 ? i + 1 : last), 0);
  const to = Math.max(1, ...groups.map(({ histogram }) => end(histogram)));
  return {
    key: `${quantity}-histogram`,
    title,
    axis,
    from: 0,
    to,
    tall: 40,
    note: "The share of steps at each value, all chosen seeds together. The line is the mean.",
    strips: groups.map(({ label, look, histogram, mean }) => ({
      label,
      figure: mean === null ? "" : `mean ${fixed(mean)}`,
      draw: (scale, y, tall) => {
        const colours = theme(),
          colour = colourOf(look, colours);
        const highest = Math.max(1, ...histogram.counts),
          base = y + tall / 2;
        const bars = histogram.counts
          .map((count, i) => {
            const start = scale(i * histogram.width),
              stop = scale((i + 1) * histogram.width);
            return count === 0 ? "" : `M${start} ${base}V${base - (tall * count) / highest}H${stop}V${base}z`;
          })
          .join("");
        return [
          svg("path", { d: bars, fill: colour, opacity: 0.75 }),
          svg("line", { x1: scale(0), x2: scale(to), y1: base, y2: base, stroke: colours.axis }),
          ...(mean === null
            ? []
            : [
                svg("line", {
                  x1: scale(mean),
                  x2: scale(mean),
                  y1: base - tall - 3,
                  y2: base + 3,
                  stroke: colours.ink,
                  "stroke-width": 1.5,
                }),
              ]),
        ];
      },
    })),
    rows: [
      ["group", "from", "to", "steps"],
      ...groups.flatMap(({ label, histogram }) =>
        histogram.counts.map((count, i) => [
          label,
          tidy(i * histogram.width),
          tidy((i + 1) * histogram.width),
          count,
        ]),
      ),
    ],
  };
}

const tidy = (value: number) => Number(value.toPrecision(6));
