// Paints one pane: the plane's pixels, then lines on top.
import type { Axis } from '../api/types.ts';
import { type Pane, type View, toScreen } from './geometry.ts';
import type { ViewerModel } from './model.ts';
import { type Slice, type SliceId, keyOf } from './slice_loader.ts';
import { type Window, applyTable, fillLookupTable } from './window_level.ts';

export interface Colours {
  crosshair: string;
  measure: string;
  background: string;
}

// Grey pixels of one plane, kept until plane or window change: panning and zooming then only move a picture.
export class PlaneImage {
  private readonly canvas = document.createElement('canvas');
  private readonly table = new Uint32Array(65536);
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
    const image = context.createImageData(slice.columns, slice.rows);
    applyTable(slice.samples, this.table, new Uint32Array(image.data.buffer));
    context.putImageData(image, 0, 0);
    return this.canvas;
  }
}

// `context` draws in pixels of the screen.
export function drawImage(
  context: CanvasRenderingContext2D, model: ViewerModel, axis: Axis, view: View, pane: Pane, image: HTMLCanvasElement, level: number,
): void {
  const plane = model.planes[axis];
  const step = 2 ** level;
  // Edges of the first and behind the last voxel, in level-0 index coordinates.
  const first = toScreen(plane, view, pane, -0.5, -0.5);
  const last = toScreen(plane, view, pane, step * image.width - 0.5, step * image.height - 0.5);
  context.save();
  context.translate(first.x, first.y);
  context.scale((last.x - first.x) / image.width, (last.y - first.y) / image.height);
  const magnified = Math.abs(last.x - first.x) / image.width;
  // Beyond this, voxels are looked at one by one, and blurred edges would be invented.
  context.imageSmoothingEnabled = magnified < 8;
  context.imageSmoothingQuality = 'high';
  context.drawImage(image, 0, 0);
  context.restore();
}

export function drawOverlay(
  context: CanvasRenderingContext2D, model: ViewerModel, axis: Axis, view: View, pane: Pane, colours: Colours, ratio: number,
): void {
  const plane = model.planes[axis];
  if (model.crosshairShown) {
    const at = toScreen(plane, view, pane, model.cursor[plane.across]!, model.cursor[plane.down]!);
    const x = Math.round(at.x) + 0.5;
    const y = Math.round(at.y) + 0.5;
    const gap = 10 * ratio;
    context.strokeStyle = colours.crosshair;
    context.lineWidth = Math.max(1, Math.round(ratio));
    context.beginPath();
    for (const [x0, y0, x1, y1] of [[0, y, x - gap, y], [x + gap, y, pane.width, y], [x, 0, x, y - gap], [x, y + gap, x, pane.height]] as const) {
      context.moveTo(x0, y0);
      context.lineTo(x1, y1);
    }
    context.stroke();
  }
  for (const measure of model.measures) {
    if (measure.axis !== axis || measure.slice !== model.sliceOf(axis)) continue;
    const a = toScreen(plane, view, pane, measure.from[plane.across]!, measure.from[plane.down]!);
    const b = toScreen(plane, view, pane, measure.to[plane.across]!, measure.to[plane.down]!);
    drawMeasure(context, a, b, `${model.lengthMm(measure).toFixed(1)} mm`, colours, ratio);
  }
}

function drawMeasure(
  context: CanvasRenderingContext2D, a: { x: number; y: number }, b: { x: number; y: number }, text: string, colours: Colours, ratio: number,
): void {
  context.strokeStyle = colours.measure;
  context.fillStyle = colours.measure;
  context.lineWidth = 1.5 * ratio;
  context.beginPath();
  context.moveTo(a.x, a.y);
  context.lineTo(b.x, b.y);
  context.stroke();
  for (const end of [a, b]) {
    context.beginPath();
    context.arc(end.x, end.y, 3 * ratio, 0, 2 * Math.PI);
    context.fill();
  }
  context.font = `600 ${13 * ratio}px system-ui, sans-serif`;
  const right = a.x > b.x ? a : b;
  const width = context.measureText(text).width;
  const x = Math.min(right.x + 8 * ratio, context.canvas.width - width - 8 * ratio);
  context.fillStyle = colours.background;
  context.fillRect(x - 4 * ratio, right.y - 10 * ratio, width + 8 * ratio, 20 * ratio);
  context.fillStyle = colours.measure;
  context.textBaseline = 'middle';
  context.fillText(text, x, right.y);
}
