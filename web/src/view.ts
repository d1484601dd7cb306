// What the page shows: the report, and what its reader chose. Sections draw it; they change it through its methods.

import type { Axis } from "./curves";
import type { Cell, Details, Report, Run } from "./data";
import { groupsOf, labelsOf, Looks, type Group } from "./groups";
import type { Look } from "./look";

export type Part = "report" | "choice" | "details" | "drawing";

/** A chosen group with those of its runs that are chosen. */
export interface Chosen {
  group: Group;
  label: string;
  runs: Run[];
}

export interface Zoom {
  axis: Axis;
  from: number;
  to: number;
}

const firstChoice = 8; // groups that are chosen when the page opens

export class View {
  report: Report | null = null;
  groups: Group[] = [];
  looks = new Looks();
  axis: Axis = "epoch";
  smoothing = 2; // of the whole width, in per cent
  seeds = true;
  extremes = true;
  zoom: Zoom | null = null;
  logarithmic = new Set<string>();

  private chosenIds = new Set<string>();
  private own = false; // the reader chose; until then the page does, whenever runs appear
  private allDetails = new Map<string, Details>();
  private listeners: ((parts: Set<Part>) => void)[] = [];
  private changed = new Set<Part>();

  constructor() {
    const kept = recall();
    if (kept) {
      this.chosenIds = new Set(kept.chosen);
      this.own = true;
      this.axis = kept.axis;
      this.smoothing = kept.smoothing;
    }
  }

  /** Listeners run once a frame, with everything that has changed since. */
  listen(listener: (parts: Set<Part>) => void): void {
    this.listeners.push(listener);
  }

  change(part: Part): void {
    if (this.changed.size === 0)
      requestAnimationFrame(() => {
        const parts = this.changed;
        this.changed = new Set();
        for (const listener of this.listeners) listener(parts);
      });
    this.changed.add(part);
  }

  /** Of the group whose result a cell is. */
  lookOf(cell: Cell): Look | null {
    const run = this.report?.runs.find(({ id }) => id === cell.runs[0]);
    return run ? this.looks.of(run.group) : null;
  }

  setReport(report: Report): void {
    const whole = new Set(
      this.groups.filter((group) => group.runs.every((run) => this.isChosen(run.id))).map(({ key }) => key),
    );
    // A choice that was kept of other runs is none.
    if (!this.report && this.chosenIds.size > 0 && !report.runs.some(({ id }) => this.isChosen(id)))
      this.own = false;
    this.report = report;
    this.groups = groupsOf(report);
    if (!this.own) this.chooseFirst(report);
    // Who chose all seeds of a group also wants those that come later.
    for (const group of this.groups)
      if (whole.has(group.key)) for (const run of group.runs) this.chosenIds.add(run.id);
    this.looks.assign(
      report,
      this.chosen().map(({ group }) => group),
    );
    this.change("report");
  }

  setDetails(id: string, details: Details | null): void {
    if (details) this.allDetails.set(id, details);
    else this.allDetails.delete(id);
    if (this.isChosen(id)) this.change("details");
  }

  details(id: string): Details | null {
    return this.allDetails.get(id) ?? null;
  }

  isChosen(id: string): boolean {
    return this.chosenIds.has(id);
  }

  chosen(): Chosen[] {
    const groups = this.groups.filter((group) => group.runs.some((run) => this.isChosen(run.id)));
    const labels = labelsOf(groups);
    return groups.map((group) => ({
      group,
      label: labels.get(group.key)!,
      runs: group.runs.filter((run) => this.isChosen(run.id)),
    }));
  }

  choose(ids: string[], wanted: boolean): void {
    const chosen = new Set(this.chosenIds);
    for (const id of ids)
      if (wanted) chosen.add(id);
      else chosen.delete(id);
    this.chooseOnly([...chosen]);
  }

  chooseOnly(ids: string[]): void {
    if (this.groups.length === 0) return; // where there is nothing to choose from, nothing was chosen
    this.chosenIds = new Set(ids);
    this.own = true;
    if (this.report)
      this.looks.assign(
        this.report,
        this.chosen().map(({ group }) => group),
      );
    this.keep();
    this.change("choice");
  }

  setAxis(axis: Axis): void {
    this.axis = axis;
    this.keep();
    this.change("drawing");
  }

  setSmoothing(smoothing: number): void {
    this.smoothing = smoothing;
    this.keep();
    this.change("drawing");
  }

  setZoom(zoom: Zoom | null): void {
    this.zoom = zoom;
    this.change("drawing");
  }

  /** The first column of a table that has runs; else the first groups. */
  private chooseFirst(report: Report): void {
    for (const table of report.tables)
      for (let column = 0; column < table.columns.length; ++column) {
        const ids = table.rows.flatMap((row) => row.cells[column]?.runs ?? []);
        if (ids.length > 0) return void (this.chosenIds = new Set(ids));
      }
    this.chosenIds = new Set(
      this.groups.slice(0, firstChoice).flatMap((group) => group.runs.map((run) => run.id)),
    );
  }

  private keep(): void {
    if (!this.own) return;
    try {
      const kept: Kept = { chosen: [...this.chosenIds], axis: this.axis, smoothing: this.smoothing };
      sessionStorage.setItem(storageKey(), JSON.stringify(kept));
    } catch {
      /* A browser may refuse to store anything; then a reload forgets. */
    }
  }
}

const storageKey = () => `sadam ${location.pathname}`;

interface Kept {
  chosen: string[];
  axis: Axis;
  smoothing: number;
}

function recall(): Kept | null {
  try {
    return JSON.parse(sessionStorage.getItem(storageKey()) ?? "null");
  } catch {
    return null;
  }
}
