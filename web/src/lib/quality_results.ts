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
  // Conditions that are others than the baseline's, as sentences.
  changed_conditions: string[];
  // An earlier result that is of the same scan.
  same_scan_id: string | null;
  measures: Record<string, number>;
  verdicts: Verdict[];
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
