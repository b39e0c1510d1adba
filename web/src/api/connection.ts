// Keeps the page in touch with the server: the event stream where it works, asking now and then where something on the way
// does not let it through, and trying again where the server is gone.
import type { Clock } from '../lib/clock.ts';
import { EventParser, type ServerEvent } from './event_parser.ts';

export type Link =
  | { kind: 'connecting' }
  | { kind: 'live' }
  // The server answers, but its events do not arrive.
  | { kind: 'polling' }
  // No sign of life since then (milliseconds since 1970).
  | { kind: 'gone'; since: number; message: string; nextTry: number }
  | { kind: 'signed-out' };

export interface Port {
  events(lastEventId: string | null, signal: AbortSignal): Promise<Response>;
  // Asks for everything that events would have told; rejects when the server does not answer.
  poll(): Promise<void>;
}

// The server says something every 5 s; without it for 15 s it is gone (docs/web-api.md).
const SILENCE_MS = 15_000;
const POLL_MS = 2_000;
const ANSWER_MS = 4_000;
const FIRST_WAIT_MS = 1_000;
// An operator page that comes back late is worse than one request every few seconds.
const LONGEST_WAIT_MS = 8_000;

export class Connection {
  link: Link = { kind: 'connecting' };
  private lastEventId: string | null = null;
  private lastSign: number;
  private failures = 0;
  private running = false;
  private round = 0;
  private abort: AbortController | null = null;
  private cancelWait: () => void = () => {};

  constructor(
    private readonly port: Port,
    private readonly clock: Clock,
    private readonly onEvent: (event: ServerEvent) => void,
    private readonly onLink: (link: Link) => void,
    private readonly random: () => number = Math.random,
  ) {
    this.lastSign = clock.now();
  }

  start(): void {
    if (this.running) return;
    this.running = true;
    this.failures = 0;
    this.lastSign = this.clock.now();
    this.setLink({ kind: 'connecting' });
    void this.attempt();
  }

  stop(): void {
    this.running = false;
    this.round += 1;
    this.cancelWait();
    this.abort?.abort();
    this.abort = null;
  }

  // Tries at once instead of after the wait; does nothing while the stream lives.
  retryNow(): void {
    if (!this.running || this.link.kind === 'live' || this.link.kind === 'connecting') return;
    this.cancelWait();
    this.abort?.abort();
    void this.attempt();
  }

  private async attempt(): Promise<void> {
    this.round += 1;
    const round = this.round;
    const mine = () => this.running && round === this.round;
    const stopAsking = this.askUntilLive(mine);
    const message = await this.stream(mine);
    stopAsking();
    if (!mine()) return;
    if (message === null) {
      this.running = false;
      this.setLink({ kind: 'signed-out' });
      return;
    }
    this.failures += 1;
    await this.withoutStream(message, mine);
  }

  // A proxy that holds events back leaves a stream open on which nothing comes: meanwhile the page asks.
  private askUntilLive(mine: () => boolean): () => void {
    let ended = false;
    let cancel = () => {};
    const ask = async () => {
      if (this.isLive()) return;
      const answered = await this.answers();
      if (ended || !mine() || this.isLive()) return;
      if (answered) this.setLink({ kind: 'polling' });
      cancel = this.clock.after(POLL_MS, () => void ask());
    };
    cancel = this.clock.after(POLL_MS, () => void ask());
    return () => {
      ended = true;
      cancel();
    };
  }

  // Whether the server answers, and soon.
  private async answers(): Promise<boolean> {
    let cancel = () => {};
    const late = new Promise<boolean>((resolve) => {
      cancel = this.clock.after(ANSWER_MS, () => resolve(false));
    });
    const answered = await Promise.race([this.port.poll().then(() => true, () => false), late]);
    cancel();
    if (answered) this.lastSign = this.clock.now();
    return answered;
  }

  // Reads events until they end. Why they did; null when the session has.
  private async stream(mine: () => boolean): Promise<string | null> {
    const abort = new AbortController();
    this.abort = abort;
    let cancelWatch = this.clock.after(SILENCE_MS, () => abort.abort());
    const alive = () => {
      cancelWatch();
      cancelWatch = this.clock.after(SILENCE_MS, () => abort.abort());
      this.lastSign = this.clock.now();
    };
    try {
      const response = await this.port.events(this.lastEventId, abort.signal);
      if (response.status === 401) return null;
      if (!response.ok || response.body === null) return `the server refused its events with HTTP status ${response.status}`;
      const parser = new EventParser();
      const decoder = new TextDecoder();
      const reader = response.body.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (!mine()) {
          void reader.cancel();
          return 'stopped';
        }
        if (done) return 'the server closed the connection';
        alive();
        for (const event of parser.push(decoder.decode(value, { stream: true }))) {
          this.failures = 0;
          this.setLink({ kind: 'live' });
          this.onEvent(event);
        }
        if (parser.lastEventId !== null) this.lastEventId = parser.lastEventId;
      }
    } catch (error) {
      // Who shares a stream is told that it is silent.
      const silent = abort.signal.aborted || (error instanceof DOMException && error.name === 'TimeoutError');
      return silent ? 'the server has been silent for 15 s' : 'the server cannot be reached';
    } finally {
      cancelWatch();
    }
  }

  private async withoutStream(message: string, mine: () => boolean): Promise<void> {
    const doubled = FIRST_WAIT_MS * 2 ** Math.min(this.failures - 1, 10);
    const wait = Math.min(LONGEST_WAIT_MS, doubled) * (0.75 + 0.5 * this.random());
    const nextTry = this.clock.now() + wait;
    for (;;) {
      const answered = await this.answers();
      if (!mine()) return;
      this.setLink(answered ? { kind: 'polling' } : { kind: 'gone', since: this.lastSign, message, nextTry });
      const left = nextTry - this.clock.now();
      if (!answered || left <= POLL_MS) {
        await this.wait(Math.max(0, left));
        break;
      }
      await this.wait(POLL_MS);
      if (!mine()) return;
    }
    if (mine()) void this.attempt();
  }

  private isLive(): boolean {
    return this.link.kind === 'live';
  }

  private wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.cancelWait = this.clock.after(ms, resolve);
    });
  }

  private setLink(link: Link): void {
    if (link.kind === this.link.kind && link.kind !== 'gone') return;
    this.link = link;
    this.onLink(link);
  }
}
