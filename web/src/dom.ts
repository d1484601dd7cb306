// Making elements. Data enters the page as text alone: there is no way here to pass markup.

type Child = Node | string | null | undefined | false;
type Value = string | number | boolean | null | undefined | ((event: Event) => void);

function fill(element: Element, attributes: Record<string, Value>, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children)
    if (child !== null && child !== undefined && child !== false) element.append(child);
}

/** An HTML element. An attribute whose value is a function listens to the event of that name. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, Value> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

/** An SVG element. */
export function svg(tag: string, attributes: Record<string, Value> = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, attributes, children);
  return element;
}

/** Renews what an element holds. What has a `data-key` keeps the focus, stays open, and stays scrolled. */
export function renew(holder: Element, ...children: Child[]): void {
  const keyed = () => holder.querySelectorAll<HTMLElement>("[data-key]");
  const before = new Map<string, { open: boolean; focused: boolean; top: number; left: number }>();
  for (const each of keyed())
    before.set(each.dataset.key!, {
      open: each instanceof HTMLDetailsElement && each.open,
      focused: each === document.activeElement,
      top: each.scrollTop,
      left: each.scrollLeft,
    });
  const top = holder.scrollTop;
  holder.replaceChildren(...children.filter((child): child is Node | string => !!child));
  holder.scrollTop = top;
  for (const each of keyed()) {
    const was = before.get(each.dataset.key!);
    if (!was) continue;
    if (each instanceof HTMLDetailsElement) each.open = was.open;
    if (was.top > 0 || was.left > 0) each.scrollTo({ top: was.top, left: was.left, behavior: "instant" });
    if (was.focused) each.focus({ preventScroll: true });
  }
}

/** A button that submits nothing. */
export function button(text: string, attributes: Record<string, Value>): HTMLButtonElement {
  return h("button", { type: "button", ...attributes }, text);
}

type Cell = string | HTMLTableCellElement;

/** A table that scrolls by itself and keeps its place. A cell is text or a cell of its own. */
export function scrollTable(
  { key, name, look, caption }: { key: string; name: string; look?: string; caption?: string },
  header: Cell[],
  rows: Cell[][],
): HTMLElement {
  const line = (cells: Cell[], make: (text: string) => Cell) =>
    h("tr", {}, ...cells.map((cell) => (typeof cell === "string" ? make(cell) : cell)));
  return h(
    "div",
    { class: "scroll", role: "region", tabindex: 0, "data-key": key, "aria-label": name },
    h(
      "table",
      { class: look },
      caption ? h("caption", {}, caption) : null,
      h(
        "thead",
        {},
        line(header, (text) => h("th", { scope: "col" }, text)),
      ),
      h("tbody", {}, ...rows.map((row) => line(row, (text) => h("td", {}, text)))),
    ),
  );
}

/** The cell that a row is called by. */
export const rowHead = (...children: Child[]) => h("th", { scope: "row" }, ...children);
