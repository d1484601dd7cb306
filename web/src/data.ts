// What the program tells the page. src/page/ writes it, and nothing else does; the page computes no
// statistics of its own. A value that is missing or not finite is null. Accuracies are in per cent.

/** The whole story. `sadam report` writes one into the page; `sadam serve` answers GET /api/report with one. */
export interface Report {
  program: string; // "sadam 0.1.0"
  made: string; // ISO 8601, UTC
  root: string; // the folder that the runs lie in, as the user gave it
  live: boolean; // served: `runs` have summaries alone, and GET /api/run?id=... has the rest
  tables: Table[];
  runs: Run[];
  pictures: Picture[]; // landscapes and figures that lie beside the runs
  sheets: Sheet[]; // the lab's tables that lie beside the runs
}

/** A table of the paper, or one of ours, as `sadam reproduce` shows it. */
export interface Table {
  key: string; // "table1"
  title: string;
  baseline: string | null; // the key of the row that defines convergence
  columns: { key: string; title: string }[]; // the means of columns, too
  rows: Row[];
  notes: string[]; // what differs from the paper, how to read it, how many comparisons
}

export interface Row {
  key: string;
  title: string;
  control_of: string | null; // the key of the row that this one controls for
  baseline: string | null; // the key of the row that `less_baseline` is counted from
  cells: (Cell | null)[]; // a column each
}

export interface Cell {
  paper: number | null;
  seeds: number; // runs that finished
  mean: number | null; // best epoch
  deviation: number | null; // standard deviation over seeds
  last_mean: number | null; // last epoch
  last_deviation: number | null;
  less_paper: number | null; // mean - paper
  less_baseline: Difference | null; // to the row's baseline, seed by seed, last epoch
  less_control: Difference | null; // to its matched control, seed by seed, last epoch
  less_shuffled: Difference | null; // to its shuffled control
  less_replayed: Difference | null; // to its replayed control
  less_cosine: Difference | null; // to AdamW with a cosine schedule
  seconds: number | null; // of training until it converged, mean over the seeds that did
  paper_seconds: number | null;
  mean_brake: number | null;
  runs: string[]; // ids, in the order of their seeds
}

export interface Difference {
  mean: number;
  half_width: number | null; // of the 95 % interval; null with fewer than two pairs
  pairs: { seed: number; difference: number }[];
}

export type State = "finished" | "running" | "stopped" | "stuck" | "unknown" | "damaged";

export interface Run {
  id: string; // its folder below the root, "table1/cifar100/adamw/seed-42"
  state: State;
  problem: string; // one sentence, "" if nothing is wrong
  title: string; // "S-Adam k=2, authors' code" or the id
  optimizer: string; // for grouping: runs that differ in their seed alone share `group`
  group: string;
  seed: number | null;
  steps: number;
  epochs_done: number;
  epochs: number | null; // asked for
  best: number | null;
  last: number | null;
  mean_brake: number | null;
  mean_lgi: number | null;
  seconds: number | null;
  stamp: string; // changes whenever the run's files do
  details: Details | null; // null in a live report's list
}

export interface Details {
  recipe: [string, string][]; // field and value, as resolved
  environment: [string, string][]; // versions, device, date, command
  differs: string[]; // sentences: what is not as in the paper
  epochs: Epoch[];
  /** loss, lgi, brake, lr, residual, chatter, flips: those that the run recorded. */
  series: Record<string, Series>;
  histograms: Record<string, Histogram>; // lgi, brake
  regimes: { step: number; quantity: string; before: number; after: number; score: number }[];
  notes: string[];
}

export interface Epoch {
  epoch: number;
  step: number;
  test_loss: number | null;
  test_accuracy: number | null;
  validation_accuracy: number | null;
  train_seconds: number | null;
}

/** Steps in buckets of equal length, at most 2,000 of them: no peak is lost, since each keeps its extremes. */
export interface Series {
  step: number[]; // the last step of each bucket
  mean: (number | null)[];
  min: (number | null)[]; // [] where every step is here
  max: (number | null)[];
}

export interface Histogram {
  width: number; // of a bin; the first begins at 0
  counts: number[]; // as many in every histogram
}

export interface Picture {
  id: string;
  title: string;
  svg: string | null; // as text, made by sadam
  png: string | null; // base64
}

export interface Sheet {
  id: string;
  title: string;
  header: string[];
  rows: string[][];
}

// Live, besides GET /api/report and GET /api/run?id=ID (a Run with details; 404 when it is gone):
// GET /api/changes is a stream of server-sent events. `event: runs` has as data a JSON list of the stamps of all runs,
// [{"id": ..., "stamp": ...}]: one at once, and one within a second of every change. A comment line every 10 seconds
// keeps it alive.
