// The event stream that all windows of this browser share, as an answer like that of a stream of this window's own.
import type { Told, Wish } from './shared_stream.ts';

type Events = (lastEventId: string | null, signal: AbortSignal) => Promise<Response>;

// Of MessagePort what is used.
export interface Channel {
  postMessage(wish: Wish): void;
  onmessage: ((message: MessageEvent<Told>) => void) | null;
  close(): void;
}

// A worker that has not begun by then is done without; until it has, the page asks (connection.ts).
const BEGIN_MS = 10_000;

// `open`: a new channel to the worker, which it begins where there is none; `failed` is called when its script cannot be had. Browsers
// without shared workers, and those that refuse this one, have `own`.
export function sharedEvents(open: (failed: () => void) => Channel, own: Events): Events {
  return (lastEventId, signal) => new Promise((resolve, reject) => {
    let channel: Channel | null = null;
    let decided = false;
    const alone = () => {
      if (decided) return;
      decided = true;
      clearTimeout(late);
      channel?.close();
      own(lastEventId, signal).then(resolve, reject);
    };
    const late = setTimeout(alone, BEGIN_MS);
    try {
      channel = open(alone);
    } catch {
      alone();
      return;
    }
    const opened = channel;
    opened.onmessage = ({ data }) => {
      if (decided || data.kind !== 'ready') return;
      decided = true;
      clearTimeout(late);
      follow(opened, lastEventId, signal).then(resolve, reject);
    };
  });
}

// What comes through the channel from now on, as an answer of the server.
function follow(channel: Channel, lastEventId: string | null, signal: AbortSignal): Promise<Response> {
  return new Promise((resolve, reject) => {
    const encoder = new TextEncoder();
    let body: ReadableStreamDefaultController<Uint8Array> | null = null;
    const done = () => {
      channel.onmessage = null;
      channel.close();
    };
    channel.onmessage = ({ data: told }) => {
      if (told.kind === 'text') body?.enqueue(encoder.encode(told.text));
      else if (told.kind === 'open' && told.status === 200) resolve(new Response(new ReadableStream({ start: (controller) => { body = controller; } })));
      else {
        done();
        if (told.kind === 'open') resolve(new Response(null, { status: told.status }));
        else if (told.kind === 'end' && body) body.close();
        else if (told.kind === 'silent' && body) body.error(new DOMException('silent', 'TimeoutError'));
        else reject(new TypeError('the event stream cannot be reached'));
      }
    };
    const leave = () => {
      if (channel.onmessage === null) return;
      channel.postMessage({ kind: 'leave' });
      done();
      const error = new DOMException('aborted', 'AbortError');
      body?.error(error);
      reject(error);
    };
    channel.postMessage({ kind: 'follow', lastEventId });
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave);
  });
}
