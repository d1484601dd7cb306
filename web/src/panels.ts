// The charts of the chosen runs, over one axis and with one zoom.

import { Chart, type Drawing, type Host, type Kind, type Trace } from "./chart";
import { curveOf, envelopeOf, meanOf, rulerOf, smoothed, type Axis, type Curve, type Ruler } from "./curves";
import type { Run } from "./data";
import { Controls } from "./controls";
import { h, renew } from "./dom";
import type { Rows } from "./download";
import { histogramStrips } from "./histograms";
import { StripChart, type Strips } from "./strips";
import type { Chosen, View } from "./view";

interface Panel {
  id: string;
  title: string;
  empty: string;
  kinds: Kind[];
}

const panels: Panel[] = [
  {
    id: "curves",
    title: "Curves",
    empty: "The chosen runs have no finished step yet.",
    kinds: [
      { key: "test_accuracy", title: "Test accuracy", unit: "%" },
      { key: "validation_accuracy", title: "Validation accuracy", unit: "%" },
      { key: "test_loss", title: "Test loss", canBeLogarithmic: true },
      { key: "loss", title: "Training loss, step by step", canBeLogarithmic: true },
      {
        key: "lr",
        title: "Learning rate",
        canBeLogarithmic: true,
        limits: [0, null],
        note: "What the schedule asks for. S-Adam multiplies it by the brake, which has a chart of its own.",
      },
    ],
  },
  {
    id: "probe",
    title: "What the probe saw",
    empty: "None of the chosen runs probes. Choose a run of S-Adam.",
    kinds: [
      {
        key: "lgi",
        title: "Instability ρ",
        canBeLogarithmic: true,
        limits: [0, null],
        note: "How much the loss scatters around the weights. 0 is smooth.",
      },
      { key: "brake", title: "Brake", limits: [0, 1], note: "The factor on each step. 1 is no brake." },
      { key: "residual", title: "Residual of the slopes", canBeLogarithmic: true },
    ],
  },
  {
    id: "chattering",
    title: "Chattering",
    empty: "",
    kinds: [
      {
        key: "chatter",
        title: "Chatter",
        limits: [0, 1],
        note: "1 − net displacement / length of the path, over a window of steps. 1 is running on the spot.",
      },
      {
        key: "flips",
        title: "Flips",
        limits: [0, null],
        note: "The share of coordinates whose update changed its sign.",
      },
    ],
  },
];

const manyPoints = 100;

export class Panels implements Host {
  readonly elements: HTMLElement[];
  private bodies = panels.map(() => h("div", { class: "grid" }));
  private charts = new Map<string, Chart>();
  private strips = new Map<string, StripChart>();
  private controls: Controls;
  private extent: [number, number] = [0, 1]; // of all that is there
  private range: [number, number] = [0, 1]; // of what is in view
  private axis: Axis = "epoch";

  constructor(private view: View) {
    this.controls = new Controls(view, this);
    this.elements = panels.map(({ id, title }, i) =>
      h(
        "section",
        { id, "aria-labelledby": `${id}-title` },
        h("h2", { id: `${id}-title` }, title),
        i === 0 ? this.controls.element : null,
        this.bodies[i],
      ),
    );
  }

  zoom(range: [number, number] | null): void {
    if (!range) return this.view.setZoom(null);
    const [first, last] = this.extent;
    const from = Math.max(first, Math.min(...range));
    const to = Math.min(last, Math.max(...range));
    if (to - from < (last - first) / 1e5) return;
    this.view.setZoom(from <= first && to >= last ? null : { axis: this.axis, from, to });
  }

  zoomBy(factor: number): void {
    const [from, to] = this.range;
    const middle = (from + to) / 2;
    this.zoom([middle - ((to - from) * factor) / 2, middle + ((to - from) * factor) / 2]);
  }

  /** Sideways by a share of what is in view, as far as there is something. */
  move(share: number): void {
    const [from, to] = this.range;
    const by = Math.max(this.extent[0] - from, Math.min(this.extent[1] - to, share * (to - from)));
    this.zoom([from + by, to + by]);
  }

  setLogarithmic(key: string, on: boolean): void {
    if (on) this.view.logarithmic.add(key);
    else this.view.logarithmic.delete(key);
    this.view.change("drawing");
  }

  draw(): void {
    const chosen = this.view.chosen();
    const rulers = this.rulers(chosen);
    const curves = new Map<string, { chosen: Chosen; run: Run; curve: Curve }[]>();
    for (const kind of panels.flatMap((panel) => panel.kinds))
      curves.set(kind.key, this.curves(kind.key, chosen, rulers));
    const ends = [...curves.values()].flat().flatMap(({ curve }) => curve.x[curve.x.length - 1] ?? []);
    this.extent = [0, Math.max(...ends, this.axis === "time" ? 1e-3 : 1)];
    const zoom = this.view.zoom?.axis === this.axis ? this.view.zoom : null;
    this.range = zoom ? [zoom.from, zoom.to] : this.extent;
    const [from, to] = this.range;
    this.controls.draw(chosen, this.axis, zoom !== null);
    panels.forEach((panel, p) => {
      const shown: Element[] = [];
      const later: (() => void)[] = [];
      for (const kind of panel.kinds) {
        const found = curves.get(kind.key)!;
        if (found.length === 0 || (kind.key === "lr" && isConstant(found.map(({ curve }) => curve))))
          continue;
        const drawing: Drawing = {
          axis: this.axis,
          from,
          to,
          logarithmic: this.view.logarithmic.has(kind.key),
          traces: this.traces(chosen, found),
        };
        const chart = this.chart(kind);
        shown.push(chart.element);
        later.push(() => chart.draw(drawing));
      }
      if (panel.id === "probe")
        for (const strips of [
          histogramStrips(this.view, "lgi", "Instability ρ, how often", "ρ"),
          histogramStrips(this.view, "brake", "Brake, how often", "brake"),
        ])
          if (strips) {
            const chart = this.strip(strips);
            shown.push(chart.element);
            later.push(() => chart.draw(strips));
          }
      this.elements[p].hidden = panel.empty === "" && shown.length === 0;
      const body = this.bodies[p];
      if (shown.length === 0) renew(body, h("p", { class: "empty" }, this.whyEmpty(panel, chosen)));
      else if (shown.length !== body.children.length || shown.some((each, i) => each !== body.children[i]))
        renew(body, ...shown);
      for (const each of later) each();
    });
  }

  /** Everything that the chosen runs recorded of it. */
  rows(key: string): Rows {
    const place = this.axis === "step" ? [] : [this.axis];
    const rows: Rows = [["group", "run", "seed", "step", ...place, "value", "lowest", "highest"]];
    const chosen = this.view.chosen();
    for (const { chosen: group, run, curve } of this.curves(key, chosen, this.rulers(chosen)))
      curve.step.forEach((step, i) => {
        const where = place.map(() => Number(curve.x[i].toPrecision(8)));
        const value = curve.y[i];
        rows.push([
          group.label,
          run.id,
          run.seed,
          step,
          ...where,
          value,
          curve.low?.[i] ?? value,
          curve.high?.[i] ?? value,
        ]);
      });
    return rows;
  }

  private chart(kind: Kind): Chart {
    let chart = this.charts.get(kind.key);
    if (!chart) this.charts.set(kind.key, (chart = new Chart(kind, this)));
    return chart;
  }

  private strip(strips: Strips): StripChart {
    let chart = this.strips.get(strips.key);
    if (!chart) this.strips.set(strips.key, (chart = new StripChart(strips)));
    return chart;
  }

  /** A run in its first epoch borrows the ruler of its group, or of anyone; without any the axis counts steps. */
  private rulers(chosen: Chosen[]): Map<string, Ruler> {
    const rulers = new Map<string, Ruler>();
    const ofGroup = new Map<string, Ruler>();
    let any: Ruler | null = null;
    this.axis = this.view.axis;
    for (const { group, runs } of chosen)
      for (const run of runs) {
        const details = this.view.details(run.id);
        const ruler = details && rulerOf(details, this.axis);
        if (!ruler) continue;
        rulers.set(run.id, ruler);
        ofGroup.set(group.key, ruler);
        any ??= ruler;
      }
    if (!any) {
      this.axis = "step";
      any = (step) => step;
    }
    for (const { group, runs } of chosen)
      for (const run of runs) if (!rulers.has(run.id)) rulers.set(run.id, ofGroup.get(group.key) ?? any);
    return rulers;
  }

  private curves(key: string, chosen: Chosen[], rulers: Map<string, Ruler>) {
    return chosen.flatMap((each) =>
      each.runs.flatMap((run) => {
        const details = this.view.details(run.id);
        const curve = details && curveOf(details, key, rulers.get(run.id)!);
        return curve && curve.x.length > 0 ? [{ chosen: each, run, curve }] : [];
      }),
    );
  }

  private traces(chosen: Chosen[], found: { chosen: Chosen; run: Run; curve: Curve }[]): Trace[] {
    const window = (this.view.smoothing / 100) * this.extent[1];
    return chosen.flatMap((each): Trace[] => {
      const mine = found.filter(({ chosen: { group } }) => group === each.group);
      const look = this.view.looks.of(each.group.key);
      if (mine.length === 0 || !look) return [];
      const curves = mine.map(({ curve }) => curve);
      // A seed that is still under way would cut the mean of the others short.
      const done = mine.filter(({ run }) => run.state === "finished").map(({ curve }) => curve);
      const mean = meanOf(done.length > 0 ? done : curves);
      const thin = this.view.seeds && curves.length > 1;
      // Smoothing and buckets hide peaks; the band keeps them.
      const hides = curves.some((curve) => curve.low !== null || (window > 0 && curve.x.length > manyPoints));
      return [
        {
          label: each.label,
          look,
          main: smoothed(mean, window),
          exact: mean,
          seeds: thin ? curves.map((curve) => smoothed(curve, window)) : [],
          band: this.view.extremes && hides ? envelopeOf(curves) : null,
        },
      ];
    });
  }

  private whyEmpty(panel: Panel, chosen: Chosen[]): string {
    if ((this.view.report?.runs.length ?? 0) === 0) return "There are no runs yet.";
    if (chosen.length === 0) return "No run is chosen. Tick one in the list of runs, or in a table.";
    if (chosen.every(({ runs }) => runs.every((run) => !this.view.details(run.id))))
      return "Reading the chosen runs …";
    return panel.empty;
  }
}

function isConstant(curves: Curve[]): boolean {
  const values = new Set<number | null>();
  for (const curve of curves)
    for (const y of [...curve.y, ...(curve.low ?? []), ...(curve.high ?? [])]) {
      values.add(y);
      if (values.size > 1) return false;
    }
  return true;
}
