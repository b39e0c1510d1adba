import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Job } from '../src/api/types.ts';
import { finishOf, rateOf } from '../src/lib/progress.ts';
import { brokenOff, shownOf } from '../src/lib/rooms.ts';

const NOW = Date.parse('2026-03-01T12:00:00.000Z');
const scan = (job_id: string, state: Job['state'], minutes: number, over: Partial<Job> = {}) => ({
  job_id, state, create_time: new Date(NOW - 60_000 * minutes).toISOString(), refines_job_id: null, pair_role: 'none', awaits_console_until_time: null, ...over,
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
  const job = { frames_per_second: 29.8, predicted_finish_time: new Date(NOW - 17_000).toISOString() };
  assert.equal(rateOf({ ...job, awaits_console_until_time: null }), 29.8);
  assert.match(finishOf({ ...job, awaits_console_until_time: null }, NOW), /17.s late/);
  assert.equal(rateOf({ ...job, ...waiting }), null);
  assert.equal(finishOf({ ...job, ...waiting }, NOW), '');
});
