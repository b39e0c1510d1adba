// What a screen reader says while its user is elsewhere on the page: how jobs ended, what became of an order. And what the window is called.
import { type Job, type JobState, isActive } from '../api/types.ts';
import { words } from './format.ts';
import { doubtsOf } from './warnings.ts';

// "Refinement of room-1, head_soft: failed. The deadline passed.", "Scan of room-1, head_soft: completed. Its volume may be wrong: air level."; empty where the job has not ended between these two, or was not known before.
export function endedText(before: Job | undefined, now: Job): string {
  if (!before || !isActive(before) || isActive(now)) return '';
  const what = now.refines_job_id ? 'Refinement' : now.pair_role === 'subtraction' ? 'Subtraction' : 'Scan';
  const where = [now.station_name, now.protocol].filter(Boolean).join(', ');
  const doubts = doubtsOf(now);
  const why = now.error?.message ? `. ${now.error.message}` : doubts && `. Its volume may be wrong: ${doubts}.`;
  return `${what}${where ? ` of ${where}` : ''}: ${words(now.state)}${why}`;
}

const SIGNS: Partial<Record<JobState, string>> = { completed: '✓', failed: '✕', cancelled: '–' };

// The window's title while a job is looked at, seen in the row of tabs too: "✓ Angio-1 fdk"; "… Angio-1 fdk" while it is at work, "! Angio-1 fdk" where the volume may be wrong.
export function jobTitle(job: Pick<Job, 'state' | 'station_name' | 'protocol' | 'job_id' | 'warning_kinds'>): string {
  const sign = doubtsOf(job) ? '!' : SIGNS[job.state] ?? '…';
  return `${sign} ${job.station_name || job.job_id} ${job.protocol}`;
}
