// Which of a room's jobs its card tells of.
import { type Job, type Refusal, isActive } from '../api/types.ts';
import { doubtsOf } from './warnings.ts';

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

// Whether a later scan that went well stands for one whose volume is missing or may be wrong: only one of the same order, for another
// patient's mends nothing; of the room where no order is told, or where the exposure was given up on purpose.
function standsFor(later: Job, job: Job): boolean {
  if (later.state !== 'completed' || later.create_time <= job.create_time) return false;
  const same = job.accession_number && job.state !== 'cancelled' ? later.accession_number === job.accession_number : later.station_name === job.station_name;
  return same && !doubtsOf(later);
}

// Scans that were broken off and that another job hides: they wait for their console, or gave no volume and no later scan stands for
// them, within a day. The newest first.
export function brokenOff(own: Job[], shown: Job, now: number): Job[] {
  const scans = own.filter(isScan).sort((a, b) => (a.create_time < b.create_time ? 1 : -1));
  return scans.filter((job) => job.job_id !== shown.job_id && (
    job.awaits_console_until_time !== null
    || ((job.state === 'failed' || job.state === 'cancelled') && !scans.some((later) => standsFor(later, job)) && now - Date.parse(job.create_time) < DAY_MS)));
}

// Such scans of all rooms, within a day, until a later one stands for them. The newest first.
function standing(jobs: Job[], now: number, isSuch: (job: Job) => boolean): Job[] {
  const scans = jobs.filter(isScan).sort((a, b) => (a.create_time < b.create_time ? 1 : -1));
  return scans.filter((job) => isSuch(job) && now - Date.parse(job.create_time) < DAY_MS && !scans.some((later) => standsFor(later, job)));
}

// Whose volume may be wrong.
export function doubtfulScans(jobs: Job[], now: number): Job[] {
  return standing(jobs, now, (job) => job.state === 'completed' && doubtsOf(job) !== '');
}

// Whose patient was exposed for no volume. A cancelled one was given up on purpose, and frames sent again expose nobody.
export function failedScans(jobs: Job[], now: number): Job[] {
  return standing(jobs, now, (job) => job.state === 'failed' && job.job_class === 'live');
}

const REFUSED_LATELY_MS = 10 * 60_000;

// Acquisitions that were refused in the last minutes, of each room the last; those of a room that got a job since are no matter any more.
export function refusedLately(refusals: Refusal[], jobs: Job[], now: number): Refusal[] {
  const got = (refusal: Refusal) => jobs.some((job) => job.station_name === refusal.station_name && job.create_time > refusal.time);
  const lately = refusals.filter((refusal) => now - Date.parse(refusal.time) < REFUSED_LATELY_MS && !got(refusal));
  return lately.filter((refusal, i) => lately.findIndex((other) => other.station_name === refusal.station_name) === i);
}
