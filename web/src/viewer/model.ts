// What the viewer shows: one position, one view per plane and one window, shared by all volumes side by side.
import type { Axis, Grid, Relation, Volume } from '../api/types.ts';
import {
  AXES, type Pane, type Plane, type Vec3, type View, clampIndex, distanceMm, fittingView, pannedBy, planeOf, zoomedAt,
} from './geometry.ts';
import { Solid } from './solid/state.ts';
import { PRESETS, type Window, clampWindow, fullWindow } from './window_level.ts';

export type Tool = 'crosshair' | 'window' | 'pan' | 'measure';
export type Layout = 'all' | Axis;

export interface Shown {
  jobId: string;
  relation: Relation | 'volume';
  name: string;
  // Null until the server has described it.
  volume: Volume | null;
  error: string | null;
}

export interface Measure {
  axis: Axis;
  slice: number;
  // Level-0 indices.
  from: Vec3;
  to: Vec3;
}

// What a drag can change.
export type Moment = Pick<ViewerModel, 'cursor' | 'views' | 'measures'> & { windows: Windows };
type Windows = Record<'tissue' | 'difference', Window>;

export interface Pointer {
  axis: Axis;
  column: number;
  row: number;
}

const SETTLE_MS = 150;
const SOFT = PRESETS[0]!.window;
const SUBTRACTED = PRESETS.find((p) => p.id === 'subtracted')!.window;

export class ViewerModel {
  readonly planes: Record<Axis, Plane>;
  // Level-0 index coordinates.
  cursor: Vec3;
  views: Record<Axis, View>;
  tool: Tool = 'crosshair';
  layout: Layout = 'all';
  crosshairShown = true;
  inverted = false;
  measures: Measure[] = [];
  pointer: Pointer | null = null;
  // The plane that was scrolled last, and which way: its neighbours are loaded ahead.
  scrolled: { axis: Axis; step: number } = { axis: 'axial', step: 1 };
  // While slices fly by, coarse ones do.
  moving = false;
  // Differences of two volumes need another window than tissue.
  private windows: Windows = { tissue: SOFT, difference: SUBTRACTED };
  // A distance that follows the cross hair.
  private measuring = false;
  readonly solid = new Solid(() => this.changed());
  private readonly listeners = new Set<() => void>();
  private settle: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly grid: Grid) {
    this.planes = Object.fromEntries(AXES.map((axis) => [axis, planeOf(grid, axis)])) as Record<Axis, Plane>;
    this.cursor = middleOf(grid);
    this.views = this.fitting();
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  stop(): void {
    clearTimeout(this.settle);
    this.solid.stop();
    this.listeners.clear();
  }

  axes(): readonly Axis[] {
    if (this.solid.place === 'alone') return [];
    return this.layout === 'all' ? AXES : [this.layout];
  }

  sliceOf(axis: Axis): number {
    return Math.round(this.cursor[this.planes[axis].through]!);
  }

  windowOf(relation: Shown['relation']): Window {
    return this.windows[relation === 'subtraction' ? 'difference' : 'tissue'];
  }

  setWindow(relation: Shown['relation'], window: Window): void {
    this.windows = { ...this.windows, [relation === 'subtraction' ? 'difference' : 'tissue']: clampWindow(window) };
    this.changed();
  }

  // One preset for all volumes: whoever asks for bone wants to see bone everywhere.
  usePreset(window: Window): void {
    this.windows = { tissue: window, difference: window };
    this.solid.useWindow(window);
    this.changed();
  }

  useFullRange(volumes: readonly Volume[]): void {
    const known = volumes.filter((v) => v.hu_min !== null && v.hu_max !== null);
    if (known.length === 0) return;
    this.usePreset(fullWindow(Math.min(...known.map((v) => v.hu_min!)), Math.max(...known.map((v) => v.hu_max!))));
  }

  scroll(axis: Axis, slices: number): void {
    const through = this.planes[axis].through;
    const cursor: Vec3 = [...this.cursor];
    this.measuring = false;
    cursor[through] = Math.round(cursor[through]!) + slices;
    this.scrolled = { axis, step: Math.sign(slices) || 1 };
    this.moveTo(cursor);
  }

  showSlice(axis: Axis, slice: number): void {
    this.scroll(axis, slice - this.sliceOf(axis));
  }

  // Puts the cross hair to a point of a plane; the other planes follow.
  pick(axis: Axis, column: number, row: number): void {
    const { across, down } = this.planes[axis];
    const cursor: Vec3 = [...this.cursor];
    cursor[across] = column;
    cursor[down] = row;
    this.moveTo(cursor);
    if (this.measuring && this.measures.at(-1)?.axis === axis) this.dragMeasure(this.cursor[across]!, this.cursor[down]!);
  }

  zoomAt(axis: Axis, pane: Pane, x: number, y: number, factor: number): void {
    this.setView(axis, zoomedAt(this.planes[axis], this.views[axis], pane, x, y, factor));
  }

  panBy(axis: Axis, pane: Pane, dx: number, dy: number): void {
    this.setView(axis, pannedBy(this.planes[axis], this.views[axis], pane, dx, dy));
  }

  setPointer(pointer: Pointer | null): void {
    if (pointer === null && this.pointer === null) return;
    this.pointer = pointer;
    this.changed();
  }

  setTool(tool: Tool): void {
    this.tool = tool;
    this.changed();
  }

  setLayout(layout: Layout): void {
    this.layout = layout;
    if (this.solid.place === 'alone') this.solid.place = 'beside';
    this.changed();
  }

  toggleInverted(): void {
    this.inverted = !this.inverted;
    this.changed();
  }

  toggleCrosshair(): void {
    this.crosshairShown = !this.crosshairShown;
    this.changed();
  }

  // The point of the shown slice at (column, row), as level-0 indices.
  pointOf(axis: Axis, column: number, row: number): Vec3 {
    const { across, down, through } = this.planes[axis];
    const point: Vec3 = [0, 0, 0];
    point[across] = column;
    point[down] = row;
    point[through] = this.sliceOf(axis);
    return point;
  }

  beginMeasure(axis: Axis, column: number, row: number): void {
    const point = this.pointOf(axis, column, row);
    this.measures = [...this.measures, { axis, slice: this.sliceOf(axis), from: point, to: point }];
    this.changed();
  }

  dragMeasure(column: number, row: number): void {
    const last = this.measures.at(-1);
    if (!last) return;
    this.measures = [...this.measures.slice(0, -1), { ...last, to: this.pointOf(last.axis, column, row) }];
    this.changed();
  }

  // A click without a way is no measurement.
  endMeasure(): void {
    const last = this.measures.at(-1);
    if (last && distanceMm(this.grid, last.from, last.to) < Math.min(...this.grid.spacing_mm) / 2) {
      this.measures = this.measures.slice(0, -1);
      this.changed();
    }
  }

  // Without a mouse: a distance from the cross hair to wherever it goes on this slice, until asked again.
  toggleMeasure(axis: Axis): void {
    this.measuring = !this.measuring;
    const { across, down } = this.planes[axis];
    if (this.measuring) this.beginMeasure(axis, this.cursor[across]!, this.cursor[down]!);
    else this.endMeasure();
  }

  clearMeasures(): void {
    this.measuring = false;
    this.measures = [];
    this.changed();
  }

  lengthMm({ from, to }: Measure): number {
    return distanceMm(this.grid, from, to);
  }

  moment(): Moment {
    return { cursor: this.cursor, views: this.views, measures: this.measures, windows: this.windows };
  }

  takeBack({ cursor, views, measures, windows }: Moment): void {
    this.views = views;
    this.measures = measures;
    this.windows = windows;
    this.moveTo(cursor);
  }

  // Everything but tool, layout and measurements as it was in the beginning.
  reset(): void {
    this.views = this.fitting();
    this.windows = { tissue: SOFT, difference: SUBTRACTED };
    this.inverted = false;
    this.solid.reset();
    this.moveTo(middleOf(this.grid));
  }

  private fitting(): Record<Axis, View> {
    return Object.fromEntries(AXES.map((axis) => [axis, fittingView(this.planes[axis])])) as Record<Axis, View>;
  }

  private setView(axis: Axis, view: View): void {
    this.views = { ...this.views, [axis]: view };
    this.changed();
  }

  private moveTo(cursor: Vec3): void {
    this.cursor = clampIndex(this.grid, cursor);
    this.moving = true;
    clearTimeout(this.settle);
    this.settle = setTimeout(() => {
      this.moving = false;
      this.changed();
    }, SETTLE_MS);
    this.changed();
  }

  private changed(): void {
    for (const listener of this.listeners) listener();
  }
}

function middleOf(grid: Grid): Vec3 {
  return [grid.nx, grid.ny, grid.nz].map((n) => Math.floor((n - 1) / 2)) as Vec3;
}
