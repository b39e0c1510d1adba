// What somebody has acknowledged in this browser, so that it no longer calls for attention. Nothing of it is known elsewhere: other people,
// and other workplaces, go on being called. It ends after twelve hours, which no shift outlasts.
export interface Acknowledged {
  // Who is signed in; empty where nobody has to.
  by: string;
  // What, and in which state: what has changed since is something else.
  what: string;
  at: number;
}

const KEY = 'isocenter.acknowledged';
const LASTS_MS = 12 * 3_600_000;
let unstored: string | null = null;

function isOne(value: unknown): value is Acknowledged {
  const { by, what, at } = (value ?? {}) as Record<string, unknown>;
  return typeof by === 'string' && typeof what === 'string' && typeof at === 'number';
}

// Those of a stored text that still hold at `now`; a clock that was set back ends none too late.
export function holding(text: string | null, now: number): Acknowledged[] {
  let stored: unknown = null;
  try {
    stored = JSON.parse(text ?? '[]');
  } catch {
    // Damaged: nothing is acknowledged, and everything calls.
  }
  return Array.isArray(stored) ? stored.filter(isOne).filter(({ at }) => Math.abs(now - at) < LASTS_MS) : [];
}

function all(now: number): Acknowledged[] {
  let text = unstored;
  try {
    text = localStorage.getItem(KEY);
  } catch {
    // As below.
  }
  return holding(text, now);
}

function keep(list: Acknowledged[]): void {
  const text = JSON.stringify(list);
  try {
    localStorage.setItem(KEY, text);
  } catch {
    // Without storage it holds until the page is closed.
    unstored = text;
  }
}

// When `by` acknowledged each, by what it is.
export function acknowledgedBy(by: string, now: number): Map<string, number> {
  return new Map(all(now).filter((each) => each.by === by).map(({ what, at }) => [what, at]));
}

export function acknowledge(by: string, what: string, now: number): void {
  keep([...all(now), { by, what, at: now }]);
}

export function callAgain(by: string, what: string, now: number): void {
  keep(all(now).filter((each) => each.by !== by || each.what !== what));
}
