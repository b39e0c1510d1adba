import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Job } from '../src/api/types.ts';
import { framesLost, stageOf } from '../src/lib/progress.ts';

function refining(progress: Partial<Job['progress']>): Job {
  return { state: 'refining', progress: { iterations_done: 0, iterations_total: 0, refined_fraction: 0, ...progress } } as Job;
}

test('iterations are counted, a second pass has hundredths', () => {
  const iterations = stageOf(refining({ iterations_done: 3, iterations_total: 10, refined_fraction: 0.35 }));
  assert.deepEqual(iterations, { name: 'iterations', done: 3, total: 10, fraction: 0.35 });
  const second = stageOf(refining({ refined_fraction: 0.357 }));
  assert.deepEqual(second, { name: 'percent of a second pass', done: 35, total: 100, fraction: 0.357 });
});

test('frames that never came are lost, too, unless nobody was to send them after a cancellation', () => {
  const progress = { frames_received: 40, frames_lost: 3, frames_total: 100 } as Job['progress'];
  assert.equal(framesLost({ state: 'completed', progress }), 3);
  assert.equal(framesLost({ state: 'receiving', progress }), 3);
  assert.equal(framesLost({ state: 'failed', progress }), 60);
  assert.equal(framesLost({ state: 'cancelled', progress }), 3);
});
