import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusalsOf } from '../src/lib/refusals.ts';

const none = { total: 96, queued: 0, sending: 0, sent: 0, committed: 0, failed: 0, skipped: 0 };

test('what went well at once was never refused, what went well at the third attempt twice', () => {
  assert.equal(refusalsOf({ attempts: 1, instances: { ...none, sent: 96 } }), 0);
  assert.equal(refusalsOf({ attempts: 1, instances: { ...none, committed: 96 } }), 0);
  assert.equal(refusalsOf({ attempts: 1, instances: { ...none, queued: 56, sent: 40 } }), 0);
  assert.equal(refusalsOf({ attempts: 3, instances: { ...none, committed: 96 } }), 2);
});

test('where nothing has arrived, or something has failed for good, every attempt was refused', () => {
  assert.equal(refusalsOf({ attempts: 0, instances: { ...none, queued: 96 } }), 0);
  assert.equal(refusalsOf({ attempts: 2, instances: { ...none, queued: 96 } }), 2);
  assert.equal(refusalsOf({ attempts: 10, instances: { ...none, sent: 12, failed: 84 } }), 10);
});
