// From where a volume is looked at: parallel rays, around the patient's long axis and up and down.
import type { Grid, Level } from '../../api/types.ts';
import { type Vec3, axisDirection, letters, sizes } from '../geometry.ts';

export interface Camera {
  // Degrees. 0, 0: from the front; azimuth 90: from the patient's left; elevation 90: from the head.
  azimuth: number;
  elevation: number;
  // 1: the volume's longest edge fits the pane. Corners, which are air, may stick out.
  zoom: number;
  // What is in the middle of the pane: millimetres to the right of, and above, the volume's centre.
  right: number;
  up: number;
}

export const FRONT: Camera = { azimuth: 0, elevation: 0, zoom: 1, right: 0, up: 0 };
export const MOST_ZOOM = 20;

export const VIEWS = [
  { id: 'front', name: 'Front', azimuth: 0, elevation: 0 },
  { id: 'left', name: 'Left', azimuth: 90, elevation: 0 },
  { id: 'back', name: 'Back', azimuth: 180, elevation: 0 },
  { id: 'right', name: 'Right', azimuth: 270, elevation: 0 },
  { id: 'head', name: 'Head', azimuth: 0, elevation: 90 },
  { id: 'feet', name: 'Feet', azimuth: 0, elevation: -90 },
] as const;

export function viewOf({ azimuth, elevation }: Camera) {
  return VIEWS.find((view) => view.azimuth === azimuth && view.elevation === elevation);
}

export function turned(camera: Camera, azimuth: number, elevation: number): Camera {
  return {
    ...camera,
    azimuth: (((camera.azimuth + azimuth) % 360) + 360) % 360,
    elevation: Math.min(90, Math.max(-90, camera.elevation + elevation)),
  };
}

export function zoomed(camera: Camera, factor: number): Camera {
  return { ...camera, zoom: Math.min(MOST_ZOOM, Math.max(0.25, camera.zoom * factor)) };
}

// Unit vectors: to the right and up on the screen, and away from who looks.
export interface Basis {
  right: Vec3;
  up: Vec3;
  away: Vec3;
}

// In the world, which is the patient's (LPS): x to the left, y to the back, z to the head.
export function worldBasis({ azimuth, elevation }: Camera): Basis {
  const [sa, ca] = [Math.sin((azimuth * Math.PI) / 180), Math.cos((azimuth * Math.PI) / 180)];
  const [se, ce] = [Math.sin((elevation * Math.PI) / 180), Math.cos((elevation * Math.PI) / 180)];
  return {
    right: [ca, sa, 0],
    up: [-se * sa, se * ca, ce],
    away: [-ce * sa, ce * ca, -se],
  };
}

// Along the axes of the grid.
export function gridBasis(grid: Grid, camera: Camera): Basis {
  const axes = [0, 1, 2].map((axis) => axisDirection(grid, axis));
  const turn = (v: Vec3): Vec3 => axes.map((axis) => axis[0] * v[0] + axis[1] * v[1] + axis[2] * v[2]) as Vec3;
  const { right, up, away } = worldBasis(camera);
  return { right: turn(right), up: turn(up), away: turn(away) };
}

export function halfSizeMm(grid: Grid): Vec3 {
  return sizes(grid).map((n, i) => (n * grid.spacing_mm[i]!) / 2) as Vec3;
}

// Millimetres from the middle of the pane to its edges.
export function extentMm(grid: Grid, camera: Camera, width: number, height: number): { x: number; y: number } {
  const perPixel = (2 * Math.max(...halfSizeMm(grid))) / camera.zoom / Math.min(width, height);
  return { x: (width / 2) * perPixel, y: (height / 2) * perPixel };
}

// What a level's whole texture spans, mm: at an odd end somewhat more than the volume.
export function levelSizeMm(level: Level): Vec3 {
  return sizes(level).map((n, i) => n * level.spacing_mm[i]!) as Vec3;
}

export function edges(camera: Camera): { left: string; right: string; top: string; bottom: string } {
  const { right, up } = worldBasis(camera);
  const opposite = (v: Vec3): Vec3 => [-v[0], -v[1], -v[2]];
  return { left: letters(opposite(right)), right: letters(right), top: letters(up), bottom: letters(opposite(up)) };
}

// For those who do not see it.
export function described(camera: Camera): string {
  const view = viewOf(camera);
  if (view) return `seen from the ${view.name.toLowerCase()}`;
  const around = Math.round(camera.azimuth);
  const up = Math.round(camera.elevation);
  const side = around === 0 ? 'from the front' : `turned by ${around}° from the front to the patient's left`;
  return up === 0 ? side : `${side}, ${Math.abs(up)}° from ${up > 0 ? 'above' : 'below'}`;
}
