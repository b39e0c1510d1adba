import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastOf, pointedAt, timeRange, valueAt, valueOf } from '../src/charts/samples.ts';

test('what the pointer is at: the nearest sample, and nothing at a gap', () => {
  const x = [100, 110, 200];
  assert.deepEqual(pointedAt(x, 1, 113, 10), { index: 1, x: 110 });
  assert.deepEqual(pointedAt(x, 1, 140, 10), { index: null, x: 140 });
  assert.deepEqual(pointedAt(x, 0, 20, 10), { index: null, x: 20 }, 'before the first sample');
  assert.deepEqual(pointedAt([1, 2, 3], 2, 9, undefined), { index: 2, x: 3 }, 'what is counted has no gaps');
  assert.equal(pointedAt([], 0, 5, 10), null);
});

test('values at the pointer are of that sample alone', () => {
  const y = [1, null, 3];
  assert.deepEqual([0, 1, 2].map((index) => valueAt(y, { index, x: 0 })), [1, null, 3]);
  assert.equal(valueAt(y, { index: null, x: 0 }), null);
});

test('the last sample with a value may not be the last', () => {
  assert.equal(lastOf([5, null, 7, null]), 2);
  assert.equal(lastOf([null]), -1);
  assert.equal(lastOf(undefined), -1);
  assert.equal(valueOf([5, null, 7, null], 2), 7);
  assert.equal(valueOf([null], -1), null);
});

test('the axis of time has what was asked for, or what there is', () => {
  assert.deepEqual(timeRange(0, 7200, 3600), [3600, 7200]);
  assert.deepEqual(timeRange(7000, 7200, 3600), [7000, 7200]);
  assert.deepEqual(timeRange(7200, 7200, 3600), [7140, 7200], 'one sample');
});
