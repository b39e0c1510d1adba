import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ofAllFrames, rangeOf, samplesOf } from '../src/lib/preview.ts';

test('a preview of some frames has the values that all of them would give', () => {
  // Air, water and bone of 1000 HU, of a quarter of the frames.
  assert.deepEqual([...ofAllFrames(Int16Array.of(-1000, -750, -500), 100, 400)], [-1000, 0, 1000]);
  const whole = Int16Array.of(-1000, 0);
  assert.equal(ofAllFrames(whole, 400, 400), whole);
  assert.equal(ofAllFrames(whole, 0, 400), whole, 'of none nothing can be said');
  assert.deepEqual([...ofAllFrames(Int16Array.of(-2000, 500), 1, 400)], [-32768, 32767], 'within 16 bits');
});

test('the range of several planes is that of all of them', () => {
  assert.deepEqual(rangeOf([Int16Array.of(3, -5), Int16Array.of(40)]), { least: -5, greatest: 40 });
});

test('samples are little-endian', () => {
  assert.deepEqual([...samplesOf(btoa('\x18\xfc\xff\x7f'))], [-1000, 32767]);
});
