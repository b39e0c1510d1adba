// Volumes that one destination gets, one after the other: which, and what became of each.
import { type Api, ApiError, type Query, messageOf } from '../api/client.ts';
import type { Job, JobPage } from '../api/types.ts';
import { dayOf, isOfDay } from './days.ts';

// As many as the service's own SendJobs takes at once.
export const MOST_SENT = 1000;
const PAGE = 1000;

export class TooMany extends Error {
  constructor() {
    super(`more than ${MOST_SENT} volumes match; at most ${MOST_SENT} can be sent at once: choose a day, a room or a protocol`);
    this.name = 'TooMany';
  }
}

// Completed jobs that match `filter` (of GET jobs, but for its state) and were begun on that day, newest first. Throws TooMany, ApiError.
export async function completedJobs(api: Pick<Api, 'get'>, filter: Query, day: string, signal: AbortSignal): Promise<Job[]> {
  const range = dayOf(day);
  const chosen: Job[] = [];
  let token: string | undefined;
  for (;;) {
    const page = await api.get<JobPage>('jobs', { ...filter, state: 'completed', page_size: PAGE, page_token: token }, signal);
    chosen.push(...page.jobs.filter((job) => !range || isOfDay(job, range)));
    if (chosen.length > MOST_SENT) throw new TooMany();
    const oldest = page.jobs.at(-1);
    if (!page.next_page_token || !oldest || (range && Date.parse(oldest.create_time) < range.begin)) return chosen;
    token = page.next_page_token;
  }
}

export interface Sent {
  // In the queue since; on their way before, or there already; refused, with the reason.
  queued: Job[];
  present: Job[];
  refused: { job: Job; reason: string }[];
  // Not asked for: somebody stopped, or `ended` says why the rest would fail as well.
  left: Job[];
  ended: string | null;
}

// Has each be sent; `onProgress` gets how many have been asked for. A refusal of one keeps no other from it.
export async function sendAll(
  api: Pick<Api, 'post'>, jobs: Job[], order: { destination: string; again: boolean }, signal: AbortSignal, onProgress: (done: number) => void,
): Promise<Sent> {
  const sent: Sent = { queued: [], present: [], refused: [], left: [], ended: null };
  for (const [i, job] of jobs.entries()) {
    if (signal.aborted) return { ...sent, left: jobs.slice(i) };
    try {
      const { newly_queued } = await api.post<{ newly_queued: number }>(`jobs/${encodeURIComponent(job.job_id)}:send`, order);
      (newly_queued > 0 ? sent.queued : sent.present).push(job);
    } catch (error) {
      if (concernsAll(error)) return { ...sent, left: jobs.slice(i), ended: messageOf(error) };
      sent.refused.push({ job, reason: messageOf(error) });
    }
    onProgress(i + 1);
  }
  return sent;
}

// No answer, no session, no permission, too busy: of the next job the server would say the same.
function concernsAll(error: unknown): boolean {
  return !(error instanceof ApiError) || [0, 401, 403, 429, 503].includes(error.status);
}
