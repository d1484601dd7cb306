// The pure parts: what becomes of points before they are drawn, and the colours.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { transformWithEsbuild } from "vite";

async function address(name) {
  const file = new URL(`../src/${name}.ts`, import.meta.url);
  let { code } = await transformWithEsbuild(readFileSync(file, "utf8"), file.pathname);
  for (const [whole, name] of code.matchAll(/from "\.\/(\w+)"/g))
    code = code.replace(whole, `from "${await address(name)}"`);
  return "data:text/javascript," + encodeURIComponent(code);
}
const load = async (name) => import(await address(name));
const { align, envelopeOf, meanOf, rulerOf, smoothed, valueAt } = await load("curves");
const { dark, light } = await load("look");
const { groupsOf, labelsOf } = await load("groups");

const line = (n, f, step = 1) => ({
  x: Array.from({ length: n }, (_, i) => (i + 1) * step),
  y: Array.from({ length: n }, (_, i) => f(i + 1)),
});
const curve = (points, extremes = {}) => ({ step: points.x, ...points, low: null, high: null, ...extremes });

export const checks = {
  "align keeps the highest and the lowest of what falls together"() {
    const { x, y } = line(50_000, (i) => (i === 31_234 ? 99 : i === 777 ? -99 : Math.sin(i)));
    const [xs, high, low] = align(
      [
        { x, y, keep: "max" },
        { x, y, keep: "min" },
      ],
      0,
      50_000,
    );
    assert.ok(xs.length <= 1200);
    assert.equal(Math.max(...high.filter((v) => v != null)), 99);
    assert.equal(Math.min(...low.filter((v) => v != null)), -99);
    assert.ok(Math.abs(xs[high.indexOf(99)] - 31_234) <= 50_000 / 1198);
    assert.ok(xs.every((value, i) => i === 0 || value > xs[i - 1]));
  },
  "align takes the mean of what falls together"() {
    const { x, y } = line(40_000, (i) => i);
    const [xs, means] = align([{ x, y, keep: "mean" }], 0, 40_000);
    for (let i = 1; i < xs.length - 1; ++i)
      assert.ok(Math.abs(means[i] - xs[i]) <= 1, `${means[i]} at ${xs[i]}`);
  },
  "align in a zoom shows every point, and one beyond on either side"() {
    const { x, y } = line(50_000, (i) => i * i);
    const [xs, ys] = align([{ x, y, keep: "mean" }], 100.5, 110.5);
    assert.deepEqual(xs, [100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111]);
    assert.deepEqual(
      ys,
      xs.map((v) => v * v),
    );
  },
  "align tells a gap from a place where another line has a point"() {
    const [xs, a, b] = align(
      [
        { x: [1, 2, 3], y: [1, null, 3], keep: "mean" },
        { x: [1, 2.5], y: [5, 6], keep: "mean" },
      ],
      0,
      4,
    );
    assert.deepEqual(
      [xs, a, b],
      [
        [1, 2, 2.5, 3],
        [1, null, undefined, 3],
        [5, undefined, 6, undefined],
      ],
    );
  },
  "the mean goes as far as all seeds do, whatever their steps"() {
    const mean = meanOf([line(10, (i) => i), line(4, (i) => 4 * i, 2)]); // y = x and y = 2x
    assert.deepEqual(mean.x, [2, 3, 4, 5, 6, 7, 8]);
    mean.y.forEach((value, i) => assert.ok(Math.abs(value - 1.5 * mean.x[i]) < 1e-12));
  },
  "the envelope holds every extreme of every seed"() {
    const a = curve(
      line(100, () => 1),
      { low: new Array(100).fill(0), high: new Array(100).fill(2) },
    );
    a.high[41] = 50;
    const b = curve(
      line(30, () => 1, 3.7),
      { low: line(30, (i) => (i === 30 ? -9 : 1)).y, high: new Array(30).fill(1) },
    );
    const { low, high } = envelopeOf([a, b]);
    assert.equal(Math.max(...high), 50);
    assert.equal(Math.min(...low.filter((v) => v !== null)), -9);
  },
  "smoothing leaves straight lines as they are, and means what is within the window"() {
    const straight = line(50, (i) => 3 * i);
    smoothed(straight, 10)
      .y.slice(5, -5)
      .forEach((value, i) => assert.ok(Math.abs(value - straight.y[i + 5]) < 1e-9));
    const bumpy = line(101, (i) => (i * 7919) % 13);
    const direct = bumpy.y.slice(40, 61).reduce((a, b) => a + b) / 21; // x = 41 … 61
    assert.ok(Math.abs(smoothed(bumpy, 20).y[50] - direct) < 1e-9);
    assert.equal(smoothed(bumpy, 0), bumpy);
  },
  "a gap stays a gap when it is smoothed"() {
    const points = line(20, (i) => (i === 10 ? null : 1));
    assert.deepEqual(smoothed(points, 6).y, points.y);
  },
  "values between points lie on the line, and outside there are none"() {
    const points = { x: [1, 2, 4], y: [10, 20, null] };
    assert.deepEqual(
      [0.5, 1, 1.5, 2, 3, 4, 5].map((x) => valueAt(points, x)),
      [null, 10, 15, 20, null, null, null],
    );
  },
  "rulers take steps to epochs and to seconds"() {
    const epochs = [
      { epoch: 1, step: 100, train_seconds: 5 },
      { epoch: 2, step: 200, train_seconds: 25 },
    ];
    const epoch = rulerOf({ epochs }, "epoch"),
      time = rulerOf({ epochs }, "time");
    assert.deepEqual([50, 100, 150, 250].map(epoch), [0.5, 1, 1.5, 2.5]);
    assert.deepEqual([50, 100, 150, 250].map(time), [2.5, 5, 15, 35]);
    assert.equal(rulerOf({ epochs: [] }, "epoch"), null);
    assert.equal(rulerOf({ epochs: [] }, "step")(7), 7);
  },
  "a group is called by its title, or by what its folders have in common"() {
    const runs = [1, 2].map((seed) => ({
      id: `sweep/a-seed${seed}`,
      title: `sweep/a-seed${seed}`,
      group: "sweep/a",
      seed,
    }));
    const titled = [1, 2].map((seed) => ({ id: `t/c/b/seed-${seed}`, title: "B", group: "t/c/b", seed }));
    const groups = groupsOf({ tables: [], runs: [...runs, ...titled] });
    assert.deepEqual(
      groups.map(({ title, place }) => [title, place]),
      [
        ["sweep/a", "sweep"],
        ["B", "t / c"],
      ],
    );
  },
  "equal names are told apart by what differs in their folders"() {
    const labels = (...ids) => {
      const runs = ids.map((id) => ({ id, title: id.startsWith("?") ? id : "AdamW", group: id, seed: 1 }));
      return [...labelsOf(groupsOf({ tables: [], runs })).values()];
    };
    assert.deepEqual(labels("runs/x"), ["AdamW"]);
    assert.deepEqual(labels("x", "y", "?z"), ["AdamW · x", "AdamW · y", "?z"]);
    assert.deepEqual(labels("t/c10/adamw", "t/c100/adamw"), ["AdamW · c10", "AdamW · c100"]);
    assert.deepEqual(labels("t/c/adamw/seed-1", "t/c/adamw/seed-2"), ["AdamW · seed-1", "AdamW · seed-2"]);
    assert.deepEqual(labels("t/c/old", "t/c/new", "t/d/old"), [
      "AdamW · c · old",
      "AdamW · c · new",
      "AdamW · d",
    ]);
  },
  "deuteranopes can tell the lines of both themes apart, and from the paper"() {
    for (const theme of [light, dark]) {
      const colours = theme.lines.map(linear);
      assert.equal(colours.length, 8);
      for (let i = 0; i < 8; ++i) {
        const [dim, bright] = [luminance(colours[i]), luminance(linear(theme.paper))].sort((a, b) => a - b);
        assert.ok((bright + 0.05) / (dim + 0.05) >= 3, `${theme.lines[i]} on ${theme.paper}`);
        // 0.02 is about what can just be seen side by side.
        for (let j = 0; j < i; ++j)
          for (const see of [(colour) => colour, deuteranope]) {
            const distance = Math.hypot(
              ...oklab(see(colours[i])).map((value, k) => value - oklab(see(colours[j]))[k]),
            );
            assert.ok(distance > 0.085, `${theme.lines[i]} and ${theme.lines[j]}: ${distance}`);
          }
      }
    }
  },
};

const linear = (hex) =>
  [1, 3, 5]
    .map((i) => parseInt(hex.slice(i, i + 2), 16) / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
const times = (matrix, v) => matrix.map((row) => row[0] * v[0] + row[1] * v[1] + row[2] * v[2]);
const luminance = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
// Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
const deuteranope = (v) =>
  times(
    [
      [0.367322, 0.860646, -0.227968],
      [0.280085, 0.672501, 0.047413],
      [-0.01182, 0.04294, 0.968881],
    ],
    v,
  ).map((x) => Math.min(1, Math.max(0, x)));
const oklab = (v) => {
  const cones = times(
    [
      [0.4122214708, 0.5363325363, 0.0514459929],
      [0.2119034982, 0.6806995451, 0.1073969566],
      [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    v,
  ).map(Math.cbrt);
  return times(
    [
      [0.2104542553, 0.793617785, -0.0040720468],
      [1.9779984951, -2.428592205, 0.4505937099],
      [0.0259040371, 0.7827717662, -0.808675766],
    ],
    cones,
  );
};
