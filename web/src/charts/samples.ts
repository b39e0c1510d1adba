// Which samples a plot shows, and which of them its caption tells of.

// What the pointer is at: the sample that is nearest, none (null) at a gap; and where that is.
export interface Pointed {
  index: number | null;
  x: number;
}

// `at`: where the pointer is on the axis. Samples stand for what is nearer to them than to where the next would be.
export function pointedAt(x: number[], index: number, at: number, step: number | undefined): Pointed | null {
  const nearest = x[index];
  if (nearest === undefined) return null;
  if (step !== undefined && Math.abs(at - nearest) > step) return { index: null, x: at };
  return { index, x: nearest };
}

export function valueAt(values: (number | null)[] | undefined, { index }: Pointed): number | null {
  return index === null ? null : values?.[index] ?? null;
}

export function valueOf(values: (number | null)[] | undefined, index: number): number | null {
  return values?.[index] ?? null;
}

// Of the last sample that has a value; -1: none has.
export function lastOf(values: (number | null)[] | undefined): number {
  for (let i = (values?.length ?? 0) - 1; i >= 0; i -= 1) if (values![i] !== null) return i;
  return -1;
}

// A service that is young has its samples across the whole plot, not at its edge; of one alone there is at least a minute.
const LEAST_SPAN = 60;

export function timeRange(first: number, last: number, span: number): [number, number] {
  return [Math.max(last - span, Math.min(first, last - LEAST_SPAN)), last];
}
