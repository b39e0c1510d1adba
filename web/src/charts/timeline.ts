// A job's trace as lanes of spans: what each device did and when.
import type { Trace } from '../api/types.ts';

export interface Span {
  stage: string;
  index: number | null;
  // Microseconds since the first span.
  begin: number;
  end: number;
}

export interface Lane {
  device: string;
  name: string;
  // By begin.
  spans: Span[];
  // The latest end among the spans up to and with each: it rises, where ends may not, as work on a host overlaps.
  reach: number[];
}

export interface Timeline {
  lanes: Lane[];
  endUs: number;
  devices: number;
  // How long each stage was at work on any device, in the order of a job; overlapping spans count once per lane.
  busy: { stage: string; us: number; spans: number }[];
}

export const STAGES = [
  'upload', 'preprocess', 'filter', 'backproject', 'forward_project', 'hounsfield', 'download',
] as const;

export function timelineOf(trace: Trace): Timeline {
  const devices = new Map<number, string>();
  const lanes = new Map<string, Lane>();
  const laneOf = (pid: number, tid: number): Lane => {
    const key = `${String(pid).padStart(6, '0')}/${String(tid).padStart(6, '0')}`;
    let lane = lanes.get(key);
    if (!lane) lanes.set(key, (lane = { device: `device ${pid}`, name: `lane ${tid}`, spans: [], reach: [] }));
    return lane;
  };
  const busy = new Map<string, { us: number; spans: number }>();
  for (const event of trace.traceEvents) {
    if (event.ph === 'M' && event.name === 'process_name') devices.set(event.pid, event.args?.name ?? `device ${event.pid}`);
    if (event.ph === 'M' && event.name === 'thread_name') laneOf(event.pid, event.tid).name = event.args?.name ?? '';
    if (event.ph !== 'X') continue;
    const begin = event.ts ?? 0;
    const us = event.dur ?? 0;
    laneOf(event.pid, event.tid).spans.push({ stage: event.name, index: event.args?.index ?? null, begin, end: begin + us });
    const stage = busy.get(event.name) ?? { us: 0, spans: 0 };
    busy.set(event.name, { us: stage.us + us, spans: stage.spans + 1 });
  }
  const sorted = [...lanes.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
  let endUs = 0;
  for (const [key, lane] of sorted) {
    lane.device = devices.get(Number(key.split('/')[0])) ?? lane.device;
    lane.spans.sort((a, b) => a.begin - b.begin);
    let reach = 0;
    lane.reach = lane.spans.map((span) => (reach = Math.max(reach, span.end)));
    endUs = Math.max(endUs, reach);
  }
  const rank = (stage: string) => {
    const at = (STAGES as readonly string[]).indexOf(stage);
    return at < 0 ? STAGES.length : at;
  };
  return {
    lanes: sorted.map(([, lane]) => lane).filter((lane) => lane.spans.length > 0),
    endUs,
    devices: new Set(sorted.map(([key]) => key.split('/')[0])).size,
    busy: [...busy].map(([stage, b]) => ({ stage, ...b })).sort((a, b) => rank(a.stage) - rank(b.stage)),
  };
}

// Part of the time axis, in microseconds.
export interface Range {
  begin: number;
  end: number;
}

// The range after zooming by `factor` (below 1: closer) around `at`, within the whole.
export function zoomed(range: Range, whole: Range, at: number, factor: number): Range {
  const length = Math.min(whole.end - whole.begin, Math.max(1, (range.end - range.begin) * factor));
  const share = (at - range.begin) / (range.end - range.begin);
  return within({ begin: at - share * length, end: at + (1 - share) * length }, whole);
}

export function shifted(range: Range, whole: Range, by: number): Range {
  return within({ begin: range.begin + by, end: range.end + by }, whole);
}

function within(range: Range, whole: Range): Range {
  const length = range.end - range.begin;
  const begin = Math.min(Math.max(range.begin, whole.begin), whole.end - length);
  return { begin, end: begin + length };
}

export interface Box {
  x: number;
  width: number;
  stage: string;
}

// Boxes to draw for a lane in `range` on `width` pixels. Spans of one stage that are closer than a pixel become one box, so
// that ten thousand chunks cost no more than the pixels they cover.
export function boxesOf(lane: Lane, range: Range, width: number): Box[] {
  const scale = width / (range.end - range.begin);
  const boxes: Box[] = [];
  for (let i = firstReaching(lane.reach, range.begin); i < lane.spans.length; i += 1) {
    const span = lane.spans[i]!;
    if (span.begin > range.end) break;
    if (span.end < range.begin) continue;
    const x = (span.begin - range.begin) * scale;
    const right = (span.end - range.begin) * scale;
    const last = boxes.at(-1);
    if (last && last.stage === span.stage && x - (last.x + last.width) < 1 && last.width < 2 && right - x < 2) {
      last.width = Math.max(last.width, right - last.x);
    } else {
      boxes.push({ x, width: Math.max(1, right - x), stage: span.stage });
    }
  }
  return boxes;
}

export function spanAt(lane: Lane, us: number, slackUs: number): Span | null {
  let best: Span | null = null;
  for (let i = firstReaching(lane.reach, us - slackUs); i < lane.spans.length; i += 1) {
    const span = lane.spans[i]!;
    if (span.begin - slackUs > us) break;
    if (span.end + slackUs < us) continue;
    if (span.begin <= us && us <= span.end) return span;
    best ??= span;
  }
  return best;
}

function firstReaching(reach: number[], us: number): number {
  let low = 0;
  let high = reach.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (reach[middle]! < us) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Distance of the marks of an axis: 1, 2 or 5 times a power of ten, at most `most` of them.
export function tickStep(length: number, most: number): number {
  const rough = length / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const lead = rough / power;
  return (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10) * power;
}

// A mark of an axis with this step, in the unit that suits the step.
export function tickLabel(us: number, stepUs: number): string {
  const [unit, name] = stepUs >= 1e5 ? [1e6, 's'] : stepUs >= 100 ? [1e3, 'ms'] : [1, 'µs'];
  const decimals = Math.max(0, -Math.floor(Math.log10(stepUs / unit) + 1e-9));
  return `${(us / unit).toFixed(decimals)}\u202f${name}`;
}
