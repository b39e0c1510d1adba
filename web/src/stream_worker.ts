// The shared worker: what shared_stream.ts does, between the windows' ports and the server.
import { type Wish, SharedStream } from './api/shared_stream.ts';
import { wallClock } from './lib/clock.ts';

// Beside the worker's script, which lies in assets/.
const api = (path: string) => new URL(`../api/v1/${path}`, self.location.href).href;

const stream = new SharedStream({
  events: (lastEventId, signal) => fetch(api('events'), { signal, cache: 'no-store', headers: lastEventId === null ? {} : { 'Last-Event-ID': lastEventId } }),
  async status() {
    const response = await fetch(api('status'), { cache: 'no-store' });
    if (!response.ok) throw new Error(`the status was refused with HTTP status ${response.status}`);
    return response.json();
  },
}, wallClock);

self.addEventListener('connect', (event) => {
  const port = (event as MessageEvent).ports[0]!;
  const window = { tell: (told: unknown) => port.postMessage(told) };
  port.onmessage = ({ data }: MessageEvent<Wish>) => stream.wish(window, data);
  window.tell({ kind: 'ready' });
});
