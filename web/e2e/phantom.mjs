// A head of ellipsoids in Hounsfield units, as levels of a volume: what the mock server serves to the viewer.

const ELLIPSOIDS = [
  // centre and half axes as parts of half the grid; HU
  { c: [0, 0, 0], r: [0.72, 0.88, 0.94], hu: 1100 },
  { c: [0, 0, 0], r: [0.66, 0.82, 0.88], hu: 40 },
  { c: [-0.2, 0, 0], r: [0.12, 0.3, 0.2], hu: 8 },
  { c: [0.2, 0, 0], r: [0.12, 0.3, 0.2], hu: 8 },
  { c: [0.25, -0.6, -0.3], r: [0.16, 0.14, 0.14], hu: -80 },
  { c: [-0.25, -0.6, -0.3], r: [0.16, 0.14, 0.14], hu: -80 },
  { c: [0, -0.7, -0.55], r: [0.1, 0.14, 0.2], hu: -990 },
];
const VESSEL = { c: [0.35, 0.2, 0.1], r: [0.05, 0.05, 0.6], hu: 420 };

// kind: fdk and mask are the head with noise, refined has less, fill has a vessel, subtraction is only that.
export function head(kind, nx, ny, nz) {
  const noise = { fdk: 60, refined: 15, mask: 60, fill: 60, subtraction: 40 }[kind];
  const shapes = kind === 'subtraction' ? [] : ELLIPSOIDS;
  const vessel = kind === 'fill' || kind === 'subtraction';
  const data = new Int16Array(nx * ny * nz);
  let seed = 1;
  let at = 0;
  for (let k = 0; k < nz; k += 1) {
    for (let j = 0; j < ny; j += 1) {
      for (let i = 0; i < nx; i += 1) {
        const p = [(2 * i - nx + 1) / nx, (2 * j - ny + 1) / ny, (2 * k - nz + 1) / nz];
        let hu = kind === 'subtraction' ? 0 : -1000;
        for (const shape of shapes) if (inside(shape, p)) hu = shape.hu;
        if (vessel && inside(VESSEL, p)) hu = kind === 'fill' ? VESSEL.hu : VESSEL.hu - 40;
        seed = (seed * 1103515245 + 12345) & 0x7fffffff;
        data[at] = hu + Math.round((seed / 0x7fffffff - 0.5) * noise);
        at += 1;
      }
    }
  }
  return { data, nx, ny, nz };
}

function inside({ c, r }, p) {
  return ((p[0] - c[0]) / r[0]) ** 2 + ((p[1] - c[1]) / r[1]) ** 2 + ((p[2] - c[2]) / r[2]) ** 2 <= 1;
}

export function halved({ data, nx, ny, nz }) {
  const [mx, my, mz] = [nx, ny, nz].map((n) => Math.ceil(n / 2));
  const half = new Int16Array(mx * my * mz);
  for (let k = 0; k < mz; k += 1) {
    for (let j = 0; j < my; j += 1) {
      for (let i = 0; i < mx; i += 1) {
        let sum = 0;
        let n = 0;
        for (let c = 2 * k; c < Math.min(2 * k + 2, nz); c += 1) {
          for (let b = 2 * j; b < Math.min(2 * j + 2, ny); b += 1) {
            for (let a = 2 * i; a < Math.min(2 * i + 2, nx); a += 1) {
              sum += data[(c * ny + b) * nx + a];
              n += 1;
            }
          }
        }
        half[(k * my + j) * mx + i] = Math.round(sum / n);
      }
    }
  }
  return { data: half, nx: mx, ny: my, nz: mz };
}

// One plane, or null where the index is outside.
export function plane({ data, nx, ny, nz }, axis, index) {
  const [columns, rows, slices, at] = {
    axial: [nx, ny, nz, (c, r) => (index * ny + r) * nx + c],
    coronal: [nx, nz, ny, (c, r) => (r * ny + index) * nx + c],
    sagittal: [ny, nz, nx, (c, r) => (r * ny + c) * nx + index],
  }[axis];
  if (!(index >= 0 && index < slices)) return null;
  const samples = new Int16Array(columns * rows);
  for (let r = 0; r < rows; r += 1) for (let c = 0; c < columns; c += 1) samples[r * columns + c] = data[at(c, r)];
  return { columns, rows, samples };
}

// One plane of the head without noise in a cube of n voxels a side, whose other planes are not computed.
export function planeOfLarge(axis, index, n) {
  const samples = new Int16Array(n * n);
  const at = (i) => (2 * i - n + 1) / n;
  for (let r = 0; r < n; r += 1) {
    for (let c = 0; c < n; c += 1) {
      const p = { axial: [at(c), at(r), at(index)], coronal: [at(c), at(index), at(r)], sagittal: [at(index), at(c), at(r)] }[axis];
      let hu = -1000;
      for (const shape of ELLIPSOIDS) if (inside(shape, p)) hu = shape.hu;
      samples[r * n + c] = hu;
    }
  }
  return { columns: n, rows: n, samples };
}
