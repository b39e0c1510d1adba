// What a screen reader says of jobs while its user is elsewhere on the page: how they ended.
import { type Job, isActive } from '../api/types.ts';
import { words } from './format.ts';

// "Refinement of room-1, head_soft: failed. The deadline passed."; empty where the job has not ended between these two, or was not known before.
export function endedText(before: Job | undefined, now: Job): string {
  if (!before || !isActive(before) || isActive(now)) return '';
  const what = now.refines_job_id ? 'Refinement' : now.pair_role === 'subtraction' ? 'Subtraction' : 'Scan';
  const where = [now.station_name, now.protocol].filter(Boolean).join(', ');
  const why = now.error?.message ? `. ${now.error.message}` : '';
  return `${what}${where ? ` of ${where}` : ''}: ${words(now.state)}${why}`;
}
