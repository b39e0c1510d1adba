// How volumes are shown in 3-D: all of them alike, side by side.
import type { Shown } from '../model.ts';
import { type Window, clampWindow } from '../window_level.ts';
import { type Camera, FRONT, turned, zoomed } from './camera.ts';
import type { Mode } from './renderer.ts';

export type Place = 'nowhere' | 'beside' | 'alone';
type Kind = 'tissue' | 'difference';

// Brighter than planes: of a ray, the brightest is seen. Shaded, a window says what is a surface: bone, or vessels.
const WINDOWS: Record<Mode, Record<Kind, Window>> = {
  mip: { tissue: { center: 500, width: 2000 }, difference: { center: 250, width: 600 } },
  shaded: { tissue: { center: 350, width: 300 }, difference: { center: 200, width: 200 } },
};
const SETTLE_MS = 200;

const kindOf = (relation: Shown['relation']): Kind => (relation === 'subtraction' ? 'difference' : 'tissue');

export class Solid {
  place: Place = 'nowhere';
  mode: Mode = 'shaded';
  camera: Camera = FRONT;
  // Turned, zoomed or windowed a moment ago.
  moving = false;
  private windows = WINDOWS;
  private settle: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly changed: () => void) {}

  stop(): void {
    clearTimeout(this.settle);
  }

  put(place: Place): void {
    this.place = place;
    this.changed();
  }

  setMode(mode: Mode): void {
    this.mode = mode;
    this.changed();
  }

  turn(azimuth: number, elevation: number): void {
    this.moveTo(turned(this.camera, azimuth, elevation));
  }

  zoom(factor: number): void {
    this.moveTo(zoomed(this.camera, factor));
  }

  pan(right: number, up: number): void {
    this.moveTo({ ...this.camera, right: this.camera.right + right, up: this.camera.up + up });
  }

  look(azimuth: number, elevation: number): void {
    this.moveTo({ ...this.camera, azimuth, elevation });
  }

  windowOf(relation: Shown['relation']): Window {
    return this.windows[this.mode][kindOf(relation)];
  }

  setWindow(relation: Shown['relation'], window: Window): void {
    this.windows = { ...this.windows, [this.mode]: { ...this.windows[this.mode], [kindOf(relation)]: clampWindow(window) } };
    this.moved();
  }

  useWindow(window: Window): void {
    const all = { tissue: window, difference: window };
    this.windows = { mip: all, shaded: all };
  }

  reset(): void {
    this.camera = FRONT;
    this.windows = WINDOWS;
  }

  private moveTo(camera: Camera): void {
    this.camera = camera;
    this.moved();
  }

  private moved(): void {
    this.moving = true;
    clearTimeout(this.settle);
    this.settle = setTimeout(() => {
      this.moving = false;
      this.changed();
    }, SETTLE_MS);
    this.changed();
  }
}
