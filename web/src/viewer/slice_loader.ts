// Loads the planes that are wanted now, the most urgent first, and keeps those that were, within a budget of memory. A
// volume of a gigabyte is never loaded as a whole.
import { ApiError, messageOf } from '../api/client.ts';
import type { Axis } from '../api/types.ts';
import { type Clock, wallClock } from '../lib/clock.ts';
import { LruCache } from '../lib/lru.ts';

export interface SliceId {
  jobId: string;
  // Of the volume (docs/web-api.md): the same index of another version is another plane.
  version: string;
  axis: Axis;
  level: number;
  index: number;
}

export interface Slice {
  columns: number;
  rows: number;
  samples: Int16Array;
}

export type FetchSlice = (id: SliceId, signal: AbortSignal) => Promise<Slice>;

// Browsers open six connections to a server; one has the events, one is for the rest of the page.
const CONCURRENT = 4;
const RETRY_MS = 2_000;
// 128 planes of 1024x1024.
export const BUDGET_BYTES = 256 * 2 ** 20;

export function keyOf({ jobId, version, axis, level, index }: SliceId): string {
  return `${jobId}/${version}/${axis}/${level}/${index}`;
}

export class SliceLoader {
  private readonly cache: LruCache<Slice>;
  private wishes: SliceId[] = [];
  private readonly loading = new Map<string, AbortController>();
  // Why a plane could not be had, and from when on it is asked for again (Infinity: never).
  private readonly failures = new Map<string, { message: string; again: number }>();
  private cancelRetry: () => void = () => {};

  constructor(
    private readonly fetchSlice: FetchSlice,
    private readonly onChange: () => void,
    budgetBytes = BUDGET_BYTES,
    private readonly clock: Clock = wallClock,
  ) {
    this.cache = new LruCache(budgetBytes);
  }

  get(id: SliceId): Slice | undefined {
    return this.cache.get(keyOf(id));
  }

  failure(id: SliceId): string | undefined {
    return this.failures.get(keyOf(id))?.message;
  }

  // Replaces what was wanted before; what is on its way and no longer wanted is given up.
  want(wishes: SliceId[]): void {
    this.wishes = wishes;
    const keys = new Set(wishes.map(keyOf));
    for (const [key, abort] of this.loading) {
      if (!keys.has(key)) {
        abort.abort();
        this.loading.delete(key);
      }
    }
    for (const key of this.failures.keys()) if (!keys.has(key)) this.failures.delete(key);
    this.pump();
  }

  stop(): void {
    this.want([]);
    this.cancelRetry();
    this.cache.clear();
  }

  private pump(): void {
    let soonest = Infinity;
    for (const id of this.wishes) {
      if (this.loading.size >= CONCURRENT) return;
      const key = keyOf(id);
      if (this.cache.has(key) || this.loading.has(key)) continue;
      const failure = this.failures.get(key);
      if (failure && failure.again > this.clock.now()) {
        soonest = Math.min(soonest, failure.again);
        continue;
      }
      void this.load(id, key);
    }
    this.cancelRetry();
    if (soonest < Infinity) {
      this.cancelRetry = this.clock.after(soonest - this.clock.now(), () => this.pump());
    }
  }

  private async load(id: SliceId, key: string): Promise<void> {
    const abort = new AbortController();
    this.loading.set(key, abort);
    try {
      const slice = await this.fetchSlice(id, abort.signal);
      if (abort.signal.aborted) return;
      this.failures.delete(key);
      this.cache.set(key, slice, slice.samples.byteLength);
    } catch (error) {
      if (abort.signal.aborted) return;
      this.failures.set(key, { message: messageOf(error), again: this.againAfter(error) });
    }
    this.loading.delete(key);
    this.onChange();
    this.pump();
  }

  private againAfter(error: unknown): number {
    if (error instanceof ApiError && error.status !== 0 && error.status < 500) return Infinity;
    const wait = error instanceof ApiError ? error.retryAfterSeconds : null;
    return this.clock.now() + (wait === null ? RETRY_MS : wait * 1000);
  }
}
