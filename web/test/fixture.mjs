// Runs to look at: a small table that sadam trains itself, and copies of its runs with events of our own.

import { execFileSync, spawn } from "node:child_process";
import {
  appendFileSync,
  closeSync,
  cpSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

export const oddName = `<img src=x onerror=alert(1)>"'&<script>alert(1)`;
export const longSteps = 500_000;
export const peakStep = 333_333;
export const peakLoss = 77;

const table = "table1-quick-3-epochs/synthetic";

/** A table of two methods and a control with three seeds: a second or two. */
export function makeTable(sadam, root) {
  execFileSync(
    sadam,
    [
      "reproduce",
      "table1",
      "--quick",
      "--epochs",
      "3",
      "--seeds",
      "1-3",
      "--only",
      "synthetic/adamw,synthetic/sadam-k2",
      "--controls",
      "matched",
      "--set",
      "data.train_images=512",
      "--set",
      "data.test_images=200",
      "--set",
      "watch.chatter=2",
      "--set",
      "train.threads=1",
      "--root",
      root,
      "--quiet",
    ],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  return { root, adamw: join(root, table, "adamw/seed-1"), sadam: join(root, table, "sadam-k2/seed-1") };
}

export const stepLine = (step, values = {}) =>
  JSON.stringify({
    event: "step",
    step,
    epoch: 1,
    loss: 4 / Math.sqrt(step) + 0.2 * Math.sin(step),
    lr: 0.001,
    lgi: 0.5 + 0.4 * Math.sin(step / 7),
    brake: 0.4,
    probed: true,
    within_noise: false,
    skipped: false,
    non_finite_probes: 0,
    probe_seconds: 0,
    ...values,
  }) + "\n";

/** A copy of a run, with other events if they are given. */
export function copyRun(from, to, lines) {
  mkdirSync(join(to, ".."), { recursive: true });
  cpSync(from, to, { recursive: true });
  if (lines === undefined) return to;
  writeFileSync(join(to, "events.jsonl"), lines);
  // They say how long the events were.
  for (const file of ["checkpoint.pt", "checkpoint.previous.pt", "best.pt"])
    rmSync(join(to, file), { force: true });
  return to;
}

export const grow = (run, from, to) => {
  let lines = "";
  for (let step = from; step <= to; ++step) lines += stepLine(step);
  appendFileSync(join(run, "events.jsonl"), lines);
};

/** Half a million steps, one of them with a loss like no other. */
export function makeLongRun(from, to, peakAt = peakStep) {
  copyRun(from, to, "");
  const file = openSync(join(to, "events.jsonl"), "w");
  for (let step = 1; step <= longSteps; ) {
    let lines = "";
    for (const end = Math.min(longSteps, step + 9999); step <= end; ++step)
      lines += stepLine(step, step === peakAt ? { loss: peakLoss } : {});
    writeSync(file, lines);
  }
  closeSync(file);
}

/** With a line in the middle that is no event. */
export function makeBrokenRun(from, to) {
  const lines = readFileSync(join(from, "events.jsonl"), "utf8").split("\n");
  lines.splice(5, 0, '{"event": "step", "step": garb\u0007age');
  copyRun(from, to, lines.join("\n"));
}

/** `sadam serve`, and its address once it has said it. */
export async function serve(sadam, root, port = 0) {
  const process_ = spawn(sadam, ["serve", root, "--port", String(port)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await new Promise((resolve, reject) => {
    let said = "";
    process_.stdout.on("data", (text) => {
      said += text;
      const found = said.match(/https?:\/\/\S+/);
      if (found) resolve(found[0]);
    });
    process_.on("exit", (code) =>
      reject(new Error(`sadam serve ended with ${code} before it said its address: ${said}`)),
    );
  });
  const ended = new Promise((resolve) => process_.on("exit", resolve));
  return {
    url,
    port: Number(new URL(url).port),
    stop: async (signal = "SIGINT") => {
      process_.kill(signal);
      await ended;
    },
  };
}

/** The page of a report with other data in it. */
export function withData(html, change) {
  const place = /(id="sadam-data">)([\s\S]*?)(<\/script>)/;
  const report = JSON.parse(html.match(place)[2]);
  change(report);
  const text = JSON.stringify(report).replace(/</g, "\\u003c");
  return html.replace(place, (_, before, __, after) => before + text + after);
}

/** A table as wide as they come: three columns, all that a cell can hold, the longest names. */
export function widen(report) {
  const ids = (row) => report.runs.filter(({ title }) => title === row).map(({ id }) => id);
  const difference = (mean) => ({
    mean,
    half_width: 31.98,
    pairs: [1, 2, 3].map((seed) => ({ seed, difference: mean + 12 * (seed - 2) })),
  });
  const rows = [
    ["prox_sgd", "Prox-SGD", null],
    ["adamw", "AdamW", null],
    ["sadam-k2", "S-Adam k=2, authors' code", null],
    ["sadam-k2.matched", "S-Adam k=2, authors' code, matched", "sadam-k2"],
    ["sadam-k2.shuffled", "S-Adam k=2, authors' code, shuffled", "sadam-k2"],
    ["adamw.cosine", "AdamW, cosine schedule", null],
  ];
  const columns = ["CIFAR-100, 2 bits", "TinyImageNet, 4 bits", "Imagewoof, 4 bits"];
  report.tables = [
    {
      key: "wide",
      title: "Table 1: quantization-aware training, best test accuracy and convergence time",
      baseline: "adamw",
      columns: columns.map((title, i) => ({ key: `c${i}`, title })),
      rows: rows.map(([key, title, control_of], r) => ({
        key,
        title,
        control_of,
        baseline: key === "prox_sgd" || key === "sadam-k2" ? "adamw" : null,
        cells: columns.map((_, c) => ({
          paper: control_of === null ? 14.13 + r : null,
          seeds: 3,
          mean: 51.35 + r,
          deviation: 10.06,
          last_mean: 50.35 - r,
          last_deviation: 11.06,
          less_paper: control_of === null ? 37.22 : null,
          less_baseline: key === "prox_sgd" || key === "sadam-k2" ? difference(22.57 - 6 * r) : null,
          less_control: key === "sadam-k2" ? difference(-22.26) : null,
          less_shuffled: key === "sadam-k2" ? difference(13.26) : null,
          less_replayed: key === "sadam-k2" ? difference(4.5) : null,
          less_cosine: key === "sadam-k2" ? difference(-3.5) : null,
          seconds: key === "prox_sgd" ? null : 1286.53,
          paper_seconds: control_of === null ? 12322.5 : null,
          mean_brake: key.startsWith("sadam") ? 0.446 : null,
          runs: c === 0 ? ids(title) : [],
        })),
      })),
      notes: ["3 seeds"],
    },
  ];
}
