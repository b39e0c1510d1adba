// Pointer movements on a pane. Left button: the chosen tool; middle: pan; right: zoom; wheel: slices, with Ctrl: zoom.
import type { Axis } from '../api/types.ts';
import { type Pane, toPlane } from './geometry.ts';
import type { Shown, Tool, ViewerModel } from './model.ts';
import { draggedWindow } from './window_level.ts';

type Action = Tool | 'zoom';

// A notch of a mouse's wheel is about a hundred pixels; touch pads send many small steps.
const WHEEL_PIXELS = 60;

export class Gesture {
  private action: Action | null = null;
  private last = { x: 0, y: 0 };
  private begin = { x: 0, y: 0 };
  private wheel = 0;

  constructor(
    private readonly model: ViewerModel,
    private readonly axis: Axis,
    private readonly relation: Shown['relation'],
    private readonly size: () => Pane,
  ) {}

  attach(canvas: HTMLCanvasElement, box: HTMLElement): () => void {
    const ended = new AbortController();
    const options = { signal: ended.signal };
    canvas.addEventListener('pointerdown', (event) => this.down(event, canvas, box), options);
    canvas.addEventListener('pointermove', (event) => this.move(event), options);
    canvas.addEventListener('pointerup', () => this.up(), options);
    canvas.addEventListener('pointercancel', () => this.up(), options);
    canvas.addEventListener('pointerleave', () => this.model.setPointer(null), options);
    canvas.addEventListener('contextmenu', (event) => event.preventDefault(), options);
    canvas.addEventListener('wheel', (event) => this.turn(event), { ...options, passive: false });
    return () => ended.abort();
  }

  private down(event: PointerEvent, canvas: HTMLCanvasElement, box: HTMLElement): void {
    if (this.action !== null) return;
    const byButton: Record<number, Action> = { 0: this.model.tool, 1: 'pan', 2: 'zoom' };
    const action = byButton[event.button];
    if (action === undefined) return;
    event.preventDefault();
    box.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    this.action = action;
    this.last = this.begin = pixels(event);
    const at = this.plane(this.last);
    if (action === 'crosshair') this.model.pick(this.axis, at.column, at.row);
    if (action === 'measure') this.model.beginMeasure(this.axis, at.column, at.row);
  }

  private move(event: PointerEvent): void {
    const to = pixels(event);
    const at = this.plane(to);
    this.model.setPointer({ axis: this.axis, column: at.column, row: at.row });
    const dx = to.x - this.last.x;
    const dy = to.y - this.last.y;
    this.last = to;
    switch (this.action) {
      case 'crosshair': this.model.pick(this.axis, at.column, at.row); break;
      case 'measure': this.model.dragMeasure(at.column, at.row); break;
      case 'pan': this.model.panBy(this.axis, this.size(), dx, dy); break;
      case 'zoom': this.model.zoomAt(this.axis, this.size(), this.begin.x, this.begin.y, Math.exp(-dy / 200)); break;
      case 'window': this.model.setWindow(this.relation, draggedWindow(this.model.windowOf(this.relation), dx, dy)); break;
      case null: break;
    }
  }

  private up(): void {
    if (this.action === 'measure') this.model.endMeasure();
    this.action = null;
  }

  private turn(event: WheelEvent): void {
    event.preventDefault();
    if (event.ctrlKey) {
      const at = pixels(event);
      this.model.zoomAt(this.axis, this.size(), at.x, at.y, Math.exp(-event.deltaY / 300));
      return;
    }
    this.wheel += event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? event.deltaY : event.deltaY * WHEEL_PIXELS;
    const slices = Math.trunc(this.wheel / WHEEL_PIXELS);
    if (slices === 0) return;
    this.wheel -= slices * WHEEL_PIXELS;
    this.model.scroll(this.axis, -slices);
  }

  private plane(at: { x: number; y: number }): { column: number; row: number } {
    return toPlane(this.model.planes[this.axis], this.model.views[this.axis], this.size(), at.x, at.y);
  }
}

// Position in pixels of the screen.
function pixels(event: MouseEvent): { x: number; y: number } {
  const ratio = devicePixelRatio || 1;
  return { x: event.offsetX * ratio, y: event.offsetY * ratio };
}
