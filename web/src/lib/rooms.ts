// Which of a room's jobs its card tells of.
import { type Job, isActive } from '../api/types.ts';

const DAY_MS = 86_400_000;

// Scans expose a patient; refinements and subtractions are made of what is there.
function isScan(job: Job): boolean {
  return job.refines_job_id === null && job.pair_role !== 'subtraction';
}

// Of the jobs of one room, those active first, then the latest: what it does now, else what it did last.
export function shownOf(own: Job[]): Job | undefined {
  const rank = (job: Job) => (!isActive(job) ? 3 : job.awaits_console_until_time !== null ? 1 : job.state === 'receiving' ? 0 : 2);
  return [...own].sort((a, b) => rank(a) - rank(b) || (a.create_time < b.create_time ? 1 : -1))[0];
}

// Scans that were broken off and that another job hides: they wait for their console, or gave no volume and no later scan of the room
// did, within a day. The newest first.
export function brokenOff(own: Job[], shown: Job, now: number): Job[] {
  const scans = own.filter(isScan).sort((a, b) => (a.create_time < b.create_time ? 1 : -1));
  const good = scans.find((job) => job.state === 'completed')?.create_time ?? '';
  return scans.filter((job) => job.job_id !== shown.job_id && (
    job.awaits_console_until_time !== null
    || ((job.state === 'failed' || job.state === 'cancelled') && job.create_time > good && now - Date.parse(job.create_time) < DAY_MS)));
}
