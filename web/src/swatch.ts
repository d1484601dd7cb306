// The sample of a line that stands before a group's name.

import { svg } from "./dom";
import { colourOf, type Look } from "./look";
import { markerPath } from "./markers";

export function swatch(look: Look | null): Element {
  const colour = look ? colourOf(look) : "none";
  return svg(
    "svg",
    { class: "swatch", viewBox: "0 0 30 12", width: 30, height: 12, "aria-hidden": "true" },
    look &&
      svg("line", {
        x1: 1,
        x2: 29,
        y1: 6,
        y2: 6,
        stroke: colour,
        "stroke-width": 2,
        "stroke-dasharray": look.dash.join(" ") || null,
      }),
    look && svg("path", { d: markerPath(look.marker, 15, 6, 3.6), fill: colour }),
  );
}
