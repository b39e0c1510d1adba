import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Job } from '../src/api/types.ts';
import { finishOf, finishTime, rateOf } from '../src/lib/progress.ts';
import { brokenOff, doubtfulScans, failedScans, refusedLately, shownOf } from '../src/lib/rooms.ts';

const NOW = Date.parse('2026-03-01T12:00:00.000Z');
const scan = (job_id: string, state: Job['state'], minutes: number, over: Partial<Job> = {}) => ({
  job_id, state, create_time: new Date(NOW - 60_000 * minutes).toISOString(), refines_job_id: null, pair_role: 'none', warning_kinds: [], awaits_console_until_time: null, ...over,
}) as Job;
const waiting = { awaits_console_until_time: new Date(NOW + 60_000).toISOString() };
const ids = (jobs: Job[]) => jobs.map(({ job_id }) => job_id);

test('a room shows the scan that goes on, then one that waits, then what is computed, then the last', () => {
  const jobs = [scan('old', 'completed', 50), scan('refined', 'refining', 1), scan('broken', 'receiving', 3, waiting), scan('live', 'receiving', 2)];
  assert.equal(shownOf(jobs)?.job_id, 'live');
  assert.equal(shownOf(jobs.slice(0, 3))?.job_id, 'broken');
  assert.equal(shownOf(jobs.slice(0, 2))?.job_id, 'refined');
  assert.equal(shownOf([jobs[0]!, scan('new', 'failed', 4)])?.job_id, 'new');
  assert.equal(shownOf([]), undefined);
});

test('a scan that was broken off is not hidden by what the room does since', () => {
  const live = scan('live', 'receiving', 1);
  assert.deepEqual(ids(brokenOff([live, scan('broken', 'receiving', 3, waiting)], live, NOW)), ['broken']);
  assert.deepEqual(ids(brokenOff([scan('a', 'failed', 9), live, scan('b', 'cancelled', 5)], live, NOW)), ['b', 'a']);
  const refinement = scan('r', 'refining', 2, { refines_job_id: 'x' });
  assert.deepEqual(ids(brokenOff([refinement, scan('a', 'failed', 9)], refinement, NOW)), ['a']);
});

test('until a later scan went well, or a day has gone by; failed refinements are none', () => {
  const live = scan('live', 'receiving', 1);
  assert.deepEqual(ids(brokenOff([live, scan('a', 'failed', 9), scan('good', 'completed', 5)], live, NOW)), []);
  assert.deepEqual(ids(brokenOff([live, scan('a', 'failed', 60 * 25)], live, NOW)), []);
  assert.deepEqual(ids(brokenOff([live, scan('a', 'failed', 9, { refines_job_id: 'x' }), scan('b', 'failed', 8, { pair_role: 'subtraction' })], live, NOW)), []);
});

test('a scan that waits for its console has neither a rate nor an end', () => {
  const job = { ...scan('a', 'reconstructing', 1), frames_per_second: 29.8, predicted_finish_time: new Date(NOW - 17_000).toISOString() };
  assert.equal(rateOf({ ...job, awaits_console_until_time: null }), 29.8);
  assert.match(finishOf({ ...job, awaits_console_until_time: null }, NOW, false), /17.s late/);
  assert.equal(rateOf({ ...job, ...waiting }), null);
  assert.equal(finishOf({ ...job, ...waiting }, NOW, false), '');
});

test('where frames come slower than was predicted, the end is as far away as they take', () => {
  const at = new Date(NOW + 1_000).toISOString();
  const progress = { frames_received: 35, frames_lost: 0, frames_total: 160 } as Job['progress'];
  const job = scan('a', 'receiving', 1, { frames_per_second: 5, predicted_finish_time: at, progress });
  assert.equal(finishTime(job, NOW), new Date(NOW + 25_000).toISOString());
  assert.match(finishOf(job, NOW, false), /^finishes in 25.s$/);
  assert.match(finishOf(job, NOW, true), /^predicted for \d\d:\d\d:\d\d$/, 'while the server is gone nothing counts down');
  assert.equal(finishTime({ ...job, frames_per_second: 500 }, NOW), at, 'the volume is not there with the last frame');
  assert.equal(finishTime({ ...job, frames_per_second: null }, NOW), at);
  assert.equal(finishTime({ ...job, state: 'reconstructing' }, NOW), at);
  assert.equal(finishTime({ ...job, predicted_finish_time: null }, NOW), null);
});

test('a scan whose volume may be wrong stays until a later one of the room went well, or a day has gone by', () => {
  const of = (id: string, minutes: number, kinds: string[], over: Partial<Job> = {}) => scan(id, 'completed', minutes, { station_name: 'A', warning_kinds: kinds, ...over });
  const wrong = of('wrong', 9, ['frame_gap', 'air_level']);
  assert.deepEqual(ids(doubtfulScans([wrong, of('bridged', 20, ['frame_gap']), of('other', 2, [], { station_name: 'B' })], NOW)), ['wrong']);
  assert.deepEqual(ids(doubtfulScans([wrong, of('again', 3, ['air_level'])], NOW)), ['again', 'wrong']);
  assert.deepEqual(ids(doubtfulScans([wrong, of('good', 3, ['frame_gap'])], NOW)), []);
  assert.deepEqual(ids(doubtfulScans([of('old', 60 * 25, ['air_level']), { ...wrong, state: 'failed' }, { ...wrong, refines_job_id: 'x' }], NOW)), []);
});

test('the scan of another patient neither mends a volume nor hides that one is missing; another one of the same order does, in any room', () => {
  const of = (id: string, state: Job['state'], minutes: number, accession_number: string, over: Partial<Job> = {}) => scan(id, state, minutes, { station_name: 'A', accession_number, ...over });
  const wrong = of('wrong', 'completed', 9, 'A1003', { warning_kinds: ['cut_object'] });
  const other = of('other', 'completed', 3, 'A1002');
  assert.deepEqual(ids(doubtfulScans([wrong, other], NOW)), ['wrong']);
  assert.deepEqual(ids(doubtfulScans([wrong, other, of('again', 'completed', 2, 'A1003', { station_name: 'B' })], NOW)), []);
  assert.deepEqual(ids(doubtfulScans([wrong, of('before', 'completed', 12, 'A1003')], NOW)), ['wrong']);
  const failed = of('failed', 'failed', 9, 'A1003');
  assert.deepEqual(ids(brokenOff([other, failed, of('given-up', 'cancelled', 8, 'A1004')], other, NOW)), ['failed']);
  assert.deepEqual(ids(brokenOff([other, failed, of('again', 'completed', 5, 'A1003')], other, NOW)), []);
});

test('a live scan that failed stays until a later one of its order went well, or a day has gone by', () => {
  const of = (id: string, state: Job['state'], minutes: number, accession_number: string | null, over: Partial<Job> = {}) => scan(id, state, minutes, { station_name: 'A', job_class: 'live', accession_number, ...over });
  const failed = of('failed', 'failed', 9, 'A1003');
  const good = of('good', 'completed', 3, 'A1003');
  assert.deepEqual(ids(failedScans([failed, of('other', 'completed', 3, 'A1002'), of('latest', 'failed', 2, null)], NOW)), ['latest', 'failed']);
  assert.deepEqual(ids(failedScans([failed, good], NOW)), []);
  assert.deepEqual(ids(failedScans([{ ...failed, accession_number: null }, { ...good, accession_number: null }], NOW)), [], 'of the room, where no order is told');
  assert.deepEqual(ids(failedScans([of('old', 'failed', 60 * 25, null), of('given-up', 'cancelled', 8, null), { ...failed, refines_job_id: 'x' }, { ...failed, job_class: 'batch' }], NOW)), []);
  // What may be wrong itself stands for nothing, here and on the room's card.
  const wrong = { ...good, warning_kinds: ['air_level'] };
  assert.deepEqual(ids(failedScans([failed, wrong], NOW)), ['failed']);
  assert.deepEqual(ids(brokenOff([failed, wrong], wrong, NOW)), ['failed']);
  assert.deepEqual(ids(failedScans([failed, { ...good, warning_kinds: ['frame_gap'] }], NOW)), []);
});

test('of each room the last refusal of the last minutes, until it got a job', () => {
  const refusal = (station_name: string | null, minutes: number) => ({ station_name, time: new Date(NOW - 60_000 * minutes).toISOString(), code: 'UNAVAILABLE', message: '' });
  const refusals = [refusal('A', 1), refusal('A', 2), refusal('B', 3), refusal(null, 4), refusal('C', 11)];
  assert.deepEqual(refusedLately(refusals, [], NOW), [refusals[0], refusals[2], refusals[3]]);
  assert.deepEqual(refusedLately(refusals, [scan('a', 'receiving', 0, { station_name: 'A' }), scan('b', 'receiving', 5, { station_name: 'B' })], NOW), [refusals[2], refusals[3]]);
});
