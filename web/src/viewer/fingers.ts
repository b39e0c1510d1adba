// Fingers on a plane. One: the chosen tool; with the cross hair, which nobody need have chosen, a swipe up or down is left to the page,
// which scrolls (style/viewer.css). Two: pan and zoom, whatever the tool.
import { Drag, type Place, type Point, planeAt } from './drag.ts';
import type { Moment } from './model.ts';

// Two fingers of one hand do not come down at once: what the first has done until then was not meant.
export const SECOND_FINGER_MS = 150;
// Pixels of CSS within which a finger rests; browsers wait about as long before they scroll.
export const REST_PIXELS = 10;

// What one finger is about: nothing yet, the tool, or nothing any more.
type State = { is: 'resting' } | { is: 'dragging'; drag: Drag } | { is: 'over' };

export class Fingers {
  // The first two that came down and where they are, pixels of the pane.
  private readonly down = new Map<number, Point>();
  private state: State = { is: 'over' };
  private first: { at: Point; time: number; before: Moment } | null = null;

  // `ratio`: pixels of the screen for one of CSS.
  constructor(private readonly place: Place, private readonly ratio: () => number) {}

  // Time in milliseconds, of any clock.
  begin(id: number, at: Point, time: number): void {
    if (this.down.size === 2) return;
    this.down.set(id, at);
    const { model } = this.place;
    if (this.down.size === 2) {
      this.stop(this.first !== null && time - this.first.time <= SECOND_FINGER_MS);
      return;
    }
    this.first = { at, time, before: model.moment() };
    this.state = model.tool === 'crosshair' ? { is: 'resting' } : { is: 'dragging', drag: new Drag(this.place, model.tool, at) };
  }

  move(id: number, to: Point): void {
    const from = this.down.get(id);
    if (!from) return;
    this.down.set(id, to);
    const other = [...this.down].find(([each]) => each !== id)?.[1];
    if (other) this.pinch(from, to, other);
    else this.moveOne(to);
  }

  // `lifted`: by its owner, rather than taken by the browser, which scrolls.
  end(id: number, lifted: boolean): void {
    if (!this.down.delete(id)) return;
    // The one that remains of two does nothing: it is about to be lifted, too.
    if (this.down.size > 0) return;
    if (lifted && this.state.is === 'resting') this.state = { is: 'dragging', drag: new Drag(this.place, 'crosshair', this.first!.at) };
    this.stop(false);
  }

  private moveOne(to: Point): void {
    const { model, axis } = this.place;
    if (this.state.is === 'resting') {
      const [dx, dy] = [Math.abs(to.x - this.first!.at.x), Math.abs(to.y - this.first!.at.y)];
      if (Math.max(dx, dy) <= REST_PIXELS * this.ratio()) return;
      this.state = dx > dy ? { is: 'dragging', drag: new Drag(this.place, 'crosshair', to) } : { is: 'over' };
    }
    if (this.state.is !== 'dragging') return;
    this.state.drag.to(to);
    model.setPointer({ axis, ...planeAt(this.place, to) });
  }

  // What is between the fingers stays there.
  private pinch(from: Point, to: Point, other: Point): void {
    const { model, axis, size } = this.place;
    const before = Math.hypot(from.x - other.x, from.y - other.y);
    const after = Math.hypot(to.x - other.x, to.y - other.y);
    model.panBy(axis, size(), (to.x - from.x) / 2, (to.y - from.y) / 2);
    if (before > 0 && after > 0) model.zoomAt(axis, size(), (to.x + other.x) / 2, (to.y + other.y) / 2, after / before);
  }

  private stop(takeBack: boolean): void {
    if (takeBack && this.first) this.place.model.takeBack(this.first.before);
    else if (this.state.is === 'dragging') this.state.drag.end();
    this.place.model.setPointer(null);
    this.state = { is: 'over' };
    this.first = null;
  }
}
