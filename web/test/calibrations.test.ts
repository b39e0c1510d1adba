import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CalibrationSet } from '../src/api/types.ts';
import { endingSets, validity } from '../src/lib/calibration_sets.ts';
import { figure, keyFigures } from '../src/lib/set_figures.ts';
import { calibrationText } from '../src/screens/job_facts.tsx';

const set: CalibrationSet = {
  name: 'a', station_name: 'room1', detector_mode: null, columns: 620, rows: 480, tube_voltage_kv: null, parts: ['response'], geometry_frames: 0,
  valid_from: '2026-03-01T00:00:00Z', valid_until: '2026-09-01T00:00:00Z', created: '2026-03-01T00:00:00Z', verify_time: null, add_time: '2026-03-01T00:00:00Z', description: null, withdraw_time: null, quality: [],
};
const text = (now: string, over: Partial<CalibrationSet> = {}) => validity({ ...set, ...over }, Date.parse(now)).text;

test('a set is valid from its first moment to its last, and says when that is near', () => {
  assert.equal(text('2026-02-28T23:59:59Z'), 'Not yet valid');
  assert.equal(text('2026-03-01T00:00:00Z'), 'Valid');
  assert.equal(text('2026-08-17T23:59:59Z'), 'Valid');
  assert.equal(text('2026-08-18T00:00:00Z'), 'Expires in 14 days');
  assert.equal(text('2026-08-31T23:59:59Z'), 'Expires in 1 day');
  assert.equal(text('2026-09-01T00:00:00Z'), 'Expired');
});

test('one that is withdrawn is nothing else', () => {
  assert.equal(text('2026-10-01T00:00:00Z', { withdraw_time: '2026-04-01T00:00:00Z' }), 'Withdrawn');
});

test('sets that end and that none follows are told, the first to end first', () => {
  const ending = (now: string, ...overs: Partial<CalibrationSet>[]) =>
    endingSets(overs.map((over, i) => ({ ...set, name: String(i), ...over })), Date.parse(now)).map(({ name }) => name);
  const next = { valid_from: '2026-08-30T00:00:00Z', valid_until: '2027-03-01T00:00:00Z' };
  assert.deepEqual(ending('2026-08-01T00:00:00Z', {}), [], 'it is valid for long');
  assert.deepEqual(ending('2026-08-25T00:00:00Z', {}), ['0']);
  assert.deepEqual(ending('2026-10-01T00:00:00Z', {}), ['0'], 'expired');
  assert.deepEqual(ending('2026-08-25T00:00:00Z', {}, next), [], 'another one follows');
  assert.deepEqual(ending('2026-08-25T00:00:00Z', {}, { ...next, valid_from: '2026-09-02T00:00:00Z' }), ['0'], 'a day without any');
  assert.deepEqual(ending('2026-09-03T00:00:00Z', {}, { ...next, valid_from: '2026-09-02T00:00:00Z' }), [], 'that day is over');
  assert.deepEqual(ending('2026-08-25T00:00:00Z', {}, { ...next, withdraw_time: '2026-08-20T00:00:00Z' }), ['0'], 'the other one is withdrawn');
  assert.deepEqual(ending('2026-10-01T00:00:00Z', { withdraw_time: '2026-08-20T00:00:00Z' }), [], 'nobody needs it any more');
  const others = [{ station_name: 'room2' }, { detector_mode: '2x2' }, { columns: 310 }, { geometry_frames: 496 }, { tube_voltage_kv: 120 }];
  for (const other of others) assert.deepEqual(ending('2026-08-25T00:00:00Z', {}, { ...next, ...other }), ['0'], JSON.stringify(other));
  assert.deepEqual(ending('2026-08-25T00:00:00Z', { tube_voltage_kv: 90 }, { ...next, tube_voltage_kv: 90.6 }), []);
  assert.deepEqual(ending('2026-08-25T00:00:00Z', { tube_voltage_kv: 90 }, next), [], 'one of any voltage');
  assert.deepEqual(ending('2026-10-01T00:00:00Z', {}, { valid_until: '2026-07-01T00:00:00Z' }, { station_name: 'room2', valid_until: '2026-08-01T00:00:00Z' }), ['2', '0'], 'of each detector the last');
});

const figures = [['detector: frames', 50], ['detector: dead pixels', 12], ['detector: residual', 0.4], ['beam: rms error', -0.388], ['lag: terms', 4]]
  .map(([name, value]) => ({ name: name as string, value: value as number, unit: null }));

test('of many figures those that tell how good a set is are shown; counts are whole', () => {
  assert.deepEqual(keyFigures(figures).map(figure), ['detector: residual 0.400', 'beam: rms error −0.388']);
  assert.equal(figure(figures[0]!), 'detector: frames 50');
  assert.deepEqual(keyFigures(figures.slice(0, 1)), figures.slice(0, 1));
});

test('a job without a set says why', () => {
  const job = (calibration: object | null, warnings: string[]) => calibrationText({
    acquisition: { calibration }, protocol: 'head', warnings: warnings.map((kind) => ({ kind })),
  } as unknown as Parameters<typeof calibrationText>[0]);
  assert.equal(job({ name: 'room1', outside_validity: true }, []), 'room1 (outside its validity)');
  assert.equal(job({ name: 'room1', outside_validity: false, verified: true }, []), 'room1 (verified)');
  assert.equal(job(null, []), 'none: protocol head takes no set, or the frames came corrected');
  assert.equal(job(null, ['calibration']), 'none: no set fits, as the warning says');
});
