// What the chosen runs were told, where they ran, and what is not as in the paper.

import type { Details, Run } from "./data";
import { h, renew, rowHead, scrollTable } from "./dom";
import { count, countBy, duration, fixed, plural, short } from "./format";
import { stateChip } from "./chooser";
import { swatch } from "./markers";
import type { Chosen, View } from "./view";

const mostColumns = 12;

export class Recipes {
  readonly element = h("div");
  constructor(private view: View) {}

  draw(): void {
    const chosen = this.view.chosen();
    const known = chosen.flatMap((each) => {
      const runs = each.runs.flatMap((run) => {
        const details = this.view.details(run.id);
        return details ? [{ run, details }] : [];
      });
      return runs.length > 0 ? [{ ...each, known: runs }] : [];
    });
    if (known.length === 0) {
      const text = chosen.length === 0 ? "Choose runs to see their recipes." : "Reading the chosen runs …";
      return renew(this.element, h("p", { class: "empty" }, text));
    }
    renew(
      this.element,
      this.fromPaper(known),
      this.between(known.slice(0, mostColumns)),
      ...known.map((each) => this.group(each)),
    );
  }

  /** Sentences that hold for all groups come once; the others with their group. */
  private fromPaper(known: (Chosen & { known: { details: Details }[] })[]): Element | null {
    const of = known.map(({ label, known: runs }) => ({
      label,
      sentences: [...new Set(runs.flatMap(({ details }) => details.differs))],
    }));
    const all = [...new Set(of.flatMap(({ sentences }) => sentences))];
    if (all.length === 0) return null;
    const everywhere = all.filter((sentence) => of.every(({ sentences }) => sentences.includes(sentence)));
    const rest = of
      .map(({ label, sentences }) => ({
        label,
        sentences: sentences.filter((each) => !everywhere.includes(each)),
      }))
      .filter(({ sentences }) => sentences.length > 0);
    return h(
      "div",
      { class: "card" },
      h("h3", {}, "What differs from the paper"),
      h(
        "ul",
        { class: "notes" },
        ...everywhere.map((sentence) => h("li", {}, sentence)),
        ...rest.map(({ label, sentences }) => h("li", {}, h("b", {}, label), `: ${sentences.join("; ")}`)),
      ),
    );
  }

  private between(known: (Chosen & { known: { details: Details }[] })[]): Element | null {
    if (known.length < 2) return null;
    const values = known.map(({ known: [{ details }] }) => new Map(details.recipe));
    const fields = [...new Set(values.flatMap((map) => [...map.keys()]))].filter(
      (field) => field !== "seed" && new Set(values.map((map) => map.get(field) ?? "–")).size > 1,
    );
    if (fields.length === 0) return null;
    const usual = (field: string) =>
      [...countBy(values.map((map) => map.get(field) ?? "–"))].sort((a, b) => b[1] - a[1])[0][0];
    return h(
      "div",
      { class: "card" },
      h("h3", {}, "What differs between the chosen groups"),
      scrollTable(
        { key: "between", name: "Differences between recipes", look: "plain" },
        ["group", ...fields],
        known.map(({ label, group }, i) => [
          rowHead(swatch(this.view.looks.of(group.key)), label),
          ...fields.map((field) => {
            const value = values[i].get(field) ?? "–";
            return h("td", { class: value === usual(field) ? "usual" : null }, value === "" ? "–" : value);
          }),
        ]),
      ),
    );
  }

  private group({ group, label, known }: Chosen & { known: { run: Run; details: Details }[] }): Element {
    const title = known.length > 1 ? plural(known.length, "run") : known[0].run.state;
    return h(
      "details",
      { class: "recipe", "data-key": `recipe ${group.key}` },
      h("summary", {}, swatch(this.view.looks.of(group.key)), h("span", {}, label), h("small", {}, title)),
      h("h4", {}, "Runs"),
      runTable(known),
      ...known.flatMap(({ run, details }) =>
        details.notes.map((note) =>
          h("p", { class: "note" }, known.length > 1 ? `Seed ${run.seed ?? run.id}: ${note}` : note),
        ),
      ),
      regimes(known),
      h(
        "div",
        { class: "two" },
        h(
          "div",
          {},
          h("h4", {}, known.length > 1 ? "Recipe (seed aside)" : "Recipe"),
          pairs(known[0].details.recipe.filter(([field]) => known.length === 1 || field !== "seed")),
        ),
        h(
          "div",
          {},
          h("h4", {}, known.length > 1 ? `Environment of seed ${known[0].run.seed ?? "?"}` : "Environment"),
          pairs(known[0].details.environment),
        ),
      ),
    );
  }
}

function runTable(known: { run: Run }[]): Element {
  return scrollTable(
    { key: `runs ${known[0].run.group}`, name: "Runs of this group", look: "plain figures" },
    ["run", "state", "steps", "epochs", "best, %", "last, %", "mean brake", "mean ρ", "time"],
    known.map(({ run }) => [
      rowHead(run.id),
      h("td", {}, stateChip(run.state), run.problem ? h("p", { class: "problem" }, run.problem) : null),
      count(run.steps),
      `${run.epochs_done}${run.epochs === null ? "" : `/${run.epochs}`}`,
      fixed(run.best),
      fixed(run.last),
      fixed(run.mean_brake, 3),
      fixed(run.mean_lgi, 3),
      duration(run.seconds),
    ]),
  );
}

function regimes(known: { run: Run; details: Details }[]): Element | null {
  const rows = known.flatMap(({ run, details }) => details.regimes.map((regime) => ({ run, regime })));
  if (rows.length === 0) return null;
  return h(
    "div",
    {},
    h("h4", {}, "Changes of regime"),
    scrollTable(
      { key: `regimes ${known[0].run.group}`, name: "Changes of regime", look: "plain figures" },
      ["seed", "quantity", "step", "before", "after", "score"],
      rows.map(({ run, regime }) => [
        String(run.seed ?? run.id),
        regime.quantity === "lgi" ? "ρ" : regime.quantity,
        count(regime.step),
        short(regime.before),
        short(regime.after),
        short(regime.score),
      ]),
    ),
  );
}

const pairs = (list: [string, string][]) =>
  h(
    "dl",
    {},
    ...list.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value === "" ? "–" : value)]),
  );
