// How far a job is, in its present stage.
import type { Job } from '../api/types.ts';
import { finish, time } from './format.ts';

export interface Stage {
  // What is counted, e.g. "frames".
  name: string;
  done: number;
  total: number;
  // 0 to 1.
  fraction: number;
}

export function stageOf({ state, progress: p }: Job): Stage {
  switch (state) {
    case 'receiving': return stage('frames received', p.frames_received + p.frames_lost, p.frames_total);
    case 'reconstructing': return stage('frames back-projected', p.frames_backprojected, p.frames_total);
    case 'refining': return { ...refining(p), fraction: bounded(p.refined_fraction) };
    case 'exporting': return stage('slices stored', p.slices_exported, p.slices_total);
    case 'completed': return { name: 'completed', done: 0, total: 0, fraction: 1 };
    default: return stage('frames back-projected', p.frames_backprojected, p.frames_total);
  }
}

// A second pass has no iterations: its hundredths are counted.
function refining(p: Job['progress']): Stage {
  if (p.iterations_total > 0) return stage('iterations', p.iterations_done, p.iterations_total);
  return stage('percent of a second pass', Math.floor(100 * bounded(p.refined_fraction)), 100);
}

function stage(name: string, done: number, total: number): Stage {
  return { name, done, total, fraction: total > 0 ? bounded(done / total) : 0 };
}

// Frames that should have come: those that were skipped and, of a scan that failed, those that never came. After a cancellation none is sent.
export function framesLost({ state, progress: p }: Pick<Job, 'state' | 'progress'>): number {
  return state === 'failed' ? Math.max(p.frames_lost, p.frames_total - p.frames_received) : p.frames_lost;
}

function bounded(fraction: number): number {
  return Math.min(1, Math.max(0, fraction));
}

// While a scan waits for its console no frames come, whatever their last rate was, and nothing can be predicted of when it ends.
export function rateOf({ awaits_console_until_time: waits, frames_per_second: rate }: Pick<Job, 'awaits_console_until_time' | 'frames_per_second'>): number | null {
  return waits === null ? rate : null;
}

type Paced = Pick<Job, 'state' | 'progress' | 'awaits_console_until_time' | 'frames_per_second' | 'predicted_finish_time'>;

// When the volume is expected to be complete, as the server predicted before the first frame; later where frames come slower than it was told.
export function finishTime({ state, progress: p, frames_per_second: rate, predicted_finish_time: at }: Paced, now: number): string | null {
  if (at === null || state !== 'receiving' || !rate) return at;
  const left = Math.max(0, p.frames_total - p.frames_received - p.frames_lost);
  return new Date(Math.max(Date.parse(at), now + (1000 * left) / rate)).toISOString();
}

// `gone`: the server does not answer, so that nobody knows how far away the end is, but for when it was predicted.
export function finishOf(job: Paced, now: number, gone: boolean): string {
  const at = job.awaits_console_until_time === null ? finishTime(job, now) : null;
  if (gone) return at === null ? '' : `predicted for ${time(at, now)}`;
  return finish(at, now);
}
