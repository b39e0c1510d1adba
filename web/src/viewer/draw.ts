// Paints the plane of a pane.
import type { Axis } from '../api/types.ts';
import { type Pane, type Plane, type View, pixelsPerMm, toScreen } from './geometry.ts';
import type { ViewerModel } from './model.ts';
import { type Slice, type SliceId, keyOf } from './slice_loader.ts';
import { type Window, applyTable, fillLookupTable } from './window_level.ts';

// Grey pixels of one plane, kept until plane or window change: panning and zooming then only move a picture.
export class PlaneImage {
  private readonly canvas = document.createElement('canvas');
  private readonly table = new Uint32Array(65536);
  private pixels: ImageData | null = null;
  private tableKey = '';
  private imageKey = '';

  // The picture of a plane, one pixel per sample.
  of(id: SliceId, slice: Slice, window: Window, inverted: boolean): HTMLCanvasElement {
    const tableKey = `${window.center}/${window.width}/${inverted}`;
    const imageKey = `${keyOf(id)} ${tableKey}`;
    if (imageKey === this.imageKey) return this.canvas;
    if (tableKey !== this.tableKey) fillLookupTable(this.table, window, inverted);
    this.tableKey = tableKey;
    this.imageKey = imageKey;
    if (this.canvas.width !== slice.columns || this.canvas.height !== slice.rows) {
      this.canvas.width = slice.columns;
      this.canvas.height = slice.rows;
    }
    const context = this.canvas.getContext('2d', { alpha: false, willReadFrequently: false })!;
    if (this.pixels?.width !== slice.columns || this.pixels.height !== slice.rows) {
      this.pixels = context.createImageData(slice.columns, slice.rows);
    }
    applyTable(slice.samples, this.table, new Uint32Array(this.pixels.data.buffer));
    context.putImageData(this.pixels, 0, 0);
    return this.canvas;
  }
}

// So far into the picture, and with voxels so large on the screen, somebody looks at voxels one by one, and what lies between them would be
// invented. Below it every picture is interpolated, in windows of any size.
const BLOCKS_ZOOM = 4;
const BLOCKS_PIXELS = 16;

// `ratio`: pixels of the screen in one of the page.
export function showsBlocks(plane: Plane, view: View, pane: Pane, ratio: number): boolean {
  return view.zoom >= BLOCKS_ZOOM && pixelsPerMm(plane, view, pane) * Math.min(plane.columnMm, plane.rowMm) >= BLOCKS_PIXELS * ratio;
}

// `context` draws in pixels of the screen; `quick`: another plane is about to come.
export function drawImage(
  context: CanvasRenderingContext2D, model: ViewerModel, axis: Axis, view: View, pane: Pane, image: HTMLCanvasElement, level: number,
  quick: boolean, ratio: number,
): void {
  const plane = model.planes[axis];
  const step = 2 ** level;
  // Edges of the first and behind the last voxel, in level-0 index coordinates.
  const first = toScreen(plane, view, pane, -0.5, -0.5);
  const last = toScreen(plane, view, pane, step * image.width - 0.5, step * image.height - 0.5);
  context.save();
  context.translate(first.x, first.y);
  context.scale((last.x - first.x) / image.width, (last.y - first.y) / image.height);
  context.imageSmoothingEnabled = !showsBlocks(plane, view, pane, ratio);
  context.imageSmoothingQuality = quick ? 'low' : 'high';
  context.drawImage(image, 0, 0);
  context.restore();
}
