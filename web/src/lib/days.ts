// Jobs of a local day.
import type { Job } from '../api/types.ts';

// The local day "2026-03-01", from its first millisecond up to, without, the next day's; null: any time, or no day.
export function dayOf(text: string): { begin: number; end: number } | null {
  const found = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  if (!found) return null;
  const [year, month, day] = found.slice(1).map(Number) as [number, number, number];
  // Not 24 hours later: clocks are changed.
  return { begin: new Date(year, month - 1, day).getTime(), end: new Date(year, month - 1, day + 1).getTime() };
}

// How ids of jobs of that day begin: they have the time in UTC, of which a local day is on two days mostly.
export function idsOfDay({ begin, end }: { begin: number; end: number }): string[] {
  const utcDay = (at: number) => `${new Date(at).toISOString().slice(0, 10).replace(/-/g, '')}T`;
  return [...new Set([utcDay(end - 1), utcDay(begin)])];
}

export function isOfDay(job: Pick<Job, 'create_time'>, { begin, end }: { begin: number; end: number }): boolean {
  const at = Date.parse(job.create_time);
  return begin <= at && at < end;
}

// As `text` of GET jobs does: a part of the id, room, protocol or accession number, in any case.
export function hasText(job: Pick<Job, 'job_id' | 'station_name' | 'protocol' | 'accession_number'>, text: string): boolean {
  return [job.job_id, job.station_name, job.protocol, job.accession_number].some((part) => (part ?? '').toLowerCase().includes(text.toLowerCase()));
}
