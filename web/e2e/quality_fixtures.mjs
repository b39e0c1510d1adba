// Image quality and calibrations, invented: a room whose noise has grown, one without a baseline; sets of every validity.
const DAY_MS = 86_400_000;
const iso = (ms) => new Date(ms).toISOString();

// As long as names may be, with nowhere to break them.
const ROOM = `Angio1${'R'.repeat(58)}`;
const BASELINE = { noise_hu: 20.3, water_hu: 0.4, mtf50_edge_per_mm: 0.31, distance_error_mm: 0.12 };
const TOLERANCE = { noise_hu: 2.03, water_hu: 4, mtf50_edge_per_mm: 0.05, distance_error_mm: 0.5 };

const CONDITIONS = { frames: null, voxel_mm: [0.9, 0.9, 0.9], filter: 'hann 0.70', calibration: 'angio-2026-01', tube_voltage_kv: 90, acquired_time: null };
// Of the low contrasts none is seen by the baseline.
export const NOISY = 'it is 1.10 at the baseline, and with its tolerance of 0.60 a disc that has lost half of its contrast would pass';

// Newest first; the noise of the first is outside.
export function qualityResults(now) {
  const result = (age, over) => ({
    id: `q${now - age * DAY_MS}`, station_name: ROOM, protocol: 'head_soft', job_id: null, phantom: 'quality', record_time: iso(now - age * DAY_MS),
    recorded_by: 'ada', baseline: false, passed: true, conditions: CONDITIONS, changed_conditions: [], untold_conditions: [], same_scan_id: null, measures: BASELINE, verdicts: [], not_judged: [], ...over,
  });
  const compared = (age, measures) => {
    const verdicts = Object.entries(BASELINE).map(([name, baseline]) => ({
      name, value: measures[name] ?? null, baseline, tolerance: TOLERANCE[name], passed: Math.abs(measures[name] - baseline) <= TOLERANCE[name], not_comparable: null,
    }));
    return result(age, { measures, verdicts, passed: verdicts.every((verdict) => verdict.passed) });
  };
  return [
    { ...compared(1, { noise_hu: 24.1, water_hu: 0.9, mtf50_edge_per_mm: 0.3, 'cnr_low-10': 0.9 }), not_judged: [{ name: 'cnr_low-10', why: NOISY }] },
    compared(8, { ...BASELINE, noise_hu: 21 }),
    result(15, { baseline: true, passed: null }),
    result(3, { station_name: 'Zeego left', job_id: '20260301T092900-done0003', passed: null, phantom: null, conditions: { ...CONDITIONS, calibration: 'none' } }),
  ];
}

export function calibrations(now) {
  const set = (name, from, until, over) => ({
    name, station_name: 'Zeego left', detector_mode: '2x2-30fps', columns: 620, rows: 480, tube_voltage_kv: 90, parts: ['response', 'defects', 'lag', 'scatter'],
    geometry_frames: 0, valid_from: iso(now + from * DAY_MS), valid_until: iso(now + until * DAY_MS), created: iso(now + from * DAY_MS), description: null,
    verify_time: null, add_time: iso(now), withdraw_time: null, quality: [{ name: 'residual', value: 0.4, unit: '%' }], ...over,
  });
  return [
    set('zeego-next', 2, 180, {}),
    set('zeego-2026-03', -30, 150, { description: 'after the new tube' }),
    set('angio-2026-01', -80, 4.5, { station_name: ROOM, tube_voltage_kv: null }),
    set('angio-geometry-2025-with-a-name-as-long-as-names-may-be-0123456', -400, -35, { station_name: ROOM, parts: ['geometry'], geometry_frames: 496, quality: [] }),
    set('zeego-wrong', -50, 100, { withdraw_time: iso(now - 40 * DAY_MS) }),
  ];
}
