// How far a job is, in its present stage.
import type { Job } from '../api/types.ts';
import { finish } from './format.ts';

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

export function finishOf({ awaits_console_until_time: waits, predicted_finish_time: at }: Pick<Job, 'awaits_console_until_time' | 'predicted_finish_time'>, now: number): string {
  return waits === null ? finish(at, now) : '';
}
