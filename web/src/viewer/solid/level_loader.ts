// Loads what 3-D shows of a volume: its coarsest level first, then the finest that the server gives as a whole.
import { ApiError, messageOf } from '../../api/client.ts';
import type { Level, Volume } from '../../api/types.ts';
import { type Clock, wallClock } from '../../lib/clock.ts';

// Along each axis (docs/web-api.md).
const MOST_VOXELS = 256;
const RETRY_MS = 2_000;

export type FetchLevel = (jobId: string, level: number, signal: AbortSignal) => Promise<Int16Array>;

export function wholeLevels(volume: Volume): Level[] {
  const small = volume.levels.filter(({ nx, ny, nz }) => Math.max(nx, ny, nz) <= MOST_VOXELS);
  const [finest, coarsest] = [small[0], small.at(-1)];
  return finest === coarsest ? small.slice(0, 1) : [coarsest!, finest!];
}

export class LevelLoader {
  // Why there is nothing, or nothing finer.
  error: string | null = null;
  private version = '';
  private abort = new AbortController();
  private cancelRetry: () => void = () => {};

  constructor(
    private readonly fetchLevel: FetchLevel,
    private readonly onLoaded: (level: Level, samples: Int16Array) => void,
    private readonly onChange: () => void,
    private readonly clock: Clock = wallClock,
  ) {}

  // Of a volume that is prepared; the same one again changes nothing.
  want(volume: Volume): void {
    const version = `${volume.job_id} ${volume.version}`;
    if (version === this.version) return;
    this.stop();
    this.version = version;
    this.abort = new AbortController();
    void this.load(volume, wholeLevels(volume), this.abort.signal);
  }

  stop(): void {
    this.abort.abort();
    this.cancelRetry();
    this.version = '';
  }

  private async load(volume: Volume, levels: Level[], signal: AbortSignal): Promise<void> {
    const [next, ...others] = levels;
    if (!next) return;
    try {
      const samples = await this.fetchLevel(volume.job_id, next.level, signal);
      if (signal.aborted) return;
      this.error = null;
      this.onLoaded(next, samples);
    } catch (error) {
      if (signal.aborted) return;
      this.error = messageOf(error);
      this.onChange();
      if (error instanceof ApiError && error.status !== 0 && error.status < 500) return;
      const wait = error instanceof ApiError && error.retryAfterSeconds !== null ? 1000 * error.retryAfterSeconds : RETRY_MS;
      this.cancelRetry = this.clock.after(wait, () => void this.load(volume, levels, signal));
      return;
    }
    this.onChange();
    await this.load(volume, others, signal);
  }
}
