// From what the runs recorded to what is drawn: pure functions over points.

import type { Details } from "./data";

/** Points in the order of x. A null is a value that was not finite; the line breaks there. */
export interface Points {
  x: number[];
  y: (number | null)[];
}

/** One run's record of one quantity. Extremes are there where a point stands for several steps. */
export interface Curve extends Points {
  step: number[];
  low: (number | null)[] | null;
  high: (number | null)[] | null;
}

export type Axis = "epoch" | "step" | "time";

/** Takes a step to its place on the axis, or null if the run does not say: none of its epochs is done. */
export type Ruler = (step: number) => number;

export function rulerOf(details: Details, axis: Axis): Ruler | null {
  if (axis === "step") return (step) => step;
  const steps = [0],
    places = [0];
  for (const epoch of details.epochs) {
    const place = axis === "epoch" ? epoch.epoch : epoch.train_seconds;
    if (place === null || epoch.step <= steps[steps.length - 1]) continue;
    steps.push(epoch.step);
    places.push(place);
  }
  if (steps.length === 1) return null;
  return (step) => {
    let i = 1;
    while (i < steps.length - 1 && steps[i] < step) ++i;
    return places[i - 1] + ((places[i] - places[i - 1]) * (step - steps[i - 1])) / (steps[i] - steps[i - 1]);
  };
}

/** The curve of a quantity: a series of the run, or a field of its epochs. */
export function curveOf(details: Details, quantity: string, ruler: Ruler): Curve | null {
  const series = details.series[quantity];
  if (series) {
    const extremes = series.min.length > 0;
    return {
      step: series.step,
      x: series.step.map(ruler),
      y: series.mean,
      low: extremes ? series.min : null,
      high: extremes ? series.max : null,
    };
  }
  const field = quantity as "test_accuracy" | "validation_accuracy" | "test_loss";
  if (!details.epochs.some((epoch) => typeof epoch[field] === "number")) return null;
  const step = details.epochs.map((epoch) => epoch.step);
  return { step, x: step.map(ruler), y: details.epochs.map((epoch) => epoch[field]), low: null, high: null };
}

/** The value at x on the straight line between its neighbours; null outside, and beside a gap. */
export function valueAt(points: Points, x: number): number | null {
  const { x: xs, y: ys } = points;
  let from = 0,
    to = xs.length - 1;
  if (to < 0 || x < xs[0] || x > xs[to]) return null;
  while (to - from > 1) {
    const middle = (from + to) >> 1;
    if (xs[middle] <= x) from = middle;
    else to = middle;
  }
  if (x === xs[to]) return ys[to];
  const a = ys[from],
    b = ys[to];
  if (x === xs[from] || a === null) return a;
  return b === null ? null : a + ((b - a) * (x - xs[from])) / (xs[to] - xs[from]);
}

/** The mean of several lines, as far as all of them go. */
export function meanOf(lines: Points[]): Points {
  const last = (line: Points) => line.x[line.x.length - 1];
  const some = lines.filter((line) => line.x.length > 0);
  if (some.length === 0) return { x: [], y: [] };
  const start = Math.max(...some.map((line) => line.x[0]));
  const end = Math.min(...some.map(last));
  const grid = some
    .reduce((a, b) => (b.x.length > a.x.length ? b : a))
    .x.filter((x) => x >= start && x <= end);
  const y = grid.map((x) => {
    let sum = 0;
    for (const line of some) {
      const value = valueAt(line, x);
      if (value === null) return null;
      sum += value;
    }
    return sum / some.length;
  });
  return { x: grid, y };
}

/** The lowest and highest value of several curves around each point of the longest: no peak is lost. */
export function envelopeOf(curves: Curve[]): {
  x: number[];
  low: (number | null)[];
  high: (number | null)[];
} {
  const x = curves.reduce<number[]>((a, b) => (b.x.length > a.length ? b.x : a), []).slice();
  const furthest = Math.max(...curves.map((curve) => curve.x[curve.x.length - 1] ?? -Infinity));
  if (x.length > 0 && furthest > x[x.length - 1]) x.push(furthest);
  const low: (number | null)[] = x.map(() => null),
    high = low.slice();
  for (const curve of curves) {
    let place = 0;
    for (let i = 0; i < curve.x.length; ++i) {
      while (place < x.length - 1 && x[place] < curve.x[i]) ++place;
      const down = (curve.low ?? curve.y)[i],
        up = (curve.high ?? curve.y)[i];
      const l = low[place],
        h = high[place];
      if (down !== null && (l === null || down < l)) low[place] = down;
      if (up !== null && (h === null || up > h)) high[place] = up;
    }
  }
  return { x, low, high };
}

/** The mean of all points within half a window on either side: nothing moves sideways. */
export function smoothed(points: Points, window: number): Points {
  const { x, y } = points;
  if (window <= 0 || x.length < 3) return points;
  const result: (number | null)[] = new Array(x.length);
  let from = 0,
    to = 0,
    sum = 0,
    known = 0;
  for (let i = 0; i < x.length; ++i) {
    const add = (j: number, sign: number) => {
      const value = y[j];
      if (value !== null) {
        sum += sign * value;
        known += sign;
      }
    };
    while (to < x.length && x[to] <= x[i] + window / 2) add(to++, 1);
    while (from < i && x[from] < x[i] - window / 2) add(from++, -1);
    result[i] = known > 0 && y[i] !== null ? sum / known : null;
  }
  return { x, y: result };
}

/** What is in view as columns over one x, as uPlot wants it: `undefined` where a line has no point at that x. */
export type Columns = [number[], ...(number | null | undefined)[][]];
export interface Strand extends Points {
  keep: "mean" | "min" | "max"; // what stands for several points that fall together
}

/**
 * Puts strands over one x, from `from` to `to` and one point beyond on either side. Where more than `most` places would
 * be needed the points fall into bins, and `keep` says what is kept of each.
 */
export function align(strands: Strand[], from: number, to: number, most = 1200): Columns {
  const slices = strands.map(({ x }) => {
    let first = 0,
      end = x.length;
    while (first < x.length && x[first] < from) ++first;
    while (end > first && x[end - 1] > to) --end;
    return [Math.max(0, first - 1), Math.min(x.length, end + 1)];
  });
  const places = new Set<number>();
  strands.forEach(({ x }, s) => {
    for (let i = slices[s][0]; i < slices[s][1]; ++i) places.add(x[i]);
  });
  let xs = [...places].sort((a, b) => a - b);
  let placeOf: (x: number) => number;
  if (xs.length <= most) {
    const index = new Map(xs.map((x, i) => [x, i]));
    placeOf = (x) => index.get(x)!;
  } else {
    const left = xs[0],
      right = xs[xs.length - 1],
      bins = most - 2,
      width = (to - from) / bins;
    placeOf = (x) =>
      x < from ? 0 : x > to ? bins + 1 : 1 + Math.min(bins - 1, Math.floor((x - from) / width));
    xs = [
      Math.min(left, from - width / 2),
      ...Array.from({ length: bins }, (_, i) => from + (i + 0.5) * width),
      Math.max(right, to + width / 2),
    ];
  }
  const columns = strands.map(({ x, y, keep }, s) => {
    const column: (number | null | undefined)[] = new Array(xs.length).fill(undefined);
    const counts = keep === "mean" ? new Uint32Array(xs.length) : null;
    for (let i = slices[s][0]; i < slices[s][1]; ++i) {
      const place = placeOf(x[i]),
        value = y[i],
        before = column[place];
      if (value === null) {
        if (before === undefined) column[place] = null;
        continue;
      }
      if (before === undefined || before === null) column[place] = value;
      else if (keep === "min") column[place] = Math.min(before, value);
      else if (keep === "max") column[place] = Math.max(before, value);
      else column[place] = before + (value - before) / (counts![place] + 1);
      if (counts) ++counts[place];
    }
    return column;
  });
  return [xs, ...columns];
}
