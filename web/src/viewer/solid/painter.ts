// Draws the newest scene that is wanted: while it moves as finely as is quick, at rest whole, in strips, so that neither a slow
// graphics processor nor a browser without one holds up the page.
import type { Renderer, Scene } from './renderer.ts';

export interface Wish {
  scene: Scene;
  width: number;
  height: number;
  // A finer picture would be late.
  moving: boolean;
}

// `part`: of the renderer's canvas, from its lower left corner.
export type Show = (part: { width: number; height: number }, final: Wish | null) => void;

const QUICK_MS = 40;
const STRIP_MS = 60;
const FEWEST_PIXELS = 64 * 64;
const QUICK_STEP = 1;
const FINE_STEP = 0.5;
// Of the newest measurement in the mean.
const NEWS = 0.3;

export class Painter {
  private wish: Wish | null = null;
  private running = false;
  private stopped = false;
  // Of a fine picture; a guess until something was drawn.
  private msPerPixel = 1e-3;

  constructor(private readonly renderer: Renderer, private readonly show: Show) {}

  want(wish: Wish): void {
    this.wish = wish;
    if (!this.running) void this.run();
  }

  stop(): void {
    this.stopped = true;
    this.wish = null;
  }

  private async run(): Promise<void> {
    this.running = true;
    while (this.wish && !this.stopped) {
      const { wish } = this;
      const { canvas } = this.renderer;
      if (canvas.width !== wish.width) canvas.width = wish.width;
      if (canvas.height !== wish.height) canvas.height = wish.height;
      await this.quick(wish);
      if (this.wish === wish && !wish.moving) await this.fine(wish);
      if (this.wish === wish) this.wish = null;
    }
    this.running = false;
  }

  private async quick(wish: Wish): Promise<void> {
    const pixels = wish.width * wish.height;
    const affordable = Math.max(FEWEST_PIXELS, QUICK_MS / ((this.msPerPixel * FINE_STEP) / QUICK_STEP));
    const scale = Math.min(1, Math.sqrt(affordable / pixels));
    const part = { width: Math.max(1, Math.round(wish.width * scale)), height: Math.max(1, Math.round(wish.height * scale)) };
    await this.draw(wish, part.width, part.height, 0, part.height, QUICK_STEP);
    if (!this.stopped) this.show(part, null);
  }

  private async fine(wish: Wish): Promise<void> {
    for (let from = 0; from < wish.height;) {
      const rows = Math.min(wish.height - from, Math.max(8, Math.round(STRIP_MS / (this.msPerPixel * wish.width))));
      await this.draw(wish, wish.width, wish.height, from, rows, FINE_STEP);
      if (this.wish !== wish) return;
      from += rows;
    }
    this.show(wish, wish);
  }

  private async draw(wish: Wish, width: number, height: number, from: number, rows: number, step: number): Promise<void> {
    const began = performance.now();
    this.renderer.draw(wish.scene, width, height, from, rows, step);
    await this.renderer.drawn();
    const took = ((performance.now() - began) * step) / FINE_STEP / (width * rows);
    this.msPerPixel += NEWS * (took - this.msPerPixel);
  }
}
