import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Channel, sharedEvents } from '../src/api/shared_events.ts';
import { type Told, type Window, type Wish, SharedStream } from '../src/api/shared_stream.ts';
import { FakeClock, settle } from './fake_clock.ts';

// The server, as the worker sees it.
class Source {
  asked: (string | null)[] = [];
  code = 200;
  streams: ReadableStreamDefaultController<Uint8Array>[] = [];
  open = 0;
  answerStatus: () => Promise<unknown> = () => Promise.resolve({ fresh: true });

  events(lastEventId: string | null, signal: AbortSignal): Promise<Response> {
    this.asked.push(lastEventId);
    if (this.code === 0) return Promise.reject(new TypeError('fetch failed'));
    if (this.code !== 200) return Promise.resolve(new Response('{}', { status: this.code }));
    this.open += 1;
    return Promise.resolve(new Response(new ReadableStream({
      start: (controller) => {
        this.streams.push(controller);
        signal.addEventListener('abort', () => {
          this.open -= 1;
          controller.error(new DOMException('aborted', 'AbortError'));
        });
      },
    })));
  }

  status(): Promise<unknown> {
    return this.answerStatus();
  }

  async say(event: string, data: unknown, id: string): Promise<void> {
    this.streams.at(-1)!.enqueue(new TextEncoder().encode(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`));
    await settle();
  }
}

function windowOf() {
  const told: Told[] = [];
  const window: Window = { tell: (one) => told.push(one) };
  return { window, told, text: () => told.map((one) => (one.kind === 'text' ? one.text : '')).join('') };
}

function shared() {
  const source = new Source();
  const clock = new FakeClock();
  const stream = new SharedStream(source, clock);
  const follow = async (lastEventId: string | null = null) => {
    const window = windowOf();
    stream.wish(window.window, { kind: 'follow', lastEventId });
    await settle();
    return window;
  };
  return { source, clock, stream, follow };
}

test('seven windows have one stream, and each is told everything', async () => {
  const { source, follow } = shared();
  const windows = [await follow()];
  await source.say('hello', { resumed: false, status: { ready: true } }, 'r-1');
  for (let i = 0; i < 6; i += 1) windows.push(await follow());
  await source.say('job', { job_id: 'a' }, 'r-2');
  assert.equal(source.asked.length, 1);
  assert.equal(windows[0]!.text(), 'id: r-1\nevent: hello\ndata: {"resumed":false,"status":{"ready":true}}\n\nid: r-2\nevent: job\ndata: {"job_id":"a"}\n\n');
  for (const late of windows.slice(1)) {
    assert.deepEqual(late.told[0], { kind: 'open', status: 200 });
    assert.equal(late.text(), 'id: r-1\nevent: hello\ndata: {"resumed":false,"status":{"fresh":true}}\n\nid: r-2\nevent: job\ndata: {"job_id":"a"}\n\n');
  }
});

test('what comes while a later window is being greeted is told it behind its greeting', async () => {
  const { source, follow } = shared();
  await follow();
  await source.say('hello', { resumed: false, status: {} }, 'r-1');
  let answer = (_: unknown) => {};
  source.answerStatus = () => new Promise((resolve) => { answer = resolve; });
  const late = await follow();
  await source.say('job', { job_id: 'between' }, 'r-2');
  assert.equal(late.text(), '');
  answer({ ready: false });
  await settle();
  assert.match(late.text(), /^id: r-2\nevent: hello\ndata: {"resumed":false,"status":{"ready":false}}\n\nid: r-2\nevent: job\ndata: {"job_id":"between"}\n\n$/);
});

test('only who has seen all that there was before goes on without reading the lists again', async () => {
  const { source, follow } = shared();
  const first = await follow('r-7');
  const other = await follow('r-5');
  const fresh = await follow();
  assert.deepEqual(source.asked, ['r-7']);
  await source.say('hello', { resumed: true, status: {} }, 'r-7');
  assert.deepEqual([first, other, fresh].map((each) => /"resumed":true/.test(each.text())), [true, false, false]);
  assert.match((await follow('r-7')).text(), /"resumed":true/);
  await source.say('job', {}, 'r-8');
  assert.match((await follow('r-7')).text(), /"resumed":false/);
});

test('the stream stays as long as anybody follows, and not longer', async () => {
  const { source, stream, follow } = shared();
  const first = await follow();
  await source.say('hello', { resumed: false, status: {} }, 'r-1');
  const second = await follow();
  stream.wish(first.window, { kind: 'leave' });
  await source.say('job', {}, 'r-2');
  assert.match(second.text(), /event: job/);
  assert.doesNotMatch(first.text(), /event: job/);
  assert.equal(source.open, 1);
  stream.wish(second.window, { kind: 'leave' });
  await settle();
  assert.equal(source.open, 0);
  await follow('r-2');
  assert.deepEqual(source.asked, [null, 'r-2']);
});

test('refusals, ends, silence and a server that cannot be reached are told to all', async () => {
  const { source, clock, follow } = shared();
  for (const [code, last] of [[401, { kind: 'open', status: 401 }], [503, { kind: 'open', status: 503 }], [0, { kind: 'failed' }]] as const) {
    source.code = code;
    assert.deepEqual((await follow()).told, [last]);
  }
  source.code = 200;
  const windows = [await follow(), await follow()];
  source.streams.at(-1)!.close();
  await settle();
  for (const { told } of windows) assert.deepEqual(told, [{ kind: 'open', status: 200 }, { kind: 'end' }]);
  const silent = await follow();
  await source.say('hello', { resumed: false, status: {} }, 'r-1');
  await clock.advance(14_000);
  assert.equal(silent.told.at(-1)?.kind, 'text');
  await clock.advance(1_100);
  assert.deepEqual(silent.told.at(-1), { kind: 'silent' });
});

test('a later window whose greeting fails tries again, the others stay', async () => {
  const { source, follow } = shared();
  const first = await follow();
  await source.say('hello', { resumed: false, status: {} }, 'r-1');
  source.answerStatus = () => Promise.reject(new Error('busy'));
  assert.deepEqual((await follow()).told, [{ kind: 'open', status: 200 }, { kind: 'end' }]);
  await source.say('job', {}, 'r-2');
  assert.match(first.text(), /event: job/);
});

// Channels to a worker that is a SharedStream, or to none.
function channelTo(stream: SharedStream | null): Channel {
  const channel: Channel = {
    onmessage: null,
    postMessage: (wish: Wish) => stream?.wish(window, wish),
    close: () => {},
  };
  const window: Window = { tell: (data) => channel.onmessage?.({ data } as MessageEvent<Told>) };
  if (stream) queueMicrotask(() => window.tell({ kind: 'ready' }));
  return channel;
}

const never = () => Promise.reject(new Error('its own stream was not to be asked for'));

test('a window reads the shared stream as if it were its own, and leaves it when it is told to', async () => {
  const { source, stream } = shared();
  const events = sharedEvents(() => channelTo(stream), never);
  const abort = new AbortController();
  const asked = events(null, abort.signal);
  await settle();
  await source.say('hello', { resumed: false, status: {} }, 'r-1');
  const reader = (await asked).body!.getReader();
  assert.match(new TextDecoder().decode((await reader.read()).value), /^id: r-1\nevent: hello/);
  abort.abort();
  await assert.rejects(reader.read(), /aborted/);
  assert.equal(source.open, 0);
  source.code = 401;
  assert.equal((await events('r-1', new AbortController().signal)).status, 401);
  source.code = 0;
  await assert.rejects(events('r-1', new AbortController().signal), /cannot be reached/);
});

test('a window hears that the shared stream has fallen silent, rather than that the server closed it', async () => {
  const { source, stream, clock } = shared();
  const asked = sharedEvents(() => channelTo(stream), never)(null, new AbortController().signal);
  await settle();
  await source.say('hello', { resumed: false, status: {} }, 'r-1');
  const reader = (await asked).body!.getReader();
  await reader.read();
  const silent = assert.rejects(reader.read(), { name: 'TimeoutError' });
  await clock.advance(15_100);
  await silent;
});

test('where there is no shared worker, or its script cannot be had, a window has a stream of its own', async () => {
  const own = () => Promise.resolve(new Response('own'));
  const { signal } = new AbortController();
  const refused = sharedEvents(() => { throw new ReferenceError('SharedWorker is not defined'); }, own);
  assert.equal(await (await refused(null, signal)).text(), 'own');
  const missing = sharedEvents((failed) => {
    queueMicrotask(failed);
    return channelTo(null);
  }, own);
  assert.equal(await (await missing(null, signal)).text(), 'own');
});
