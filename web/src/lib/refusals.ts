// How often a destination took the connection and refused an image of a job; of several images, the one that was refused most often.
import type { Transfer } from '../api/types.ts';

// The server counts attempts, of which the one that went well is no refusal. Where some images have arrived and others wait, those
// that wait may have been refused once more than this says; their message tells why.
export function refusalsOf({ attempts, instances }: Pick<Transfer, 'attempts' | 'instances'>): number {
  const arrived = instances.sent + instances.committed > 0 && instances.failed === 0;
  return Math.max(0, attempts - (arrived ? 1 : 0));
}
