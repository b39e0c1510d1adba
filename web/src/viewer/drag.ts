// What a pointer does to a plane between where it goes down and where it is lifted. Places are pixels of the pane.
import type { Axis } from '../api/types.ts';
import { type Pane, toPlane } from './geometry.ts';
import type { Shown, Tool, ViewerModel } from './model.ts';
import { draggedWindow } from './window_level.ts';

export type Action = Tool | 'zoom';

export interface Point {
  x: number;
  y: number;
}

// A plane of a volume on the screen.
export interface Place {
  readonly model: ViewerModel;
  readonly axis: Axis;
  readonly relation: Shown['relation'];
  readonly size: () => Pane;
}

export class Drag {
  private last: Point;

  constructor(private readonly place: Place, private readonly action: Action, private readonly begin: Point) {
    this.last = begin;
    const at = planeAt(place, begin);
    if (action === 'crosshair') place.model.pick(place.axis, at.column, at.row);
    if (action === 'measure') place.model.beginMeasure(place.axis, at.column, at.row);
  }

  to(point: Point): void {
    const { model, axis, relation, size } = this.place;
    const at = planeAt(this.place, point);
    const dx = point.x - this.last.x;
    const dy = point.y - this.last.y;
    this.last = point;
    switch (this.action) {
      case 'crosshair': model.pick(axis, at.column, at.row); break;
      case 'measure': model.dragMeasure(at.column, at.row); break;
      case 'pan': model.panBy(axis, size(), dx, dy); break;
      case 'zoom': model.zoomAt(axis, size(), this.begin.x, this.begin.y, Math.exp(-dy / 200)); break;
      case 'window': model.setWindow(relation, draggedWindow(model.windowOf(relation), dx, dy)); break;
    }
  }

  end(): void {
    if (this.action === 'measure') this.place.model.endMeasure();
  }
}

export function planeAt({ model, axis, size }: Place, at: Point): { column: number; row: number } {
  return toPlane(model.planes[axis], model.views[axis], size(), at.x, at.y);
}

// Position in pixels of the screen.
export function pixels(event: MouseEvent): Point {
  const ratio = devicePixelRatio || 1;
  return { x: event.offsetX * ratio, y: event.offsetY * ratio };
}
