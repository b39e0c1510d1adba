// Pointers on a pane. Mouse and pen: left button: the chosen tool; middle: pan; right: zoom; wheel: slices, with Ctrl: zoom. Fingers:
// fingers.ts.
import { type Action, Drag, type Place, pixels, planeAt } from './drag.ts';
import { Fingers } from './fingers.ts';

// A notch of a mouse's wheel is about a hundred pixels; touch pads send many small steps.
const WHEEL_PIXELS = 60;

export class Gesture {
  private drag: Drag | null = null;
  private pen = false;
  private wheel = 0;
  private readonly fingers: Fingers;

  constructor(private readonly place: Place) {
    this.fingers = new Fingers(place, () => devicePixelRatio || 1);
  }

  attach(canvas: HTMLCanvasElement, box: HTMLElement): () => void {
    const ended = new AbortController();
    const options = { signal: ended.signal };
    canvas.addEventListener('pointerdown', (event) => this.down(event, canvas, box), options);
    canvas.addEventListener('pointermove', (event) => this.move(event), options);
    for (const end of ['pointerup', 'pointercancel'] as const) canvas.addEventListener(end, (event) => this.up(event), options);
    canvas.addEventListener('pointerleave', () => this.place.model.setPointer(null), options);
    canvas.addEventListener('contextmenu', (event) => event.preventDefault(), options);
    canvas.addEventListener('wheel', (event) => this.turn(event), { ...options, passive: false });
    // One finger may scroll the page; two, and a pen, are for the plane alone.
    for (const touch of ['touchstart', 'touchmove'] as const) {
      canvas.addEventListener(touch, (event) => {
        if (event.cancelable && (this.pen || event.targetTouches.length > 1)) event.preventDefault();
      }, { ...options, passive: false });
    }
    return () => ended.abort();
  }

  private down(event: PointerEvent, canvas: HTMLCanvasElement, box: HTMLElement): void {
    const byButton: Record<number, Action> = { 0: this.place.model.tool, 1: 'pan', 2: 'zoom' };
    const action = byButton[event.button];
    if (this.drag !== null || action === undefined) return;
    this.pen = event.pointerType === 'pen';
    event.preventDefault();
    box.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    if (event.pointerType === 'touch') this.fingers.begin(event.pointerId, pixels(event), event.timeStamp);
    else this.drag = new Drag(this.place, action, pixels(event));
  }

  private move(event: PointerEvent): void {
    const to = pixels(event);
    if (event.pointerType === 'touch') {
      this.fingers.move(event.pointerId, to);
      return;
    }
    this.place.model.setPointer({ axis: this.place.axis, ...planeAt(this.place, to) });
    this.drag?.to(to);
  }

  private up(event: PointerEvent): void {
    if (event.pointerType === 'touch') {
      this.fingers.end(event.pointerId, event.type === 'pointerup');
      return;
    }
    this.drag?.end();
    this.drag = null;
  }

  private turn(event: WheelEvent): void {
    const { model, axis, size } = this.place;
    event.preventDefault();
    if (event.ctrlKey) {
      const at = pixels(event);
      model.zoomAt(axis, size(), at.x, at.y, Math.exp(-event.deltaY / 300));
      return;
    }
    this.wheel += event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? event.deltaY : event.deltaY * WHEEL_PIXELS;
    const slices = Math.trunc(this.wheel / WHEEL_PIXELS);
    if (slices === 0) return;
    this.wheel -= slices * WHEEL_PIXELS;
    model.scroll(axis, -slices);
  }
}
