// Which results of tests of image quality are bad news.
import type { NotJudged, QualityConditions, QualityResult, QualityVerdict } from '../api/types.ts';

export type Level = 'within' | 'watch' | 'not comparable' | 'not measured' | 'not passed';

// Of the tolerance: from here on a figure is to be looked at again, as `isocenter quality trend` has it (docs/qa.md).
const WATCH_SHARE = 2 / 3;

export function levelOf(verdict: QualityVerdict): Level {
  if (verdict.not_comparable) return 'not comparable';
  if (verdict.value === null) return 'not measured';
  if (!verdict.passed) return 'not passed';
  return Math.abs(verdict.value - verdict.baseline) > WATCH_SHARE * verdict.tolerance ? 'watch' : 'within';
}

// "2 not passed, 1 to watch"; empty where all is within.
export function levelsText(verdicts: QualityVerdict[]): string {
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

export const isUncorrected = ({ conditions }: QualityResult) => conditions?.calibration === 'none';

// "90 kV, hann 0.70, voxels of 0.9 mm, corrected with room1-a": what is known.
export function conditionsText({ tube_voltage_kv: kv, filter, voxel_mm: voxel, calibration }: QualityConditions): string {
  const sizes = (voxel ?? []).map((size) => Number(size.toPrecision(3)));
  const isotropic = new Set(sizes).size === 1;
  return [
    kv !== null && `${Number(kv.toPrecision(4))} kV`, filter, sizes.length > 0 && `voxels of ${isotropic ? sizes[0] : sizes.join(' × ')} mm`,
    calibration !== null && calibration !== 'none' && `corrected with ${calibration}`,
  ].filter(Boolean).join(', ');
}

// Of each room and protocol its results, newest first.
export function seriesOf(results: QualityResult[]): QualityResult[][] {
  const series = new Map<string, QualityResult[]>();
  for (const result of results) {
    const key = JSON.stringify([result.station_name, result.protocol]);
    series.set(key, [...(series.get(key) ?? []), result]);
  }
  return [...series.values()];
}

// The newest of a series that was held against a baseline, where it was not passed: one that could not be judged does not mend it, a new baseline does.
export function failedOf(series: QualityResult[]): QualityResult | null {
  const judged = series.find((result) => result.passed !== null || result.baseline);
  return judged && !judged.baseline && judged.passed === false ? judged : null;
}
