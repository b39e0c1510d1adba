// Descriptions of the volumes that are looked at; asked for again until the server has prepared all their levels.
import { messageOf } from '../api/client.ts';
import type { Grid, Volume } from '../api/types.ts';
import { type Clock, wallClock } from '../lib/clock.ts';
import { sameGrid } from './geometry.ts';

export interface Entry {
  volume: Volume | null;
  error: string | null;
}

// Preparing takes about a second for 512³ (docs/web-api.md).
const PREPARING_MS = 1_000;
const FAILED_MS = 5_000;
const UNKNOWN: Entry = { volume: null, error: null };

export class VolumeBook {
  private readonly entries = new Map<string, Entry>();
  private readonly waits = new Map<string, () => void>();
  private stopped = false;

  // `grid`: what all of them must have to be shown side by side.
  constructor(
    private readonly describe: (jobId: string) => Promise<Volume>,
    private readonly grid: Grid,
    private readonly onChange: () => void,
    private readonly clock: Clock = wallClock,
  ) {}

  get(jobId: string): Entry {
    return this.entries.get(jobId) ?? UNKNOWN;
  }

  // Asks for those that are not known and not being asked for.
  want(jobIds: Iterable<string>): void {
    for (const jobId of jobIds) {
      if (this.entries.has(jobId) || this.stopped) continue;
      this.entries.set(jobId, UNKNOWN);
      void this.ask(jobId);
    }
  }

  stop(): void {
    this.stopped = true;
    for (const cancel of this.waits.values()) cancel();
  }

  private async ask(jobId: string): Promise<void> {
    let again: number | null = null;
    let entry: Entry;
    try {
      const volume = await this.describe(jobId);
      if (sameGrid(volume.grid, this.grid)) {
        entry = { volume, error: null };
        if (!volume.prepared) again = PREPARING_MS;
      } else {
        entry = { volume: null, error: 'This volume has another grid and cannot be shown beside the first' };
      }
    } catch (error) {
      entry = { volume: this.get(jobId).volume, error: messageOf(error) };
      again = FAILED_MS;
    }
    if (this.stopped) return;
    this.entries.set(jobId, entry);
    if (again !== null) this.waits.set(jobId, this.clock.after(again, () => void this.ask(jobId)));
    this.onChange();
  }
}
