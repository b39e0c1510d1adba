// Time that stands still until a test moves it.
import type { Clock } from '../src/lib/clock.ts';

export class FakeClock implements Clock {
  private time = 1_000_000;
  private calls: { at: number; call: () => void }[] = [];

  now(): number {
    return this.time;
  }

  after(ms: number, call: () => void): () => void {
    const entry = { at: this.time + ms, call };
    this.calls.push(entry);
    return () => {
      this.calls = this.calls.filter((other) => other !== entry);
    };
  }

  // Moves time, and lets what waits for promises run after every call.
  async advance(ms: number): Promise<void> {
    const end = this.time + ms;
    await settle();
    for (;;) {
      const next = this.calls.filter((c) => c.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.calls = this.calls.filter((other) => other !== next);
      this.time = next.at;
      next.call();
      await settle();
    }
    this.time = end;
  }
}

export async function settle(): Promise<void> {
  for (let i = 0; i < 5; i += 1) await new Promise((resolve) => setImmediate(resolve));
}
