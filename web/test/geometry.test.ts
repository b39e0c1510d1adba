import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Grid } from '../src/api/types.ts';
import { showsBlocks } from '../src/viewer/draw.ts';
import * as g from '../src/viewer/geometry.ts';

const GRID: Grid = {
  nx: 120, ny: 100, nz: 80, spacing_mm: [0.5, 1, 2], origin_mm: [-30, -50, -79], direction: [1, 0, 0, 0, 1, 0, 0, 0, 1],
};
const PANE = { width: 400, height: 300 };
const near = (a: number, b: number) => assert.ok(Math.abs(a - b) < 1e-9, `${a} is not ${b}`);

test('planes have the columns, rows and slices of the contract', () => {
  const size = (axis: 'axial' | 'coronal' | 'sagittal') => {
    const p = g.planeOf(GRID, axis);
    return [p.columns, p.rows, p.slices, p.columnMm, p.rowMm];
  };
  assert.deepEqual(size('axial'), [120, 100, 80, 0.5, 1]);
  assert.deepEqual(size('coronal'), [120, 80, 100, 0.5, 2]);
  assert.deepEqual(size('sagittal'), [100, 80, 120, 1, 2]);
});

test('left of the patient is on the right, the head and the front are at the top', () => {
  const edges = (grid: Grid) => g.AXES.map((axis) => Object.values(g.planeOf(grid, axis).edge).join(' '));
  const expected = ['R L A P', 'R L H F', 'A P H F'];
  assert.deepEqual(edges(GRID), expected);
  // Axes that run the other way are flipped, so that the patient looks the same.
  assert.deepEqual(edges({ ...GRID, direction: [-1, 0, 0, 0, -1, 0, 0, 0, -1] }), expected);
  assert.equal(g.planeOf(GRID, 'axial').flipY, false);
  assert.equal(g.planeOf(GRID, 'coronal').flipY, true);
  assert.equal(g.planeOf({ ...GRID, direction: [-1, 0, 0, 0, 1, 0, 0, 0, 1] }, 'axial').flipX, true);
});

test('planes are named for what they are to the patient', () => {
  const named = (grid: Grid) => g.AXES.map((axis) => g.planeOf(grid, axis)).map(({ name, normal }) => `${name} ${normal}`);
  assert.deepEqual(named(GRID), ['Axial 2', 'Coronal 1', 'Sagittal 0']);
  // On the right side: the grid's x runs to the back, its y to the right.
  assert.deepEqual(named({ ...GRID, direction: [0, -1, 0, 1, 0, 0, 0, 0, 1] }), ['Axial 2', 'Sagittal 0', 'Coronal 1']);
});

test('letters of oblique directions', () => {
  assert.equal(g.letters([0, 0, 1]), 'H');
  assert.equal(g.letters([-0.6, 0.8, 0]), 'PR');
  assert.equal(g.letters([0.1, 0.1, -0.99]), 'F');
});

test('the screen and the plane are inverses of each other', () => {
  for (const axis of g.AXES) {
    const plane = g.planeOf({ ...GRID, direction: [-1, 0, 0, 0, 1, 0, 0, 0, 1] }, axis);
    const view = { column: 31.25, row: 17, zoom: 2.5 };
    const at = g.toScreen(plane, view, PANE, 40, 20);
    const back = g.toPlane(plane, view, PANE, at.x, at.y);
    near(back.column, 40);
    near(back.row, 20);
  }
});

test('a plane that fits touches the nearer edges, with square millimetres', () => {
  const plane = g.planeOf(GRID, 'coronal');
  const view = g.fittingView(plane);
  // 60 mm x 160 mm in 400 x 300: the height limits.
  near(g.pixelsPerMm(plane, view, PANE), 300 / 160);
  near(g.toScreen(plane, view, PANE, 0, -0.5).y, 300);
  near(g.toScreen(plane, view, PANE, 0, 79.5).y, 0);
  const across = g.toScreen(plane, view, PANE, 20, 0).x - g.toScreen(plane, view, PANE, 0, 0).x;
  const up = g.toScreen(plane, view, PANE, 0, 0).y - g.toScreen(plane, view, PANE, 0, 5).y;
  near(across, up); // 10 mm each
});

test('zooming keeps what is under the pointer', () => {
  const plane = g.planeOf(GRID, 'axial');
  const view = g.fittingView(plane);
  const before = g.toPlane(plane, view, PANE, 90, 220);
  const after = g.toPlane(plane, g.zoomedAt(plane, view, PANE, 90, 220, 3), PANE, 90, 220);
  near(after.column, before.column);
  near(after.row, before.row);
  assert.equal(g.zoomedAt(plane, view, PANE, 0, 0, 1e6).zoom, 40);
});

test('panning moves the picture with the pointer', () => {
  const plane = g.planeOf(GRID, 'sagittal');
  const view = g.fittingView(plane);
  const grabbed = g.toPlane(plane, view, PANE, 100, 100);
  const moved = g.toPlane(plane, g.pannedBy(plane, view, PANE, 30, -12), PANE, 130, 88);
  near(moved.column, grabbed.column);
  near(moved.row, grabbed.row);
});

test('distances are in millimetres, whatever the spacing', () => {
  near(g.distanceMm(GRID, [0, 0, 0], [6, 4, 0]), 5);
  near(g.distanceMm(GRID, [0, 0, 0], [0, 0, 10]), 20);
});

test('world positions follow the direction', () => {
  assert.deepEqual(g.worldMm(GRID, [0, 0, 0]), [-30, -50, -79]);
  assert.deepEqual(g.worldMm(GRID, [2, 3, 4]), [-29, -47, -71]);
  // x axis along the world's y.
  assert.deepEqual(g.worldMm({ ...GRID, direction: [0, -1, 0, 1, 0, 0, 0, 0, 1] }, [2, 3, 4]), [-33, -49, -71]);
});

test('levels', () => {
  assert.equal(g.sliceAtLevel(79, 1, 40), 39);
  assert.equal(g.sliceAtLevel(80, 1, 40), 39);
  // Voxels of 2, 1, 0.51, 0.5, 0.24 pixels.
  assert.deepEqual([2, 1, 0.51, 0.5, 0.24, 0.01].map((p) => g.levelForScale(4, p)), [0, 0, 0, 1, 2, 3]);
});

test('grids are compared by where their voxels are', () => {
  assert.ok(g.sameGrid(GRID, { ...GRID, direction: [] }));
  assert.ok(!g.sameGrid(GRID, { ...GRID, nx: 121 }));
  assert.ok(!g.sameGrid(GRID, { ...GRID, origin_mm: [-30, -50, -78] }));
});

test('a plane is interpolated in windows of any size, and shows voxels as blocks only from four times on where they are large', () => {
  const plane = g.planeOf({ ...GRID, nx: 96, ny: 96, nz: 96, spacing_mm: [1, 1, 1] }, 'axial');
  const view = g.fittingView(plane);
  const blocks = (size: number, zoom: number, ratio = 1) => showsBlocks(plane, { ...view, zoom }, { width: size * ratio, height: size * ratio }, ratio);
  for (const size of [300, 600, 1200, 2400]) assert.equal(blocks(size, 1), false, `${size} pixels`);
  assert.equal(blocks(480, 3.9), false);
  assert.equal(blocks(480, 4), true);
  assert.equal(blocks(300, 4), false, 'voxels of 12.5 pixels');
  assert.equal(blocks(300, 6), true);
  // Whatever the pixels of a screen are.
  assert.equal(blocks(300, 4, 2), false);
  assert.equal(blocks(480, 4, 2), true);
});
