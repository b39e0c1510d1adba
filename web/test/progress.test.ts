import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Job } from '../src/api/types.ts';
import { stageOf } from '../src/lib/progress.ts';

function refining(progress: Partial<Job['progress']>): Job {
  return { state: 'refining', progress: { iterations_done: 0, iterations_total: 0, refined_fraction: 0, ...progress } } as Job;
}

test('iterations are counted, a second pass has hundredths', () => {
  const iterations = stageOf(refining({ iterations_done: 3, iterations_total: 10, refined_fraction: 0.35 }));
  assert.deepEqual(iterations, { name: 'iterations', done: 3, total: 10, fraction: 0.35 });
  const second = stageOf(refining({ refined_fraction: 0.357 }));
  assert.deepEqual(second, { name: 'percent of a second pass', done: 35, total: 100, fraction: 0.357 });
});
