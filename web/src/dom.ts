// Making elements. Data enters the page as text alone: there is no way here to pass markup.

type Child = Node | string | null | undefined | false;
type Value = string | number | boolean | null | undefined | ((event: Event) => void);

function fill(element: Element, attributes: Record<string, Value>, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined && child !== false) element.append(child);
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

/** Renews what an element holds, and keeps the focus, and open what was open, by their `data-key`. */
export function renew(holder: Element, ...children: Child[]): void {
  const focused = document.activeElement;
  const key = focused && holder.contains(focused) ? focused.getAttribute("data-key") : null;
  const details = (root: Element) => root.querySelectorAll<HTMLDetailsElement>("details[data-key]");
  const open = new Map(Array.from(details(holder), (each) => [each.dataset.key, each.open]));
  const scrolled = holder.scrollTop;
  holder.replaceChildren(...children.filter((child): child is Node | string => !!child));
  for (const each of details(holder)) each.open = open.get(each.dataset.key) ?? each.open;
  holder.scrollTop = scrolled;
  if (key === null) return;
  for (const each of holder.querySelectorAll<HTMLElement>("[data-key]"))
    if (each.dataset.key === key) return each.focus({ preventScroll: true });
}

/** A button that submits nothing. */
export function button(text: string, attributes: Record<string, Value>): HTMLButtonElement {
  return h("button", { type: "button", ...attributes }, text);
}
