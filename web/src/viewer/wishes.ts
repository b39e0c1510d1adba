// Which planes the viewer needs, the most urgent first.
import type { Axis, Volume } from '../api/types.ts';
import { type Pane, levelForScale, pixelsPerMm, sliceAtLevel, slicesOf } from './geometry.ts';
import type { ViewerModel } from './model.ts';
import type { SliceId } from './slice_loader.ts';

// Planes ahead of the one that is shown, and behind it.
const AHEAD = 8;
const BEHIND = 2;
// Planes with more samples than this are loaded ahead at the next coarser level.
const HEAVY_SAMPLES = 600 * 600;

export function sliceId(volume: Volume, axis: Axis, level: number, index: number): SliceId {
  const slices = slicesOf(volume.levels[level]!, axis);
  return { jobId: volume.job_id, version: volume.version, axis, level, index: sliceAtLevel(index, level, slices) };
}

// The level that a pane can show; null where the server has none of it yet.
export function levelFor(volume: Volume, model: ViewerModel, axis: Axis, pane: Pane): number | null {
  if (!volume.prepared) return axis === 'sagittal' ? null : 0;
  const plane = model.planes[axis];
  const perVoxel = pixelsPerMm(plane, model.views[axis], pane) * Math.min(plane.columnMm, plane.rowMm);
  return levelForScale(volume.levels.length, perVoxel);
}

function coarser(volume: Volume, level: number): number {
  return volume.prepared ? Math.min(level + 1, volume.levels.length - 1) : level;
}

// `panes`: size of each plane's panes in pixels of the screen.
export function wishesOf(model: ViewerModel, volumes: readonly Volume[], panes: ReadonlyMap<Axis, Pane>): SliceId[] {
  const now: SliceId[] = [];
  const exact: SliceId[] = [];
  const ahead: SliceId[] = [];
  for (const axis of model.axes()) {
    const pane = panes.get(axis);
    if (!pane || pane.width < 1 || pane.height < 1) continue;
    const slice = model.sliceOf(axis);
    for (const volume of volumes) {
      const level = levelFor(volume, model, axis, pane);
      if (level === null) continue;
      now.push(sliceId(volume, axis, model.moving ? coarser(volume, level) : level, slice));
      // Hounsfield units are read from the volume itself.
      if (!model.moving && level > 0) exact.push(sliceId(volume, axis, 0, slice));
      if (axis === model.scrolled.axis) ahead.push(...neighbours(model, volume, axis, level));
    }
  }
  return [...now, ...exact, ...interleaved(ahead, volumes.length)];
}

function neighbours(model: ViewerModel, volume: Volume, axis: Axis, level: number): SliceId[] {
  const plane = model.planes[axis];
  const heavy = (plane.columns * plane.rows) / 4 ** level > HEAVY_SAMPLES;
  const at = heavy ? coarser(volume, level) : level;
  const { step } = model.scrolled;
  const ids: SliceId[] = [];
  for (let i = 1; i <= AHEAD; i += 1) {
    const offsets = i <= BEHIND ? [i * step, -i * step] : [i * step];
    for (const offset of offsets) {
      const slice = model.sliceOf(axis) + offset * 2 ** at;
      if (slice >= 0 && slice < plane.slices) ids.push(sliceId(volume, axis, at, slice));
    }
  }
  return ids;
}

// Takes turns between volumes, so that all of them are ahead by as much.
function interleaved(ids: SliceId[], volumes: number): SliceId[] {
  const length = Math.ceil(ids.length / Math.max(1, volumes));
  const result: SliceId[] = [];
  for (let i = 0; i < length; i += 1) {
    for (let v = 0; v < volumes; v += 1) {
      const id = ids[v * length + i];
      if (id) result.push(id);
    }
  }
  return result;
}
