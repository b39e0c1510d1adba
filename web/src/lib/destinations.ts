// Where volumes are sent to.
import type { Destination } from '../api/types.ts';

// What waits for longer than this does so because the destination does not take it; the alert of the site may have another target.
const STUCK_SECONDS = 60;

export function isStuck(d: Destination): boolean {
  return d.oldest_seconds !== null && d.oldest_seconds > STUCK_SECONDS && d.sending === 0;
}
