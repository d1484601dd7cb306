// What stands above the curves: axis, smoothing, zoom, and the legend.

import type { Axis } from "./curves";
import { button, h, renew } from "./dom";
import { plural } from "./format";
import { swatch } from "./markers";
import type { Chosen, View } from "./view";

interface Zoomed {
  zoom(range: null): void;
  zoomBy(factor: number): void;
  move(share: number): void;
}

const axes: [Axis, string][] = [
  ["epoch", "epochs"],
  ["step", "steps"],
  ["time", "time"],
];

export class Controls {
  readonly element: HTMLElement;
  private legend = h("ul", { class: "legend", "aria-label": "Chosen groups" });
  private note = h("p", { class: "said" });
  private slider = h("input", { type: "range", min: 0, max: 20, step: 0.5, id: "smoothing" });
  private sliderSays = h("output", { for: "smoothing" });
  private whole: HTMLButtonElement;

  constructor(
    private view: View,
    charts: Zoomed,
  ) {
    this.slider.value = String(view.smoothing);
    this.slider.addEventListener("input", () => view.setSmoothing(Number(this.slider.value)));
    this.whole = button("Whole range", { click: () => charts.zoom(null) });
    const radio = ([axis, text]: [Axis, string]) => {
      const input = h("input", { type: "radio", name: "axis", value: axis, checked: view.axis === axis });
      input.addEventListener("change", () => view.setAxis(axis));
      return h("label", {}, input, h("span", {}, text));
    };
    const box = (name: "seeds" | "extremes", text: string) => {
      const input = h("input", { type: "checkbox", checked: view[name] });
      input.addEventListener("change", () => {
        view[name] = input.checked;
        view.change("drawing");
      });
      return h("label", {}, input, text);
    };
    const smoothing = h("label", { for: "smoothing" }, "Smoothing");
    this.element = h(
      "div",
      {},
      h(
        "div",
        { class: "controls" },
        h("fieldset", { class: "segmented" }, h("legend", {}, "Over"), ...axes.map(radio)),
        h("div", { class: "smoothing" }, smoothing, this.slider, this.sliderSays),
        box("seeds", "each seed"),
        box("extremes", "extremes"),
        h(
          "div",
          { class: "tools zoom", role: "group", "aria-label": "Zoom" },
          button("−", { "aria-label": "Zoom out", click: () => charts.zoomBy(2) }),
          button("+", { "aria-label": "Zoom in", click: () => charts.zoomBy(0.5) }),
          button("←", { "aria-label": "Earlier", click: () => charts.move(-0.5) }),
          button("→", { "aria-label": "Later", click: () => charts.move(0.5) }),
          this.whole,
        ),
      ),
      this.legend,
      this.note,
    );
  }

  /** `axis` is what the charts are over, which need not be what was asked for. */
  draw(chosen: Chosen[], axis: Axis, zoomed: boolean): void {
    this.whole.disabled = !zoomed;
    this.sliderSays.textContent = this.view.smoothing === 0 ? "off" : `${this.view.smoothing} %`;
    this.note.hidden = axis === this.view.axis || chosen.length === 0;
    this.note.textContent = "Over steps, since none of the chosen runs has finished an epoch.";
    renew(this.legend, ...chosen.map((each) => this.entry(each)));
  }

  private entry({ group, label, runs }: Chosen): HTMLElement {
    const ids = runs.map((run) => run.id);
    return h(
      "li",
      {},
      swatch(this.view.looks.of(group.key)),
      h("span", {}, label),
      runs.length > 1 ? h("small", {}, plural(runs.length, "seed")) : null,
      button("×", {
        "data-key": `drop ${group.key}`,
        "aria-label": `Leave out ${label}`,
        click: () => this.view.choose(ids, false),
      }),
    );
  }
}
