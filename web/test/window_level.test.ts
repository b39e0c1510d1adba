import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as w from '../src/viewer/window_level.ts';

test('grey values follow the linear function of DICOM', () => {
  const soft = { center: 40, width: 400 };
  assert.equal(w.grey(-160, soft), 0);
  assert.equal(w.grey(-161, soft), 0);
  assert.equal(w.grey(40, soft), 128);
  assert.equal(w.grey(239, soft), 255);
  assert.equal(w.grey(32767, soft), 255);
  assert.equal(w.grey(-32768, soft), 0);
});

test('the table has opaque greys, inverted if asked', () => {
  const table = new Uint32Array(65536);
  w.fillLookupTable(table, { center: 40, width: 400 }, false);
  assert.equal(table[32768 + 3000], 0xffffffff);
  assert.equal(table[32768 - 1000], 0xff000000);
  const pixels = new Uint32Array(3);
  w.applyTable(Int16Array.of(-32768, 40, 32767), table, pixels);
  assert.deepEqual([...pixels], [0xff000000, 0xff808080, 0xffffffff]);
  w.fillLookupTable(table, { center: 40, width: 400 }, true);
  assert.equal(table[32768 + 3000], 0xff000000);
});

test('dragging: right widens, down darkens; wide windows move faster', () => {
  assert.deepEqual(w.draggedWindow({ center: 40, width: 400 }, 10, 5), { center: 50, width: 420 });
  assert.deepEqual(w.draggedWindow({ center: 500, width: 2000 }, 10, 0), { center: 500, width: 2100 });
  assert.deepEqual(w.draggedWindow({ center: 40, width: 4 }, -100, 0), { center: 40, width: 2 });
});

test('presets are found again, and are different', () => {
  for (const preset of w.PRESETS) assert.equal(w.presetOf(preset.window)?.id, preset.id);
  assert.equal(w.presetOf({ center: 41, width: 400 }), undefined);
});

test('the full range has the least black and the greatest white', () => {
  const full = w.fullWindow(-1024, 3071);
  assert.equal(w.grey(-1024, full), 0);
  assert.equal(w.grey(3071, full), 255);
  assert.ok(w.grey(-900, full) > 0 && w.grey(2900, full) < 255);
});
