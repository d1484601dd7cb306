// The list of runs: groups of seeds, with a filter.

import type { Run, State } from "./data";
import { button, h, renew } from "./dom";
import { count, countBy, fixed, plural } from "./format";
import { labelsOf, stateMarks, type Group } from "./groups";
import { swatch } from "./markers";
import type { View } from "./view";

export function stateChip(state: State): HTMLElement {
  return h(
    "span",
    { class: `state ${state}` },
    h("span", { class: "mark", "aria-hidden": "true" }, stateMarks[state] ?? "?"),
    state,
  );
}

export class Chooser {
  readonly element: HTMLElement;
  private list = h("div", { class: "run-list" });
  private filter: HTMLInputElement;
  private said = h("p", { class: "said", role: "status" });

  constructor(private view: View) {
    this.filter = h("input", {
      type: "search",
      id: "filter",
      placeholder: "name, optimizer, state",
      autocomplete: "off",
      spellcheck: "false",
      input: () => this.draw(),
    });
    this.element = h(
      "details",
      { class: "chooser", open: true },
      h("summary", {}, h("h2", {}, "Runs")),
      h("label", { class: "filter", for: "filter" }, h("span", {}, "Filter"), this.filter),
      h(
        "div",
        { class: "tools" },
        button("Choose all shown", {
          click: () =>
            view.choose(
              this.shown().flatMap((group) => group.runs.map((run) => run.id)),
              true,
            ),
        }),
        button("Choose none", { click: () => view.chooseOnly([]) }),
      ),
      this.said,
      this.list,
    );
    addEventListener("keydown", (event) => {
      const typing = event.target instanceof HTMLInputElement && event.target.type === "search";
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey) return;
      (this.element as HTMLDetailsElement).open = true;
      this.filter.focus();
      event.preventDefault();
    });
  }

  /** Groups of which some run has all the words of the filter. */
  private shown(): Group[] {
    const words = this.filter.value
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== "");
    return this.view.groups.flatMap((group) => {
      const runs = group.runs.filter((run) => {
        const text = [run.id, run.title, run.optimizer, run.state].join(" ").toLowerCase();
        return words.every((word) => text.includes(word));
      });
      return runs.length > 0 ? [{ ...group, runs }] : [];
    });
  }

  draw(): void {
    const groups = this.shown(),
      all = this.view.groups;
    const runs = (of: Group[]) => of.reduce((sum, group) => sum + group.runs.length, 0);
    const chosen = this.view.chosen().reduce((sum, each) => sum + each.runs.length, 0);
    this.said.textContent =
      runs(groups) < runs(all)
        ? `${count(runs(groups))} of ${plural(runs(all), "run")} shown, ${count(chosen)} chosen`
        : `${plural(runs(all), "run")}, ${count(chosen)} chosen`;
    const places = new Map<string, Group[]>();
    for (const group of groups) places.set(group.place, [...(places.get(group.place) ?? []), group]);
    // Among all, so that the filter changes no name.
    const namesAt = (place: string) => labelsOf(all.filter((group) => group.place === place));
    renew(
      this.list,
      ...[...places].map(([place, members]) => {
        const names = namesAt(place);
        return h(
          "fieldset",
          {},
          h("legend", {}, place === "" ? (this.view.report?.root ?? "") : place),
          ...members.map((group) => this.group(group, names.get(group.key)!)),
        );
      }),
    );
  }

  private group(group: Group, name: string): Element {
    const ids = group.runs.map((run) => run.id);
    const chosen = ids.filter((id) => this.view.isChosen(id)).length;
    const box = h("input", {
      type: "checkbox",
      "data-key": `group ${group.key}`,
      checked: chosen === ids.length,
      change: (event) => this.view.choose(ids, (event.target as HTMLInputElement).checked),
    });
    box.indeterminate = chosen > 0 && chosen < ids.length;
    const unusual = [...countBy(group.runs.map(({ state }) => state))].filter(
      ([state]) => state !== "finished",
    );
    const only = group.runs.length === 1 ? group.runs[0] : null;
    const head = h(
      "label",
      { title: group.key },
      box,
      swatch(this.view.looks.of(group.key)),
      h("span", { class: "name" }, name),
    );
    const facts = h(
      "span",
      { class: "facts" },
      ...unusual.map(([state, n]) => h("span", {}, stateChip(state), n > 1 ? ` ${n} ` : " ")),
      only ? progress(only) : null,
    );
    if (only)
      return h(
        "div",
        { class: "run-group" },
        head,
        facts,
        only.problem ? h("p", { class: "problem" }, only.problem) : null,
      );
    return h(
      "div",
      { class: "run-group" },
      head,
      facts,
      h(
        "details",
        { class: "seeds", "data-key": `seeds ${group.key}` },
        h("summary", {}, plural(group.runs.length, "seed"), h("span", { class: "unseen" }, ` of ${name}`)),
        ...group.runs.map((run) =>
          h(
            "div",
            { class: "seed" },
            h(
              "label",
              { title: run.id },
              h("input", {
                type: "checkbox",
                "data-key": `run ${run.id}`,
                checked: this.view.isChosen(run.id),
                change: (event) => this.view.choose([run.id], (event.target as HTMLInputElement).checked),
              }),
              h("span", {}, run.seed === null ? run.id : `seed ${run.seed}`),
            ),
            h(
              "span",
              { class: "facts" },
              run.state === "finished" ? null : stateChip(run.state),
              progress(run),
            ),
            run.problem ? h("p", { class: "problem" }, run.problem) : null,
          ),
        ),
      ),
    );
  }
}

function progress(run: Run): HTMLElement {
  const parts = [];
  if (run.state !== "finished" && run.epochs !== null) parts.push(`epoch ${run.epochs_done}/${run.epochs}`);
  if (run.best !== null) parts.push(`${fixed(run.best)} %`);
  return h("span", { class: "progress" }, parts.join(" · "));
}
