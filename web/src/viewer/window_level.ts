// Hounsfield units to grey values. DICOM PS3.3 C.11.2.1.2: a window has a centre and a width.

export interface Window {
  center: number;
  width: number;
}

export interface Preset {
  id: string;
  name: string;
  window: Window;
}

// Usual windows of CT; the keys 1 to 7 choose them.
export const PRESETS: readonly Preset[] = [
  { id: 'soft', name: 'Soft tissue', window: { center: 40, width: 400 } },
  { id: 'bone', name: 'Bone', window: { center: 500, width: 2000 } },
  { id: 'brain', name: 'Brain', window: { center: 40, width: 80 } },
  { id: 'angio', name: 'Angio', window: { center: 300, width: 600 } },
  { id: 'temporal', name: 'Temporal bone', window: { center: 700, width: 4000 } },
  { id: 'lung', name: 'Lung', window: { center: -600, width: 1500 } },
  { id: 'subtracted', name: 'Subtracted', window: { center: 250, width: 600 } },
];

export function clampWindow({ center, width }: Window): Window {
  return {
    center: Math.min(32767, Math.max(-32768, Math.round(center))),
    width: Math.min(65535, Math.max(2, Math.round(width))),
  };
}

// All values from the least to the greatest.
export function fullWindow(least: number, greatest: number): Window {
  return clampWindow({ center: (least + greatest) / 2, width: greatest - least + 1 });
}

export function presetOf(window: Window): Preset | undefined {
  return PRESETS.find((p) => p.window.center === window.center && p.window.width === window.width);
}

// After dragging by (dx, dy) pixels: to the right widens, downwards raises the centre and so darkens. Wide windows move
// faster, so that bone needs no longer way than brain.
export function draggedWindow(window: Window, dx: number, dy: number): Window {
  const step = Math.max(1, window.width / 200);
  return clampWindow({ center: window.center + dy * step, width: window.width + dx * step });
}

// Grey of a value, 0 to 255: the linear function of DICOM PS3.3 C.11.2.1.2.1.
export function grey(value: number, { center, width }: Window): number {
  const c = center - 0.5;
  const w = width - 1;
  if (value <= c - w / 2) return 0;
  if (value > c + w / 2) return 255;
  return Math.min(255, Math.max(0, Math.round(((value - c) / w + 0.5) * 255)));
}

// For each int16 value its opaque pixel (as little-endian RGBA), at index value + 32768.
export function fillLookupTable(table: Uint32Array, window: Window, inverted: boolean): void {
  for (let value = -32768; value < 32768; value += 1) {
    const g = inverted ? 255 - grey(value, window) : grey(value, window);
    table[value + 32768] = (0xff000000 | (g << 16) | (g << 8) | g) >>> 0;
  }
}

export function applyTable(samples: Int16Array, table: Uint32Array, pixels: Uint32Array): void {
  for (let i = 0; i < samples.length; i += 1) pixels[i] = table[samples[i]! + 32768]!;
}
