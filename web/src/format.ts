// Numbers as a reader expects them: a real minus sign, thin gaps between thousands, a dash for what is missing.

export const missing = "–";

type Figure = number | null | undefined;
const known = (value: Figure): value is number =>
  value !== null && value !== undefined && Number.isFinite(value);
const minus = (text: string) => text.replace("-", "−");

/** With so many decimals. */
export function fixed(value: Figure, decimals = 2): string {
  return known(value) ? minus(value.toFixed(decimals)) : missing;
}

/** A difference: with its sign. */
export function signed(value: Figure, decimals = 2): string {
  return known(value) ? (value >= 0 ? "+" : "") + fixed(value, decimals) : missing;
}

/** Of any size, in few digits. */
export function short(value: Figure): string {
  if (!known(value)) return missing;
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6))
    return minus(
      value
        .toExponential(2)
        .replace(/\.?0+e/, "e")
        .replace("e+", "e"),
    );
  if (Number.isInteger(value)) return count(value);
  return minus(String(Number(value.toPrecision(4))));
}

export function count(value: Figure): string {
  return known(value) ? minus(String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, "\u202f")) : missing;
}

/** How often each comes. */
export function countBy<T>(list: T[]): Map<T, number> {
  const counts = new Map<T, number>();
  for (const each of list) counts.set(each, (counts.get(each) ?? 0) + 1);
  return counts;
}

export function plural(value: number, one: string, many = one + "s"): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function duration(seconds: Figure): string {
  if (!known(seconds)) return missing;
  if (seconds < 60) return `${fixed(seconds, seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function date(iso: string): string {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? iso : time.toISOString().slice(0, 16).replace("T", " ") + " UTC";
}
