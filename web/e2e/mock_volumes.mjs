// Volumes and previews of the mock server: phantoms.
import * as fixtures from './fixtures.mjs';
import { halved, head, plane } from './phantom.mjs';
import { Refusal } from './refusal.mjs';

export class MockVolumes {
  known = new Map();
  asked = new Map();

  levels(job) {
    const kind = fixtures.KINDS[job.job_id.slice(-8)] ?? 'fdk';
    if (job.state !== 'completed') throw new Refusal(409, 'FAILED_PRECONDITION', 'the job has no volume');
    if (!this.known.has(kind)) {
      const { nx, ny, nz } = fixtures.GRID;
      const whole = head(kind, nx, ny, nz);
      this.known.set(kind, [whole, halved(whole)]);
    }
    return this.known.get(kind);
  }

  // Prepared a second after somebody asked first.
  describe(job) {
    const levels = this.levels(job);
    const asked = this.asked.get(job.job_id) ?? Date.now();
    this.asked.set(job.job_id, asked);
    const prepared = Date.now() - asked > 900;
    return {
      job_id: job.job_id, grid: fixtures.GRID, version: '6f1c2a9b', prepared, hu_min: prepared ? -1030 : null, hu_max: prepared ? 1130 : null,
      levels: levels.map(({ nx, ny, nz }, level) => ({ level, nx, ny, nz, spacing_mm: fixtures.GRID.spacing_mm.map((s) => s * 2 ** level) })),
    };
  }

  level(job, index) {
    const found = this.levels(job)[index];
    if (!found) throw new Refusal(400, 'INVALID_ARGUMENT', `level is '${index}'; legal is 0 to 1`);
    return found;
  }

  plane(job, axis, index, level) {
    const levels = this.levels(job);
    const found = levels[level] && plane(levels[level], axis, index);
    if (!found) throw new Refusal(400, 'INVALID_ARGUMENT', `index ${index} of level ${level} is outside the volume`);
    return found;
  }
}

// Each frame adds its part of the attenuation.
export function previewOf(job) {
  const whole = head('fdk', 60, 64, 48);
  const share = job.progress.frames_backprojected / job.progress.frames_total;
  return {
    frames_backprojected: job.progress.frames_backprojected,
    planes: [['axial', 24, 3, 3], ['coronal', 32, 3, 4], ['sagittal', 30, 3, 4]].map(([orientation, index, column, row]) => {
      const { columns, rows, samples } = plane(whole, orientation, index);
      return {
        orientation, columns, rows, column_spacing_mm: column, row_spacing_mm: row,
        hounsfield_base64: Buffer.from(samples.map((hu) => (hu + 1000) * share - 1000).buffer).toString('base64'),
      };
    }),
  };
}
