// One event stream for all windows of a browser, in a SharedWorker: over HTTP/1.1 a browser opens six connections to one server, and
// with a stream for each window the seventh would get no answer to anything.
import type { Clock } from '../lib/clock.ts';
import { EventParser, type ServerEvent } from './event_parser.ts';

// What a window says: it follows, from the event behind `lastEventId` on, or it does not any more.
export type Wish = { kind: 'follow'; lastEventId: string | null } | { kind: 'leave' };

// What a window is told: `ready` once; then, each time that it follows, the status of the stream's answer, its events as text, and that
// it ended, or that nothing came any more. `failed`: there was no answer.
export type Told = { kind: 'ready' } | { kind: 'open'; status: number } | { kind: 'text'; text: string } | { kind: 'end' } | { kind: 'silent' } | { kind: 'failed' };

export interface Window {
  tell(told: Told): void;
}

export interface Source {
  events(lastEventId: string | null, signal: AbortSignal): Promise<Response>;
  // The node's status, for windows that come later than the stream's greeting.
  status(): Promise<unknown>;
}

interface Follower {
  lastEventId: string | null;
  // It knows that the stream is open.
  opened: boolean;
  // Events that came while it is being greeted; null: it has been.
  held: string[] | null;
}

// As the page itself (connection.ts): the server says something every 5 s.
const SILENCE_MS = 15_000;

export class SharedStream {
  private readonly followers = new Map<Window, Follower>();
  private abort: AbortController | null = null;
  private askedFrom: string | null = null;
  private lastEventId: string | null = null;
  private open = false;
  private greeted = false;

  constructor(private readonly source: Source, private readonly clock: Clock) {}

  wish(window: Window, wish: Wish): void {
    this.followers.delete(window);
    if (wish.kind === 'follow') this.follow(window, wish.lastEventId);
    else if (this.followers.size === 0) this.abort?.abort();
  }

  private follow(window: Window, lastEventId: string | null): void {
    const follower: Follower = { lastEventId, opened: false, held: [] };
    this.followers.set(window, follower);
    if (this.abort === null || this.abort.signal.aborted) {
      void this.run(lastEventId);
      return;
    }
    if (this.open) this.tellOpen(window, follower);
    if (this.greeted) void this.greetLater(window, follower);
  }

  // The stream from here on, until it ends or nobody follows.
  private async run(from: string | null): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    this.askedFrom = from;
    this.lastEventId = from;
    this.open = false;
    this.greeted = false;
    let silent = false;
    const watch = () => this.clock.after(SILENCE_MS, () => {
      silent = true;
      abort.abort();
    });
    let cancelWatch = watch();
    const last = await this.read(abort.signal, () => {
      cancelWatch();
      cancelWatch = watch();
    });
    cancelWatch();
    if (this.abort !== abort) return;
    this.abort = null;
    const followers = [...this.followers.keys()];
    this.followers.clear();
    for (const window of followers) window.tell(silent && this.open ? { kind: 'silent' } : last);
  }

  // What is to be told when there is no more.
  private async read(signal: AbortSignal, alive: () => void): Promise<Told> {
    const mine = () => this.abort?.signal === signal && !signal.aborted;
    try {
      const response = await this.source.events(this.askedFrom, signal);
      if (!response.ok || response.body === null) return { kind: 'open', status: response.status };
      if (!mine()) return { kind: 'end' };
      this.open = true;
      for (const [window, follower] of this.followers) this.tellOpen(window, follower);
      const parser = new EventParser();
      const decoder = new TextDecoder();
      const reader = response.body.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done || !mine()) return { kind: 'end' };
        alive();
        for (const event of parser.push(decoder.decode(value, { stream: true }))) {
          this.lastEventId = parser.lastEventId ?? this.lastEventId;
          this.tellAll(event);
        }
      }
    } catch {
      return this.open && this.abort?.signal === signal ? { kind: 'end' } : { kind: 'failed' };
    }
  }

  private tellOpen(window: Window, follower: Follower): void {
    if (follower.opened) return;
    follower.opened = true;
    window.tell({ kind: 'open', status: 200 });
  }

  private tellAll(event: ServerEvent): void {
    const hello = event.event === 'hello' ? (JSON.parse(event.data) as { resumed: boolean; status: unknown }) : null;
    if (hello) this.greeted = true;
    const text = textOf(event, this.lastEventId);
    for (const [window, follower] of this.followers) {
      // Events go on behind the one that the stream was asked from, which may be another than this window's last.
      if (hello) this.greet(window, follower, hello.resumed && follower.lastEventId === this.askedFrom, hello.status);
      else if (follower.held) follower.held.push(text);
      else window.tell({ kind: 'text', text });
    }
  }

  // It reads the lists again, unless it has seen all that there was; what comes while the server answers is held until it knows the status.
  private async greetLater(window: Window, follower: Follower): Promise<void> {
    const resumed = follower.lastEventId !== null && follower.lastEventId === this.lastEventId;
    try {
      const status = await this.source.status();
      if (this.followers.get(window) === follower) this.greet(window, follower, resumed, status);
    } catch {
      if (this.followers.get(window) !== follower) return;
      this.followers.delete(window);
      window.tell({ kind: 'end' });
    }
  }

  private greet(window: Window, follower: Follower, resumed: boolean, status: unknown): void {
    const hello = { event: 'hello', data: JSON.stringify({ resumed, status }) };
    window.tell({ kind: 'text', text: textOf(hello, this.lastEventId) + (follower.held ?? []).join('') });
    follower.held = null;
  }
}

// Data are JSON on one line.
function textOf({ event, data }: ServerEvent, id: string | null): string {
  return `${id === null ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`;
}
