import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Grid } from '../src/api/types.ts';
import { planeOf, scaleOf } from '../src/viewer/geometry.ts';

const GRID: Grid = { nx: 100, ny: 100, nz: 100, spacing_mm: [2, 2, 2], origin_mm: [0, 0, 0], direction: [1, 0, 0, 0, 1, 0, 0, 0, 1] };
const plane = planeOf(GRID, 'axial');
const at = (zoom: number, pane = { width: 400, height: 400 }) => scaleOf(plane, { column: 50, row: 50, zoom }, pane);

test('a scale bar has a round length and is right: 200 mm fit a pane of 400 pixels', () => {
  assert.deepEqual(at(1), { mm: 50, part: 0.25 });
  // A pane that is wider than the plane shows more.
  assert.deepEqual(at(1, { width: 800, height: 400 }), { mm: 100, part: 0.25 });
  assert.deepEqual(at(0.25), { mm: 200, part: 0.25 });
});

test('at every zoom it is 1, 2 or 5 times a power of ten, and from a tenth to a quarter of the pane', () => {
  for (let zoom = 0.25; zoom <= 40; zoom *= 1.01) {
    const { mm, part } = at(zoom);
    assert.ok([1, 2, 5].includes(Number(mm.toExponential()[0])) && mm.toExponential().length <= 5, `${mm}`);
    assert.ok(part > 0.099 && part < 0.2501, `${part} at ${zoom}`);
    assert.ok(Math.abs(part * (200 / zoom) - mm) < 1e-9);
  }
});
