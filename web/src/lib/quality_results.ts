// Results of tests of image quality, and which of them are bad news.
export interface Verdict {
  name: string;
  value: number | null;
  baseline: number;
  tolerance: number;
  passed: boolean;
  // Why the value says nothing of the baseline's; null where it does.
  not_comparable: string | null;
}

// How a scan was made, each null where it is not known.
export interface Conditions {
  voxel_mm: [number, number, number] | null;
  filter: string | null;
  // The set that corrected the frames; "none": nothing did.
  calibration: string | null;
  tube_voltage_kv: number | null;
  acquired_time: string | null;
}

export interface NotJudged {
  name: string;
  why: string;
}

export interface Result {
  id: string;
  station_name: string;
  protocol: string;
  job_id: string | null;
  phantom: string | null;
  record_time: string;
  recorded_by: string | null;
  baseline: boolean;
  // Null where there is nothing to compare with.
  passed: boolean | null;
  // Null of results from before they were kept.
  conditions: Conditions | null;
  // Conditions that are others than the baseline's, as sentences.
  changed_conditions: string[];
  // Names of those that this or the baseline does not tell.
  untold_conditions: string[];
  // An earlier result that is of the same scan.
  same_scan_id: string | null;
  measures: Record<string, number>;
  verdicts: Verdict[];
  not_judged: NotJudged[];
}

export type Level = 'within' | 'watch' | 'not comparable' | 'not measured' | 'not passed';

// Of the tolerance: from here on a figure is to be looked at again, as `isocenter quality trend` has it (docs/qa.md).
const WATCH_SHARE = 2 / 3;

export function levelOf(verdict: Verdict): Level {
  if (verdict.not_comparable) return 'not comparable';
  if (verdict.value === null) return 'not measured';
  if (!verdict.passed) return 'not passed';
  return Math.abs(verdict.value - verdict.baseline) > WATCH_SHARE * verdict.tolerance ? 'watch' : 'within';
}

// "2 not passed, 1 to watch"; empty where all is within.
export function levelsText(verdicts: Verdict[]): string {
  const levels = verdicts.map(levelOf);
  const part = (text: string, ...which: Level[]) => {
    const count = levels.filter((level) => which.includes(level)).length;
    return count > 0 ? [`${count} ${text}`] : [];
  };
  return [...part('not passed', 'not passed', 'not measured'), ...part('not comparable', 'not comparable'), ...part('to watch', 'watch')].join(', ');
}

// Reasons, each with the figures that have it.
export function reasonsOf(notJudged: NotJudged[]): { why: string; names: string[] }[] {
  const reasons = new Map<string, string[]>();
  for (const { name, why } of notJudged) reasons.set(why, [...(reasons.get(why) ?? []), name]);
  return [...reasons].map(([why, names]) => ({ why, names }));
}

export const isUncorrected = ({ conditions }: Result) => conditions?.calibration === 'none';

// "90 kV, hann 0.70, voxels of 0.9 mm, corrected with room1-a": what is known.
export function conditionsText({ tube_voltage_kv: kv, filter, voxel_mm: voxel, calibration }: Conditions): string {
  const sizes = (voxel ?? []).map((size) => Number(size.toPrecision(3)));
  const isotropic = new Set(sizes).size === 1;
  return [
    kv !== null && `${Number(kv.toPrecision(4))} kV`, filter, sizes.length > 0 && `voxels of ${isotropic ? sizes[0] : sizes.join(' × ')} mm`,
    calibration !== null && calibration !== 'none' && `corrected with ${calibration}`,
  ].filter(Boolean).join(', ');
}

// Of each room and protocol its results, newest first.
export function seriesOf(results: Result[]): Result[][] {
  const series = new Map<string, Result[]>();
  for (const result of results) {
    const key = JSON.stringify([result.station_name, result.protocol]);
    series.set(key, [...(series.get(key) ?? []), result]);
  }
  return [...series.values()];
}

// The newest of a series that was held against a baseline, where it was not passed: one that could not be judged does not mend it, a new baseline does.
export function failedOf(series: Result[]): Result | null {
  const judged = series.find((result) => result.passed !== null || result.baseline);
  return judged && !judged.baseline && judged.passed === false ? judged : null;
}
