// int16 as 16-bit floats (IEEE 754 binary16), which WebGL2 interpolates in textures: integers up to 2048 exactly, above that to
// the nearest multiple of 2, 4, 8 or 16.

export function toHalf(value: number): number {
  const sign = value < 0 ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  if (magnitude === 0) return sign;
  const exponent = Math.floor(Math.log2(magnitude));
  // 10 bits behind the leading one, ties to even.
  const scaled = magnitude / 2 ** (exponent - 10);
  let mantissa = Math.floor(scaled);
  const rest = scaled - mantissa;
  if (rest > 0.5 || (rest === 0.5 && mantissa % 2 === 1)) mantissa += 1;
  // A mantissa that was rounded up to the next power of two carries into the exponent.
  return sign + ((exponent + 15) << 10) + (mantissa - 1024);
}

let table: Uint16Array | null = null;

// In place: the samples' memory is the answer's.
export function asHalves(samples: Int16Array): Uint16Array {
  if (table === null) {
    table = new Uint16Array(65536);
    for (let value = -32768; value < 32768; value += 1) table[value + 32768] = toHalf(value);
  }
  const halves = new Uint16Array(samples.buffer, samples.byteOffset, samples.length);
  for (let i = 0; i < samples.length; i += 1) halves[i] = table[samples[i]! + 32768]!;
  return halves;
}
