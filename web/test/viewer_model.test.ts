import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Axis, Grid, Volume } from '../src/api/types.ts';
import type { Pane } from '../src/viewer/geometry.ts';
import { ViewerModel } from '../src/viewer/model.ts';
import { PRESETS } from '../src/viewer/window_level.ts';
import { keyOf } from '../src/viewer/slice_loader.ts';
import { levelFor, wishesOf } from '../src/viewer/wishes.ts';

const GRID: Grid = {
  nx: 1024, ny: 1024, nz: 800, spacing_mm: [0.25, 0.25, 0.25], origin_mm: [-128, -128, -100], direction: [1, 0, 0, 0, 1, 0, 0, 0, 1],
};

function volume(over: Partial<Volume> = {}): Volume {
  const levels = [0, 1, 2, 3].map((level) => {
    const n = (size: number) => Math.ceil(size / 2 ** level);
    const mm = 0.25 * 2 ** level;
    return { level, nx: n(1024), ny: n(1024), nz: n(800), spacing_mm: [mm, mm, mm] as [number, number, number] };
  });
  return { job_id: 'a', grid: GRID, version: '1', prepared: true, hu_min: -1024, hu_max: 3000, levels, ...over };
}

function model(): ViewerModel {
  const m = new ViewerModel(GRID);
  m.stop(); // timers of scrolling are of no interest
  return m;
}

const PANES = new Map<Axis, Pane>(['axial', 'coronal', 'sagittal'].map((a) => [a as Axis, { width: 400, height: 500 }]));

test('picking in one plane moves the others', () => {
  const m = model();
  m.pick('axial', 100, 200);
  assert.deepEqual(m.cursor, [100, 200, 399]);
  assert.deepEqual([m.sliceOf('sagittal'), m.sliceOf('coronal'), m.sliceOf('axial')], [100, 200, 399]);
  m.pick('coronal', -50, 5000);
  assert.deepEqual(m.cursor, [0, 200, 799], 'within the volume');
  m.stop();
});

test('scrolling stays within the volume and knows its way', () => {
  const m = model();
  m.scroll('axial', -5000);
  assert.equal(m.sliceOf('axial'), 0);
  assert.deepEqual(m.scrolled, { axis: 'axial', step: -1 });
  m.showSlice('axial', 12);
  assert.equal(m.sliceOf('axial'), 12);
  m.stop();
});

test('a distance belongs to its slice and is in millimetres; a click is none', () => {
  const m = model();
  m.beginMeasure('axial', 10, 10);
  m.dragMeasure(40, 50);
  m.endMeasure();
  assert.equal(m.lengthMm(m.measures[0]!), 12.5);
  assert.equal(m.measures[0]!.slice, 399);
  m.beginMeasure('axial', 10, 10);
  m.endMeasure();
  assert.equal(m.measures.length, 1);
});

test('differences have a window of their own until a preset is chosen', () => {
  const m = model();
  m.setWindow('subtraction', { center: 100, width: 200 });
  assert.notDeepEqual(m.windowOf('fill'), m.windowOf('subtraction'));
  m.usePreset(PRESETS[1]!.window);
  assert.deepEqual(m.windowOf('subtraction'), m.windowOf('fill'));
  m.useFullRange([volume(), volume({ hu_max: 3071 })]);
  assert.deepEqual(m.windowOf('fill'), { center: 1024, width: 4096 });
});

test('a pane loads no finer voxels than it has pixels', () => {
  const m = model();
  // 1024 voxels on 400 pixels: every second voxel would not be seen.
  assert.equal(levelFor(volume(), m, 'axial', PANES.get('axial')!), 1);
  m.zoomAt('axial', PANES.get('axial')!, 200, 250, 4);
  assert.equal(levelFor(volume(), m, 'axial', PANES.get('axial')!), 0);
  assert.equal(levelFor(volume({ prepared: false }), m, 'sagittal', PANES.get('axial')!), null);
  assert.equal(levelFor(volume({ prepared: false }), m, 'coronal', PANES.get('axial')!), 0);
});

test('what is looked at is wanted first, then the exact planes, then neighbours', () => {
  const m = model();
  const wishes = wishesOf(m, [volume()], PANES);
  assert.deepEqual(wishes.slice(0, 3).map(keyOf), ['a/1/axial/1/199', 'a/1/coronal/1/255', 'a/1/sagittal/1/255']);
  assert.deepEqual(wishes.slice(3, 6).map(keyOf), ['a/1/axial/0/399', 'a/1/coronal/0/511', 'a/1/sagittal/0/511']);
  assert.deepEqual(wishes.slice(6, 9).map(keyOf), ['a/1/axial/1/200', 'a/1/axial/1/198', 'a/1/axial/1/201']);
  const bytes = wishes.reduce((sum, w) => sum + 2 * 1024 * 1024 / 4 ** w.level, 0);
  assert.ok(bytes < 16e6, `${bytes} bytes for one look at a volume of 1.6 GB`);
});

test('while it scrolls coarser planes do', () => {
  const m = model();
  m.moving = true;
  const wishes = wishesOf(m, [volume()], PANES);
  assert.ok(wishes.every((w) => w.level >= 1));
  assert.equal(keyOf(wishes[0]!), 'a/1/axial/2/99');
});

test('volumes side by side take turns', () => {
  const m = model();
  m.setLayout('axial');
  const wishes = wishesOf(m, [volume(), volume({ job_id: 'b' })], PANES);
  assert.deepEqual(wishes.slice(0, 8).map((w) => w.jobId), ['a', 'b', 'a', 'b', 'a', 'b', 'a', 'b']);
  assert.equal(new Set(wishes.map(keyOf)).size, wishes.length, 'nothing is wanted twice');
});
