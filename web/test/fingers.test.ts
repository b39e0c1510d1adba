import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Grid } from '../src/api/types.ts';
import { type Place, type Point, planeAt } from '../src/viewer/drag.ts';
import { Fingers } from '../src/viewer/fingers.ts';
import { type Tool, ViewerModel } from '../src/viewer/model.ts';

// An axial plane of 100 mm x 100 mm in a pane of 400 x 400 pixels.
const GRID: Grid = {
  nx: 100, ny: 100, nz: 80, spacing_mm: [1, 1, 1], origin_mm: [-50, -50, -40], direction: [1, 0, 0, 0, 1, 0, 0, 0, 1],
};

function hand(tool: Tool): { model: ViewerModel; place: Place; fingers: Fingers } {
  const model = new ViewerModel(GRID);
  model.setTool(tool);
  const place: Place = { model, axis: 'axial', relation: 'volume', size: () => ({ width: 400, height: 400 }) };
  return { model, place, fingers: new Fingers(place, () => 1) };
}

function draw(fingers: Fingers, from: Point, to: Point, steps = 10): void {
  for (let i = 1; i <= steps; i += 1) fingers.move(1, { x: from.x + ((to.x - from.x) * i) / steps, y: from.y + ((to.y - from.y) * i) / steps });
}

test('two fingers zoom by how far they part, and what is between them stays there', () => {
  const { model, place, fingers } = hand('crosshair');
  const begun = [...model.cursor];
  const middle = planeAt(place, { x: 150, y: 250 });
  fingers.begin(1, { x: 100, y: 250 }, 0);
  fingers.begin(2, { x: 200, y: 250 }, 20);
  fingers.move(1, { x: 50, y: 250 });
  fingers.move(2, { x: 250, y: 250 });
  assert.ok(Math.abs(model.views.axial.zoom - 2) < 1e-9, String(model.views.axial.zoom));
  const after = planeAt(place, { x: 150, y: 250 });
  assert.ok(Math.hypot(after.column - middle.column, after.row - middle.row) < 1e-9);
  fingers.end(1, true);
  fingers.end(2, true);
  assert.deepEqual(model.cursor, begun, 'no tap');
  model.stop();
});

test('two fingers that move together pan', () => {
  const { model, place, fingers } = hand('window');
  const held = planeAt(place, { x: 200, y: 200 });
  fingers.begin(1, { x: 150, y: 200 }, 0);
  fingers.begin(2, { x: 250, y: 200 }, 0);
  for (let i = 1; i <= 20; i += 1) {
    fingers.move(1, { x: 150 + 2 * i, y: 200 - i });
    fingers.move(2, { x: 250 + 2 * i, y: 200 - i });
  }
  const now = planeAt(place, { x: 240, y: 180 });
  assert.ok(Math.hypot(now.column - held.column, now.row - held.row) < 1e-6);
  assert.ok(Math.abs(model.views.axial.zoom - 1) < 1e-9);
  model.stop();
});

test('a second finger ends the tool of the first: at once it takes back what that did, later it leaves it', () => {
  for (const [time, kept] of [[100, false], [900, true]] as const) {
    const { model, fingers } = hand('window');
    const begun = model.windowOf('volume');
    fingers.begin(1, { x: 100, y: 100 }, 0);
    draw(fingers, { x: 100, y: 100 }, { x: 60, y: 100 });
    const drawn = model.windowOf('volume');
    assert.notDeepEqual(drawn, begun);
    fingers.begin(2, { x: 200, y: 100 }, time);
    fingers.move(1, { x: 10, y: 300 });
    fingers.move(2, { x: 390, y: 10 });
    fingers.end(2, true);
    // The one that is left over does nothing.
    fingers.move(1, { x: 300, y: 300 });
    fingers.end(1, true);
    assert.deepEqual(model.windowOf('volume'), kept ? drawn : begun);
    model.stop();
  }
});

test('a second finger leaves no distance behind', () => {
  const { model, fingers } = hand('measure');
  fingers.begin(1, { x: 100, y: 100 }, 0);
  draw(fingers, { x: 100, y: 100 }, { x: 130, y: 100 });
  assert.equal(model.measures.length, 1);
  fingers.begin(2, { x: 200, y: 100 }, 90);
  assert.equal(model.measures.length, 0);
  model.stop();
});

test('with the cross hair a tap picks, a finger sideways drags, and one up or down is the page\'s', () => {
  const { model, place, fingers } = hand('crosshair');
  const begun = [...model.cursor];
  fingers.begin(1, { x: 100, y: 100 }, 0);
  draw(fingers, { x: 100, y: 100 }, { x: 110, y: 300 });
  fingers.end(1, true);
  assert.deepEqual(model.cursor, begun, 'a swipe');
  fingers.begin(1, { x: 100, y: 100 }, 0);
  fingers.end(1, false);
  assert.deepEqual(model.cursor, begun, 'the browser took the finger');
  const at = (point: Point) => [planeAt(place, point).column, planeAt(place, point).row, begun[2]];
  fingers.begin(1, { x: 100, y: 100 }, 0);
  fingers.move(1, { x: 104, y: 97 });
  fingers.end(1, true);
  assert.deepEqual(model.cursor, at({ x: 100, y: 100 }), 'a tap that trembles');
  fingers.begin(1, { x: 100, y: 100 }, 0);
  draw(fingers, { x: 100, y: 100 }, { x: 300, y: 160 });
  assert.deepEqual(model.cursor, at({ x: 300, y: 160 }), 'sideways');
  fingers.end(1, true);
  model.stop();
});
