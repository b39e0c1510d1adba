// What a screen reader says while its user is elsewhere on the page: that a scan has lost its console, how jobs ended, what became of an
// order. And what the window is called.
import { type Job, type JobState, isActive } from '../api/types.ts';
import { time, words } from './format.ts';
import { doubtsOf } from './warnings.ts';

// "Scan of room-1, head_soft, accession no. A-17".
function named(job: Job): string {
  const what = job.refines_job_id ? 'Refinement' : job.pair_role === 'subtraction' ? 'Subtraction' : 'Scan';
  const of = [job.station_name, job.protocol, job.accession_number && `accession no. ${job.accession_number}`].filter(Boolean).join(', ');
  return of ? `${what} of ${of}` : what;
}

// "Scan of room-1, head_soft: failed. The deadline passed.", "Scan of room-1, head_soft: completed. Its volume may be wrong: air level."; empty where the job has not ended between these two, or was not known before.
export function endedText(before: Job | undefined, now: Job): string {
  if (!before || !isActive(before) || isActive(now)) return '';
  const doubts = doubtsOf(now);
  const why = now.error?.message ? `. ${now.error.message}` : doubts && `. Its volume may be wrong: ${doubts}.`;
  return `${named(now)}: ${words(now.state)}${why}`;
}

// Said when a scan loses its console: the patient lies on the table meanwhile, and else nothing is heard of it until the job fails.
export function brokenText(before: Job | undefined, now: Job): string {
  const until = now.awaits_console_until_time;
  if (!before || !until || before.awaits_console_until_time) return '';
  return `${named(now)}: the connection to the console is broken. The scan waits for it until ${time(until, Date.parse(until))}.`;
}

const SIGNS: Partial<Record<JobState, string>> = { completed: '✓', failed: '✕', cancelled: '–' };

// The window's title while a job is looked at, seen in the row of tabs too: "✓ Angio-1 fdk"; "… Angio-1 fdk" while it is at work, "! Angio-1 fdk" where the volume may be wrong.
export function jobTitle(job: Pick<Job, 'state' | 'station_name' | 'protocol' | 'job_id' | 'warning_kinds'>): string {
  const sign = doubtsOf(job) ? '!' : SIGNS[job.state] ?? '…';
  return `${sign} ${job.station_name || job.job_id} ${job.protocol}`;
}
