// Values of a preview, which is made of some of a scan's frames.

// int16, little-endian.
export function samplesOf(base64: string): Int16Array {
  const text = atob(base64);
  const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
  return new Int16Array(bytes.buffer, 0, bytes.length >> 1);
}

// Hounsfield units of a preview of `taken` of `all` frames, as they would be with all of them. Each frame adds its part of the attenuation,
// so half of the frames give about half of it: water is at -500 HU. The first and last frames of a short scan add less (Parker's weights),
// so that it stays a little dark until about a third of them is there.
export function ofAllFrames(samples: Int16Array, taken: number, all: number): Int16Array {
  if (!(taken > 0) || taken >= all) return samples;
  return Int16Array.from(samples, (hu) => Math.min(32767, Math.max(-32768, Math.round(((hu + 1000) * all) / taken - 1000))));
}

export function rangeOf(planes: readonly Int16Array[]): { least: number; greatest: number } {
  let least = 32767;
  let greatest = -32768;
  for (const samples of planes) {
    for (const hu of samples) {
      if (hu < least) least = hu;
      if (hu > greatest) greatest = hu;
    }
  }
  return { least, greatest };
}
