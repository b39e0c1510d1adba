import assert from 'node:assert/strict';
import { test } from 'node:test';
import { figureName, figureTerm } from '../src/lib/figures.ts';
import type { QualityResult, QualityVerdict } from '../src/api/types.ts';
import { conditionsText, failedOf, levelOf, levelsText, reasonsOf, seriesOf } from '../src/lib/quality_results.ts';
import { tellingNames } from '../src/screens/quality.tsx';

const result = (station_name: string, protocol: string, id: string): QualityResult => ({
  id, station_name, protocol, job_id: null, phantom: null, record_time: '2026-03-01T09:30:00Z', recorded_by: null, baseline: false, passed: null, conditions: null, changed_conditions: [], untold_conditions: [], same_scan_id: null,
  measures: { noise_hu: 20, cnr_low: 1 }, verdicts: [{ name: 'water_hu', value: null, baseline: 0, tolerance: 4, passed: false, not_comparable: null }], not_judged: [],
});

test('results are put together by room and protocol, in their order', () => {
  const series = seriesOf([result('a', 'head', '3'), result('b', 'head', '2'), result('a', 'head', '1'), result('a', 'body', '0')]);
  assert.deepEqual(series.map((each) => each.map((one) => one.id)), [['3', '1'], ['2'], ['0']]);
});

test('what is outside is shown first, else what is looked at first, else all', () => {
  assert.deepEqual(tellingNames(result('a', 'head', '1')), ['water_hu']);
  assert.deepEqual(tellingNames({ ...result('a', 'head', '1'), verdicts: [] }), ['noise_hu']);
  assert.deepEqual(tellingNames({ ...result('a', 'head', '1'), verdicts: [], measures: { cnr_low: 1 } }), ['cnr_low']);
});

test('figures are called by their names, with the unit', () => {
  const names = { noise_hu: 'noise, HU', mtf50_edge_per_mm: 'MTF 50 % edge, 1/mm', slice_fwhm_mm: 'slice FWHM, mm', detectability_10mm: 'detectability 10 mm', 'cnr_low-30': 'CNR low-30', linearity_slope: 'linearity slope' };
  assert.deepEqual(Object.keys(names).map(figureName), Object.values(names));
});

test('figures whose names are words of the field have them explained', () => {
  const terms = { mtf10_axial_per_mm: 'MTF', nps_mean_per_mm: 'NPS', cnr_low: 'CNR', ramp_fwhm_mm: 'FWHM', detectability_5mm: 'Detectability', cupping_hu: 'Cupping', noise_hu: null };
  assert.deepEqual(Object.keys(terms).map(figureTerm), Object.values(terms));
});

test('a test that was not passed stays bad news until a later one is passed or becomes the baseline', () => {
  const judged = (id: string, passed: boolean | null, baseline = false): QualityResult => ({ ...result('a', 'head', id), passed, baseline });
  assert.equal(failedOf([judged('2', false), judged('1', true)])?.id, '2');
  assert.equal(failedOf([judged('3', null), judged('2', false), judged('1', true)])?.id, '2', 'one that could not be judged mends nothing');
  assert.equal(failedOf([judged('3', true), judged('2', false)]), null);
  assert.equal(failedOf([judged('3', null, true), judged('2', false)]), null);
  assert.equal(failedOf([judged('1', null)]), null);
  assert.equal(failedOf([]), null);
});

test('beyond two thirds of its tolerance a figure is passed, and to be watched', () => {
  const verdict = (value: number | null, over: Partial<QualityVerdict> = {}): QualityVerdict => (
    { name: 'water_hu', value, baseline: 10, tolerance: 3, passed: value !== null && Math.abs(value - 10) <= 3, not_comparable: null, ...over }
  );
  const values: [number | null, string][] = [[10, 'within'], [12, 'within'], [8, 'within'], [12.01, 'watch'], [7.9, 'watch'], [13, 'watch'], [13.01, 'not passed'], [null, 'not measured']];
  for (const [value, level] of values) assert.equal(levelOf(verdict(value)), level, String(value));
  const other = verdict(10, { passed: false, not_comparable: 'the tube voltage is 120 kV, that of the baseline 90 kV' });
  assert.equal(levelOf(other), 'not comparable');
  assert.equal(levelsText([verdict(10), verdict(12)]), '');
  assert.equal(levelsText([verdict(20), verdict(null), other, verdict(12.5), verdict(10)]), '2 not passed, 1 not comparable, 1 to watch');
});

test('figures that are not judged for one reason are told together', () => {
  assert.deepEqual(reasonsOf([{ name: 'a', why: 'x' }, { name: 'b', why: 'y' }, { name: 'c', why: 'x' }]), [{ why: 'x', names: ['a', 'c'] }, { why: 'y', names: ['b'] }]);
});

test('of how a scan was made, what is known', () => {
  const known = { frames: null, voxel_mm: [0.9, 0.9, 0.9] as [number, number, number], filter: 'hann 0.70', calibration: 'room1-a', tube_voltage_kv: 90, acquired_time: null };
  assert.equal(conditionsText(known), '90 kV, hann 0.70, voxels of 0.9 mm, corrected with room1-a');
  assert.equal(conditionsText({ ...known, voxel_mm: [0.5, 0.5, 1], calibration: 'none', tube_voltage_kv: null }), 'hann 0.70, voxels of 0.5 × 0.5 × 1 mm');
  assert.equal(conditionsText({ frames: null, voxel_mm: null, filter: null, calibration: null, tube_voltage_kv: null, acquired_time: null }), '');
});
