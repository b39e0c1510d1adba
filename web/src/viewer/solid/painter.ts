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
const STRIP_MS = 80;
// However slow: much of what a strip takes may not depend on its size.
const MOST_STRIPS = 12;
const COARSEST = 1 / 6;
// In voxels.
const QUICK_STEP = 1;
const FINE_STEP = 0.5;

export class Painter {
  private wish: Wish | null = null;
  private running = false;
  private stopped = false;
  // Parts of the whole picture's edges, and of its height, that can be drawn in the time.
  private scale = 0.3;
  private strip = 0.25;

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
    const part = { width: Math.max(1, Math.round(wish.width * this.scale)), height: Math.max(1, Math.round(wish.height * this.scale)) };
    const took = await this.draw(wish, part.width, part.height, 0, part.height, QUICK_STEP);
    this.scale = Math.min(1, Math.max(COARSEST, this.scale * Math.sqrt(pace(QUICK_MS, took))));
    if (!this.stopped) this.show(part, null);
  }

  private async fine(wish: Wish): Promise<void> {
    for (let from = 0; from < wish.height;) {
      const rows = Math.min(wish.height - from, Math.ceil(wish.height * this.strip));
      const took = await this.draw(wish, wish.width, wish.height, from, rows, FINE_STEP);
      this.strip = Math.min(1, Math.max(1 / MOST_STRIPS, this.strip * pace(STRIP_MS, took)));
      if (this.wish !== wish) return;
      from += rows;
    }
    this.show(wish, wish);
  }

  // How long it took, in milliseconds.
  private async draw(wish: Wish, width: number, height: number, from: number, rows: number, step: number): Promise<number> {
    const began = performance.now();
    this.renderer.draw(wish.scene, width, height, from, rows, step);
    await this.renderer.drawn();
    return performance.now() - began;
  }
}

// By how much more can be drawn, step by step: one measurement says little.
function pace(wanted: number, took: number): number {
  return Math.min(2, Math.max(0.5, wanted / Math.max(1, took)));
}
