// What a maximum intensity projection must be, computed slowly and sharing nothing with the page: a ray for each pixel, followed in
// steps of a tenth of a voxel through trilinear interpolation.

// A volume [z][y][x] whose centre is the origin, x to the patient's left, y to the back, z to the head. Millimetres.
export class Cube {
  constructor([nx, ny, nz], spacing, value) {
    Object.assign(this, { nx, ny, nz, spacing });
    this.data = new Int16Array(nx * ny * nz);
    this.half = [nx, ny, nz].map((n, i) => (n * spacing[i]) / 2);
    for (let k = 0, at = 0; k < nz; k += 1) {
      for (let j = 0; j < ny; j += 1) {
        for (let i = 0; i < nx; i += 1, at += 1) this.data[at] = Math.round(value(this.place([i, j, k])));
      }
    }
  }

  place(index) {
    return index.map((n, i) => (n + 0.5) * this.spacing[i] - this.half[i]);
  }

  // Beyond the outermost centres, what is there.
  at(place) {
    const n = [this.nx, this.ny, this.nz];
    const low = [];
    const part = [];
    for (let i = 0; i < 3; i += 1) {
      const index = Math.min(n[i] - 1, Math.max(0, (place[i] + this.half[i]) / this.spacing[i] - 0.5));
      low[i] = Math.min(n[i] - 2, Math.floor(index));
      part[i] = index - low[i];
    }
    let sum = 0;
    for (let corner = 0; corner < 8; corner += 1) {
      const [a, b, c] = [corner & 1, (corner >> 1) & 1, corner >> 2];
      const weight = (a ? part[0] : 1 - part[0]) * (b ? part[1] : 1 - part[1]) * (c ? part[2] : 1 - part[2]);
      sum += weight * this.data[((low[2] + c) * this.ny + low[1] + b) * this.nx + low[0] + a];
    }
    return sum;
  }

  // The largest value on the line through `start`, along the unit vector `along`; null where it passes the volume by.
  largest(start, along) {
    let [begin, end] = [-Infinity, Infinity];
    for (let i = 0; i < 3; i += 1) {
      if (Math.abs(along[i]) < 1e-12) {
        if (Math.abs(start[i]) > this.half[i]) return null;
        continue;
      }
      const [a, b] = [(-this.half[i] - start[i]) / along[i], (this.half[i] - start[i]) / along[i]];
      begin = Math.max(begin, Math.min(a, b));
      end = Math.min(end, Math.max(a, b));
    }
    if (begin >= end) return null;
    let found = -Infinity;
    const step = Math.min(...this.spacing) / 10;
    for (let t = begin; t <= end; t += step) found = Math.max(found, this.at(start.map((s, i) => s + t * along[i])));
    return found;
  }
}

// Who looks from `azimuth` degrees from the front towards the patient's left, and from `elevation` degrees above.
export function looker(azimuth, elevation) {
  const [a, e] = [(azimuth * Math.PI) / 180, (elevation * Math.PI) / 180];
  const eye = [Math.cos(e) * Math.sin(a), -Math.cos(e) * Math.cos(a), Math.sin(e)];
  const right = [Math.cos(a), Math.sin(a), 0];
  const up = [right[1] * -eye[2] - right[2] * -eye[1], right[2] * -eye[0] - right[0] * -eye[2], right[0] * -eye[1] - right[1] * -eye[0]];
  return { along: eye.map((x) => -x), right, up };
}
