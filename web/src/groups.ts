// Runs that differ in their seed alone are one group: one line in the legend, one colour.

import type { Report, Run, State } from "./data";
import { dashes, type Look } from "./look";

export interface Group {
  key: string;
  title: string;
  place: string; // the folder that its folder is in: a column of a table, mostly
  runs: Run[]; // in the order of their seeds
}

export function groupsOf(report: Report): Group[] {
  const groups = new Map<string, Group>();
  for (const run of report.runs) {
    let group = groups.get(run.group);
    if (!group) {
      const parts = run.group.split("/");
      if (parts.length > 1 && /^seed\W?\d+$/.test(parts[parts.length - 1])) parts.pop(); // a group of one
      group = { key: run.group, title: run.title, place: parts.slice(0, -1).join(" / "), runs: [] };
      groups.set(run.group, group);
    }
    group.runs.push(run);
    // Runs without titles are called by their folders, and a group by what these have in common.
    if (run.title !== group.title) group.title = group.key;
  }
  for (const group of groups.values())
    group.runs.sort((a, b) => (a.seed ?? 0) - (b.seed ?? 0) || (a.id < b.id ? -1 : 1));
  return inOrderOfTables(report, [...groups.values()]);
}

/** As the tables list them; others as they come. */
function inOrderOfTables(report: Report, groups: Group[]): Group[] {
  const order = new Map<string, number>();
  for (const table of report.tables)
    table.columns.forEach((_, column) => {
      for (const row of table.rows)
        for (const id of row.cells[column]?.runs ?? []) if (!order.has(id)) order.set(id, order.size);
    });
  const rank = (group: Group) => Math.min(...group.runs.map((run) => order.get(run.id) ?? Infinity));
  return groups
    .map((group, i) => ({ group, i, rank: rank(group) }))
    .sort((a, b) => (a.rank === b.rank ? a.i - b.i : a.rank - b.rank))
    .map(({ group }) => group);
}

/** How many folders these paths have in common from the start; at least one of each is left. */
function shared(paths: string[][]): number {
  if (paths.length === 0) return 0;
  let n = 0;
  const most = Math.min(...paths.map(({ length }) => length)) - 1;
  while (n < most && paths.every((path) => path[n] === paths[0][n])) ++n;
  return n;
}

/** What to call a group beside others: with what differs in their places, and in their folders where names are equal. */
export function labelsOf(groups: Group[]): Map<string, string> {
  const places = [...new Set(groups.map(({ place }) => place))];
  const known = shared(places.filter((place) => place !== "").map((place) => place.split(" / ")));
  const named = new Map<string, Group[]>();
  for (const group of groups) {
    const place = group.title === group.key || places.length === 1 ? "" : group.place;
    const where = place.split(" / ").slice(known).join(" / ");
    const label = where === "" ? group.title : `${group.title} · ${where}`;
    named.set(label, [...(named.get(label) ?? []), group]);
  }
  const labels = new Map<string, string>();
  for (const [label, namesakes] of named) {
    const paths = namesakes.map(({ key }) => key.split("/"));
    const n = shared(paths);
    namesakes.forEach(({ key, title }, i) => {
      const alone = namesakes.length === 1 || title === key;
      labels.set(key, alone ? label : `${label} · ${paths[i].slice(n).join("/")}`);
    });
  }
  return labels;
}

/**
 * The looks of the chosen groups. A control has the colour of what it controls for, and a dash. Whoever keeps being chosen
 * keeps its colour.
 */
export class Looks {
  private slots = new Map<string, number>();
  private looks = new Map<string, Look>();

  assign(report: Report, chosen: Group[]): void {
    const family = new Map<string, string>();
    const groupOf = new Map(report.runs.map((run) => [run.id, run.group]));
    for (const table of report.tables)
      for (const row of table.rows) {
        if (row.control_of === null) continue;
        const parent = table.rows.find((other) => other.key === row.control_of);
        row.cells.forEach((cell, column) => {
          const own = groupOf.get(cell?.runs[0] ?? ""),
            its = groupOf.get(parent?.cells[column]?.runs[0] ?? "");
          if (own !== undefined && its !== undefined) family.set(own, its);
        });
      }
    const families = chosen.map((group) => family.get(group.key) ?? group.key);
    for (const name of this.slots.keys()) if (!families.includes(name)) this.slots.delete(name);
    for (const name of families) {
      if (this.slots.has(name)) continue;
      const taken = new Set(this.slots.values());
      let slot = 0;
      while (taken.has(slot)) ++slot;
      this.slots.set(name, slot);
    }
    const members = new Map<string, number>();
    this.looks = new Map(
      chosen.map((group, i) => {
        const name = families[i],
          slot = this.slots.get(name)!;
        const member = name === group.key ? 0 : (members.get(name) ?? 0) + 1;
        if (member > 0) members.set(name, member);
        // Beyond the last colour they come again, with other dashes.
        const dash = dashes[(member + Math.floor(slot / 8)) % dashes.length];
        return [group.key, { colour: slot, dash, marker: i }];
      }),
    );
  }

  of(key: string): Look | null {
    return this.looks.get(key) ?? null;
  }
}

export const stateMarks: Record<State, string> = {
  finished: "✓",
  running: "●",
  stopped: "■",
  stuck: "!",
  unknown: "?",
  damaged: "×",
};
