import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Connection, type Link } from '../src/api/connection.ts';
import type { ServerEvent } from '../src/api/event_parser.ts';
import { FakeClock, settle } from './fake_clock.ts';

// A server that answers as the test says.
class Server {
  up = true;
  // The stream opens, but nothing comes through.
  held = false;
  status = 200;
  asked: (string | null)[] = [];
  polls = 0;
  stream: ReadableStreamDefaultController<Uint8Array> | null = null;

  events(lastEventId: string | null, signal: AbortSignal): Promise<Response> {
    this.asked.push(lastEventId);
    if (!this.up) return Promise.reject(new TypeError('fetch failed'));
    if (this.status !== 200) return Promise.resolve(new Response('{}', { status: this.status }));
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.stream = controller;
        signal.addEventListener('abort', () => controller.error(new DOMException('aborted', 'AbortError')));
        if (!this.held) this.say(`id: e-${this.asked.length}\nevent: hello\ndata: {}\n\n`);
      },
    });
    return Promise.resolve(new Response(body, { status: 200 }));
  }

  poll(): Promise<void> {
    this.polls += 1;
    return this.up ? Promise.resolve() : Promise.reject(new Error('gone'));
  }

  say(text: string): void {
    this.stream!.enqueue(new TextEncoder().encode(text));
  }
}

function started(server: Server) {
  const clock = new FakeClock();
  const links: Link[] = [];
  const events: ServerEvent[] = [];
  const connection = new Connection(server, clock, (e) => events.push(e), (l) => links.push(l), () => 0.5);
  connection.start();
  return { clock, links, events, connection, kinds: () => links.map((l) => l.kind) };
}

test('events arrive and make the link live', async () => {
  const server = new Server();
  const { events, kinds, connection } = started(server);
  await settle();
  server.say('event: job\ndata: {"job_id": "a"}\n\n');
  await settle();
  assert.deepEqual(events.map((e) => e.event), ['hello', 'job']);
  assert.deepEqual(kinds(), ['live']);
  connection.stop();
});

test('a server that goes away is gone since its last sign, and comes back with the last id', async () => {
  const server = new Server();
  const { clock, links, kinds, connection } = started(server);
  await settle();
  await clock.advance(4000);
  server.say('id: e-77\nevent: heartbeat\ndata: {}\n\n');
  await settle();
  const last = clock.now();
  server.up = false;
  await clock.advance(1000);
  server.stream!.error(new TypeError('network error'));
  await settle();
  const gone = links.at(-1)!;
  assert.equal(gone.kind, 'gone');
  assert.equal(gone.kind === 'gone' && gone.since, last);
  await clock.advance(60_000);
  assert.equal(connection.link.kind, 'gone');
  assert.equal(connection.link.kind === 'gone' && connection.link.since, last, 'still since the same moment');
  const tries = server.asked.length;
  assert.ok(tries > 6 && tries < 20, `${tries} tries in a minute`);
  server.up = true;
  await clock.advance(10_000);
  assert.equal(server.asked.at(-1), 'e-77');
  assert.equal(kinds().at(-1), 'live');
  connection.stop();
});

test('silence for 15 s counts as gone', async () => {
  const server = new Server();
  const { clock, links, connection } = started(server);
  await settle();
  await clock.advance(14_000);
  assert.equal(connection.link.kind, 'live');
  server.up = false;
  await clock.advance(1_500);
  const link = links.at(-1)!;
  assert.match(link.kind === 'gone' ? link.message : link.kind, /silent for 15 s/);
  connection.stop();
});

test('a stream that is shared tells of its silence', async () => {
  const server = new Server();
  const { links, connection } = started(server);
  await settle();
  server.up = false;
  server.stream!.error(new DOMException('silent', 'TimeoutError'));
  await settle();
  const link = links.at(-1)!;
  assert.match(link.kind === 'gone' ? link.message : link.kind, /silent for 15 s/);
  connection.stop();
});

test('events that are held back are replaced by asking every 2 s, and welcome later', async () => {
  const server = new Server();
  server.held = true;
  const { clock, connection } = started(server);
  await clock.advance(2_100);
  assert.equal(connection.link.kind, 'polling');
  await clock.advance(40_000);
  assert.equal(connection.link.kind, 'polling');
  assert.ok(server.polls >= 15 && server.polls <= 25, `${server.polls} polls in 42 s`);
  server.say('event: job\ndata: {}\n\n');
  await settle();
  assert.equal(connection.link.kind, 'live');
  const polls = server.polls;
  await clock.advance(10_000);
  assert.equal(server.polls, polls);
  connection.stop();
});

test('too many streams (503): the page asks meanwhile', async () => {
  const server = new Server();
  server.status = 503;
  const { clock, connection } = started(server);
  await clock.advance(3_000);
  assert.equal(connection.link.kind, 'polling');
  server.status = 200;
  await clock.advance(10_000);
  assert.equal(connection.link.kind, 'live');
  connection.stop();
});

test('an ended session ends the connection', async () => {
  const server = new Server();
  server.status = 401;
  const { clock, connection } = started(server);
  await settle();
  assert.equal(connection.link.kind, 'signed-out');
  await clock.advance(60_000);
  assert.equal(server.asked.length, 1);
});

test('trying now does not wait', async () => {
  const server = new Server();
  server.up = false;
  const { clock, connection } = started(server);
  await clock.advance(30_000);
  server.up = true;
  connection.retryNow();
  await settle();
  assert.equal(connection.link.kind, 'live');
  const asked = server.asked.length;
  connection.retryNow();
  await settle();
  assert.equal(server.asked.length, asked, 'a live stream is left alone');
  connection.stop();
  await clock.advance(60_000);
  assert.equal(server.asked.length, asked, 'a stopped connection stays stopped');
});
