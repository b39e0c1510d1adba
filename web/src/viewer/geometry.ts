// Planes of a volume on a screen. Volumes are [z][y][x]; index (0,0,0) is the centre of the first voxel; the world is the
// patient's (LPS: x to the left, y to the back, z to the head; docs/dicom.md).
import type { Axis, Grid, Level } from '../api/types.ts';

export type Vec3 = [number, number, number];
export const AXES: readonly Axis[] = ['axial', 'coronal', 'sagittal'];

// Which index axis (0 x, 1 y, 2 z) runs along a plane's columns, its rows, and through its slices.
const AXIS_OF: Record<Axis, { across: number; down: number; through: number }> = {
  axial: { across: 0, down: 1, through: 2 },
  coronal: { across: 0, down: 2, through: 1 },
  sagittal: { across: 1, down: 2, through: 0 },
};

export interface Plane {
  axis: Axis;
  // What it is to the patient: of one who lies on the side, the grid's coronal planes are sagittal.
  name: string;
  // The world axis (0 x, 1 y, 2 z) that its slices follow most closely.
  normal: number;
  across: number;
  down: number;
  through: number;
  columns: number;
  rows: number;
  slices: number;
  // Voxel distance along columns and rows.
  columnMm: number;
  rowMm: number;
  sliceMm: number;
  // Whether rising indices run to the left, or upwards, on the screen.
  flipX: boolean;
  flipY: boolean;
  // What is at the edges of the screen, e.g. "R"; empty where the grid is tilted too far to say.
  edge: { left: string; right: string; top: string; bottom: string };
}

export function sizes(grid: { nx: number; ny: number; nz: number }): Vec3 {
  return [grid.nx, grid.ny, grid.nz];
}

// Unit vector of an index axis in the world.
export function axisDirection(grid: Grid, axis: number): Vec3 {
  const d = grid.direction.length === 9 ? grid.direction : [1, 0, 0, 0, 1, 0, 0, 0, 1];
  return [d[axis]!, d[3 + axis]!, d[6 + axis]!];
}

// Letters of the directions that a vector has by more than a quarter, strongest first, as DICOM's patient orientation.
export function letters(v: Vec3): string {
  const names = [['L', 'R'], ['P', 'A'], ['H', 'F']] as const;
  return [0, 1, 2]
    .filter((i) => Math.abs(v[i]!) > 0.25)
    .sort((a, b) => Math.abs(v[b]!) - Math.abs(v[a]!))
    .map((i) => names[i]![v[i]! > 0 ? 0 : 1])
    .join('');
}

// By normal.
const PLANE_NAMES = ['Sagittal', 'Coronal', 'Axial'];

function dominant(v: Vec3): number {
  const [x, y, z] = v.map(Math.abs) as Vec3;
  return x >= y && x >= z ? 0 : y >= z ? 1 : 2;
}

// The plane as radiologists look at it: the patient's left on the right of the screen (seen from the feet, or from the front),
// the front on the left or at the top, the head at the top.
export function planeOf(grid: Grid, axis: Axis): Plane {
  const { across, down, through } = AXIS_OF[axis];
  const n = sizes(grid);
  const right = axisDirection(grid, across);
  const bottom = axisDirection(grid, down);
  const flipX = right[dominant(right)]! < 0;
  // Down the screen: to the back, but to the feet where rows run along the body.
  const wanted = dominant(bottom) === 2 ? -1 : 1;
  const flipY = bottom[dominant(bottom)]! * wanted < 0;
  const normal = dominant(axisDirection(grid, through));
  const negated = (v: Vec3, yes: boolean): Vec3 => (yes ? [-v[0], -v[1], -v[2]] : v);
  const toRight = negated(right, flipX);
  const toBottom = negated(bottom, flipY);
  return {
    axis, name: PLANE_NAMES[normal]!, normal, across, down, through,
    columns: n[across]!, rows: n[down]!, slices: n[through]!,
    columnMm: grid.spacing_mm[across]!, rowMm: grid.spacing_mm[down]!, sliceMm: grid.spacing_mm[through]!,
    flipX, flipY,
    edge: {
      left: letters(negated(toRight, true)), right: letters(toRight),
      top: letters(negated(toBottom, true)), bottom: letters(toBottom),
    },
  };
}

// Where a plane lies in its pane. All panes of a plane share it, so that they move together.
export interface View {
  // Index coordinates (column, row) that are at the middle of the pane.
  column: number;
  row: number;
  // 1: the plane fits the pane.
  zoom: number;
}

export function fittingView(plane: Plane): View {
  return { column: (plane.columns - 1) / 2, row: (plane.rows - 1) / 2, zoom: 1 };
}

export interface Pane {
  // Size in pixels.
  width: number;
  height: number;
}

// Pixels of the pane for one millimetre.
export function pixelsPerMm(plane: Plane, view: View, pane: Pane): number {
  const fit = Math.min(pane.width / (plane.columns * plane.columnMm), pane.height / (plane.rows * plane.rowMm));
  return fit * view.zoom;
}

const LONGEST_SCALE = 0.25;

// Of a pane's scale bar: its length, the longest of 1, 2 and 5 times a power of ten that fits a quarter of the pane, and what part of the
// pane's width that is.
export function scaleOf(plane: Plane, view: View, pane: Pane): { mm: number; part: number } {
  const paneMm = pane.width / pixelsPerMm(plane, view, pane);
  // Widths that are a quarter but for rounding are one.
  const longest = LONGEST_SCALE * paneMm * (1 + 1e-9);
  const decade = Math.floor(Math.log10(longest));
  // Of a text: 5 x 0.1 and their like are not always what they look like.
  const lengths = [5, 2, 1].map((digit) => Number(`${digit}e${decade}`));
  const mm = lengths.find((length) => length <= longest)!;
  return { mm, part: mm / paneMm };
}

// Index coordinates to pixels of the pane; centres of voxels are whole numbers.
export function toScreen(plane: Plane, view: View, pane: Pane, column: number, row: number): { x: number; y: number } {
  const scale = pixelsPerMm(plane, view, pane);
  return {
    x: pane.width / 2 + (plane.flipX ? -1 : 1) * (column - view.column) * plane.columnMm * scale,
    y: pane.height / 2 + (plane.flipY ? -1 : 1) * (row - view.row) * plane.rowMm * scale,
  };
}

export function toPlane(plane: Plane, view: View, pane: Pane, x: number, y: number): { column: number; row: number } {
  const scale = pixelsPerMm(plane, view, pane);
  return {
    column: view.column + ((plane.flipX ? -1 : 1) * (x - pane.width / 2)) / (plane.columnMm * scale),
    row: view.row + ((plane.flipY ? -1 : 1) * (y - pane.height / 2)) / (plane.rowMm * scale),
  };
}

// The view after zooming by a factor while what is at pixel (x, y) stays there.
export function zoomedAt(plane: Plane, view: View, pane: Pane, x: number, y: number, factor: number): View {
  const zoom = Math.min(40, Math.max(0.25, view.zoom * factor));
  const fixed = toPlane(plane, view, pane, x, y);
  const after = toPlane(plane, { ...view, zoom }, pane, x, y);
  return { column: view.column + fixed.column - after.column, row: view.row + fixed.row - after.row, zoom };
}

export function pannedBy(plane: Plane, view: View, pane: Pane, dx: number, dy: number): View {
  const middle = toPlane(plane, view, pane, pane.width / 2 - dx, pane.height / 2 - dy);
  return { ...view, column: middle.column, row: middle.row };
}

// Distance of two points given by level-0 indices. The grid's axes are orthonormal in the world.
export function distanceMm(grid: Grid, a: Vec3, b: Vec3): number {
  return Math.hypot(...a.map((value, i) => (value - b[i]!) * grid.spacing_mm[i]!));
}

// World position, mm, of level-0 indices.
export function worldMm(grid: Grid, index: Vec3): Vec3 {
  const world: Vec3 = [...grid.origin_mm];
  for (let axis = 0; axis < 3; axis += 1) {
    const direction = axisDirection(grid, axis);
    for (let i = 0; i < 3; i += 1) world[i]! += direction[i]! * grid.spacing_mm[axis]! * index[axis]!;
  }
  return world;
}

export function clampIndex(grid: Grid, index: Vec3): Vec3 {
  const n = sizes(grid);
  return index.map((value, i) => Math.min(n[i]! - 1, Math.max(0, value))) as Vec3;
}

// The slice of level L that holds slice `index` of level 0.
export function sliceAtLevel(index: number, level: number, slices: number): number {
  return Math.min(slices - 1, Math.floor(index / 2 ** level));
}

export function slicesOf(level: Level, axis: Axis): number {
  return sizes(level)[AXIS_OF[axis].through]!;
}

// The coarsest level whose voxels are no larger than a pixel of the screen: more would not be seen.
export function levelForScale(levels: number, pixelsPerVoxel: number): number {
  if (!(pixelsPerVoxel > 0)) return 0;
  return Math.max(0, Math.min(levels - 1, Math.floor(-Math.log2(pixelsPerVoxel) + 1e-9)));
}

// Whether voxels of both are at the same places.
export function sameGrid(a: Grid, b: Grid): boolean {
  const near = (x: number, y: number) => Math.abs(x - y) < 1e-6;
  return a.nx === b.nx && a.ny === b.ny && a.nz === b.nz
    && a.spacing_mm.every((value, i) => near(value, b.spacing_mm[i]!))
    && a.origin_mm.every((value, i) => near(value, b.origin_mm[i]!))
    && [0, 1, 2].every((axis) => axisDirection(a, axis).every((value, i) => near(value, axisDirection(b, axis)[i]!)));
}
