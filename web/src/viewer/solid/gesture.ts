// Pointers on a pane in 3-D. Left button or one finger: turns, or the chosen tool; middle: moves; right: zooms; wheel or two fingers: zoom.
import type { Grid } from '../../api/types.ts';
import type { Shown, Tool } from '../model.ts';
import { draggedWindow } from '../window_level.ts';
import { extentMm } from './camera.ts';
import type { Solid } from './state.ts';

const DEGREES_PER_PIXEL = 0.5;

interface Point {
  x: number;
  y: number;
}
type Action = 'turn' | 'window' | 'pan' | 'zoom';

export class SolidGesture {
  private readonly pointers = new Map<number, Point>();
  private action: Action = 'turn';

  constructor(
    private readonly solid: Solid,
    private readonly grid: Grid,
    private readonly relation: Shown['relation'],
    private readonly tool: () => Tool,
  ) {}

  attach(canvas: HTMLCanvasElement, box: HTMLElement): () => void {
    const ended = new AbortController();
    const options = { signal: ended.signal };
    canvas.addEventListener('pointerdown', (event) => this.down(event, canvas, box), options);
    canvas.addEventListener('pointermove', (event) => this.move(event, canvas), options);
    for (const end of ['pointerup', 'pointercancel'] as const) {
      canvas.addEventListener(end, (event) => this.pointers.delete(event.pointerId), options);
    }
    canvas.addEventListener('contextmenu', (event) => event.preventDefault(), options);
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      this.solid.zoom(Math.exp(-event.deltaY / 500));
    }, { ...options, passive: false });
    return () => ended.abort();
  }

  private down(event: PointerEvent, canvas: HTMLCanvasElement, box: HTMLElement): void {
    event.preventDefault();
    box.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, pointOf(event));
    const tool = this.tool();
    const byButton: Record<number, Action> = { 0: tool === 'window' || tool === 'pan' ? tool : 'turn', 1: 'pan', 2: 'zoom' };
    if (this.pointers.size === 1) this.action = byButton[event.button] ?? 'turn';
  }

  private move(event: PointerEvent, canvas: HTMLCanvasElement): void {
    const from = this.pointers.get(event.pointerId);
    if (!from) return;
    const to = pointOf(event);
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.pointers.set(event.pointerId, to);
    if (other) {
      const before = Math.hypot(from.x - other.x, from.y - other.y);
      const after = Math.hypot(to.x - other.x, to.y - other.y);
      if (before > 0 && after > 0) this.solid.zoom(after / before);
      this.pan((to.x - from.x) / 2, (to.y - from.y) / 2, canvas);
      return;
    }
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    switch (this.action) {
      // What is at the pointer follows it.
      case 'turn': this.solid.turn(-dx * DEGREES_PER_PIXEL, dy * DEGREES_PER_PIXEL); break;
      case 'pan': this.pan(dx, dy, canvas); break;
      case 'zoom': this.solid.zoom(Math.exp(-dy / 200)); break;
      case 'window': this.solid.setWindow(this.relation, draggedWindow(this.solid.windowOf(this.relation), dx, dy)); break;
    }
  }

  private pan(dx: number, dy: number, canvas: HTMLCanvasElement): void {
    const { x } = extentMm(this.grid, this.solid.camera, canvas.clientWidth, canvas.clientHeight);
    const perPixel = (2 * x) / canvas.clientWidth;
    this.solid.pan(-dx * perPixel, dy * perPixel);
  }
}

function pointOf(event: MouseEvent): Point {
  return { x: event.offsetX, y: event.offsetY };
}
