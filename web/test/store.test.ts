import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Api, ApiError } from '../src/api/client.ts';
import type { Job, Status } from '../src/api/types.ts';
import { jobTitle } from '../src/lib/announcements.ts';
import { parseRoute, href } from '../src/lib/router.ts';
import { stageOf } from '../src/lib/progress.ts';
import { Store } from '../src/state/store.ts';
import { FakeClock } from './fake_clock.ts';

const json = (body: unknown, status = 200, headers = {}) => new Response(JSON.stringify(body), { status, headers });

test('errors have the code and the sentence of the server, or say that there was no answer', async () => {
  const api = new Api(() => Promise.resolve(json({ error: { code: 'NOT_FOUND', message: "there is no job 'x'" } }, 404)));
  await assert.rejects(api.get('jobs/x'), (e: ApiError) => e.status === 404 && e.code === 'NOT_FOUND' && e.message === "there is no job 'x'");
  const proxy = new Api(() => Promise.resolve(new Response('<html>', { status: 502, headers: { 'Retry-After': '3' } })));
  await assert.rejects(proxy.get('status'), (e: ApiError) => e.status === 502 && e.retryAfterSeconds === 3 && /502/.test(e.message));
  const none = new Api(() => Promise.reject(new TypeError('fetch failed')));
  await assert.rejects(none.get('status'), (e: ApiError) => e.status === 0 && e.code === 'UNAVAILABLE');
});

test('changing calls carry the CSRF token of the session, reading ones do not', async () => {
  const seen: [string, string | null][] = [];
  const api = new Api((url, init) => {
    seen.push([`${init?.method} ${url}`, new Headers(init?.headers).get('X-CSRF-Token')]);
    return Promise.resolve(json({ signed_in: true, csrf_token: 'c', role: 'viewer' }));
  });
  await api.session();
  await api.get('jobs', { state: 'active', page_token: undefined, protocol: '' });
  await api.post('node:drain', { reason: 'x' });
  assert.deepEqual(seen, [['GET api/v1/session', null], ['GET api/v1/jobs?state=active', null], ['POST api/v1/node:drain', 'c']]);
});

// A service that signs with `token`, and a page that has asked it for its session.
async function served(token: string) {
  const server = { token, seen: [] as string[] };
  const api = new Api((url, init) => {
    const carried = new Headers(init?.headers).get('X-CSRF-Token');
    server.seen.push(`${init?.method} ${url} ${carried ?? ''}`.trim());
    if (init?.method === 'GET' || carried === server.token) return Promise.resolve(json({ signed_in: true, csrf_token: server.token, role: 'operator' }));
    return Promise.resolve(json({ error: { code: 'PERMISSION_DENIED', message: 'X-CSRF-Token is missing or wrong' } }, 403));
  });
  await api.session();
  server.seen = [];
  return { server, api };
}

test('after a restart of the service a command fetches the new token and is repeated once', async () => {
  const { server, api } = await served('old');
  server.token = 'new';
  await api.post('node:drain');
  assert.deepEqual(server.seen, ['POST api/v1/node:drain old', 'GET api/v1/session', 'POST api/v1/node:drain new']);
  await api.remove('jobs/x');
  assert.equal(server.seen.at(-1), 'DELETE api/v1/jobs/x new');
});

test('a command that stays refused is not repeated: neither with the same token nor a second time', async () => {
  const sameSeen: string[] = [];
  const same = new Api((url, init) => {
    sameSeen.push(`${init?.method} ${url}`);
    if (init?.method === 'GET') return Promise.resolve(json({ signed_in: true, csrf_token: 'c', role: 'viewer' }));
    return Promise.resolve(json({ error: { code: 'PERMISSION_DENIED', message: 'this needs the role operator' } }, 403));
  });
  await same.session();
  await assert.rejects(same.post('node:drain'), /this needs the role operator/);
  assert.equal(sameSeen.filter((call) => call.startsWith('POST')).length, 1);

  let token = 0;
  const seen: string[] = [];
  const moving = new Api((url, init) => {
    seen.push(`${init?.method} ${url}`);
    token += 1;
    if (init?.method === 'GET') return Promise.resolve(json({ signed_in: true, csrf_token: `t${token}`, role: 'operator' }));
    return Promise.resolve(json({ error: { code: 'PERMISSION_DENIED', message: 'no' } }, 403));
  });
  await moving.session();
  await assert.rejects(moving.post('node:drain'), (e: ApiError) => e.status === 403);
  assert.equal(seen.filter((call) => call.startsWith('POST')).length, 2);
});

test('a 401 says that the session has ended, but not the one of a wrong token', async () => {
  const api = new Api(() => Promise.resolve(json({ error: { code: 'UNAUTHENTICATED', message: 'no' } }, 401)));
  let ended = 0;
  api.onSignedOut = () => { ended += 1; };
  await assert.rejects(api.signIn('wrong'));
  assert.equal(ended, 0);
  await assert.rejects(api.get('status'));
  assert.equal(ended, 1);
});

test('a plane must have as many samples as it says', async () => {
  const plane = (bytes: number) => new Api(() => Promise.resolve(new Response(new Uint8Array(bytes), {
    headers: { 'X-Isocenter-Columns': '3', 'X-Isocenter-Rows': '2' },
  })));
  assert.equal((await plane(12).slice('s', {})).samples.length, 6);
  await assert.rejects(plane(10).slice('s', {}), /3 x 2 samples has 10 bytes, not 12/);
});

function job(id: string, state: Job['state'], minute: number): Job {
  return { job_id: id, state, warning_kinds: [] as string[], create_time: new Date(Date.UTC(2026, 2, 1, 9, minute)).toISOString() } as Job;
}

test('a scan whose frames have stopped coming is told from one that is late, and from one that is slow', async () => {
  const clock = new FakeClock();
  const store = new Store(new Api(() => new Promise(() => {})), clock);
  const scan = (received: number, late: number) => ({
    ...job('scan', 'receiving', 0), progress: { frames_received: received }, predicted_finish_time: new Date(clock.now() - 1000 * late).toISOString(),
  }) as Job;
  assert.equal(store.isStalled(scan(40, 60)), false, 'seen for the first time');
  await clock.advance(4000);
  assert.equal(store.isStalled(scan(41, 60)), false, 'a frame came');
  await clock.advance(4000);
  assert.equal(store.isStalled(scan(41, -5)), false, 'in time');
  assert.equal(store.isStalled(scan(41, 5)), true);
  assert.equal(store.isStalled({ ...scan(41, 5), state: 'reconstructing' } as Job), false);
});

test('active jobs are all kept, ended ones the newest fifty', () => {
  const store = new Store(new Api(() => new Promise(() => {})), new FakeClock());
  for (let i = 0; i < 60; i += 1) store.takeJob(job(`live${i}`, 'receiving', 0));
  for (let i = 0; i < 59; i += 1) store.takeJob(job(`done${i}`, 'completed', i));
  assert.equal(store.active().length, 60);
  assert.equal(store.ended().length, 50);
  assert.equal(store.ended()[0]!.job_id, 'done58');
});

test('listeners are told calmly, and the last state always', async () => {
  const clock = new FakeClock();
  const store = new Store(new Api(() => new Promise(() => {})), clock);
  let told = 0;
  store.subscribe(() => { told += 1; });
  for (let i = 0; i < 100; i += 1) store.takeJob(job('a', i < 99 ? 'receiving' : 'completed', 0));
  assert.equal(told, 1);
  await clock.advance(1000);
  assert.equal(told, 2);
  assert.equal(store.ended().length, 1);
});

test('roles', () => {
  const store = new Store(new Api(() => new Promise(() => {})), new FakeClock());
  assert.equal(store.may('viewer'), false);
  store.session = { signed_in: true, name: 'w', role: 'operator', via: 'token', csrf_token: 'c', expires_time: null, sign_in: 'token', provider: null };
  assert.deepEqual((['viewer', 'operator', 'administrator'] as const).map((r) => store.may(r)), [true, true, false]);
});

test('routes are read as they are written', () => {
  const route = parseRoute(href(['jobs', 'a/b c?'], { tab: 'details', none: undefined }));
  assert.deepEqual(route.path, ['jobs', 'a/b c?']);
  assert.equal(route.query.get('tab'), 'details');
  assert.deepEqual(parseRoute('').path, []);
  assert.deepEqual(parseRoute('#/jobs/%E0%A4%A').path, ['jobs', '%E0%A4%A']);
});

test('progress is that of the stage', () => {
  const progress = {
    frames_received: 90, frames_lost: 10, frames_backprojected: 40, frames_total: 200, slices_exported: 3, slices_total: 12,
    iterations_done: 1, iterations_total: 4, refined_fraction: 0.3,
  };
  const fraction = (state: Job['state']) => stageOf({ state, progress } as Job).fraction;
  assert.deepEqual((['receiving', 'reconstructing', 'refining', 'exporting', 'completed'] as const).map(fraction), [0.5, 0.2, 0.3, 0.25, 1]);
});

test('the first greeting asks for the jobs alone, once more: screens have just asked for theirs', async () => {
  const asked: string[] = [];
  let end = () => {};
  const hello = 'id: a-1\nevent: hello\ndata: {"resumed": false, "status": {"server_time": "2026-03-01T09:30:00.000Z"}}\n\n';
  const answers: Record<string, () => Response> = {
    session: () => json({ signed_in: true, csrf_token: 'c', role: 'viewer' }),
    events: () => new Response(new ReadableStream({
      start(stream) {
        stream.enqueue(new TextEncoder().encode(hello));
        end = () => stream.close();
      },
    })),
    jobs: () => json({ jobs: [job('a', 'completed', 0)], next_page_token: null }),
    status: () => json({ server_time: '2026-03-01T09:30:00.000Z' }),
  };
  const api = new Api((url) => {
    const name = /api\/v1\/(\w+)/.exec(url)![1]!;
    asked.push(name);
    return Promise.resolve(answers[name]!());
  });
  const clock = new FakeClock();
  const store = new Store(api, clock);
  store.expected = true; // as a browser remembers it
  await store.begin();
  for (let i = 0; i < 20 && store.ended().length === 0; i += 1) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(store.ended().length, 1);
  assert.equal(store.epoch, 0);
  // Two requests for the first rows, two when the screen is there, so that no change is missed between these and the first event.
  assert.equal(asked.filter((name) => name === 'jobs').length, 2);
  await clock.advance(1_000);
  assert.equal(asked.filter((name) => name === 'jobs').length, 4);
  end();
  for (let i = 0; i < 5; i += 1) await new Promise((resolve) => setTimeout(resolve, 5));
  await clock.advance(20_000);
  for (let i = 0; i < 20 && store.epoch === 0; i += 1) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(store.epoch > 0, 'a later one has everything asked again');
});

test('how a job ended is said once, however the page learned of it, and nothing is said of what had ended before', async () => {
  let listed: Job[] = [];
  const api = new Api((url) => Promise.resolve(json(url.includes('jobs') ? { jobs: listed } : { server_time: new Date(0).toISOString() })));
  const store = new Store(api, new FakeClock());
  const room = (state: Job['state'], over: Partial<Job> = {}) => ({ ...job('a', state, 0), station_name: 'room-1', protocol: 'head', ...over });
  store.takeJob(job('old', 'completed', 0));
  store.takeJob(room('receiving'));
  store.takeJob(room('reconstructing'));
  assert.equal(store.announcements.length, 0);
  store.takeJob(room('failed', { error: { code: 'ABORTED', message: 'frame 7 is missing' } }));
  store.takeJob(room('failed'));
  assert.deepEqual(store.announcements.map((a) => a.text), ['Scan of room-1, head: failed. frame 7 is missing']);
  // By asking, where events do not arrive.
  store.takeJob(job('b', 'refining', 1));
  listed = [{ ...job('b', 'completed', 1), refines_job_id: 'a' } as Job];
  store.session = { signed_in: true } as Store['session'];
  store.refresh();
  await new Promise((done) => setTimeout(done));
  assert.equal(store.announcements.at(-1)?.text, 'Refinement: completed');
});

test('that a scan waits for its console is said once, at once, with its order', () => {
  const store = new Store(new Api(() => new Promise(() => {})), new FakeClock());
  const scan = (until: string | null) => ({ ...job('a', 'receiving', 0), station_name: 'room-1', protocol: 'head', accession_number: 'A-17', awaits_console_until_time: until });
  for (const until of [null, '2026-03-01T09:31:00Z', '2026-03-01T09:31:00Z', null]) store.takeJob(scan(until));
  const said = store.announcements.map(({ text, failure }) => [text.replace(/\d\d:\d\d:\d\d/, 'HH:MM:SS'), failure]);
  assert.deepEqual(said, [['Scan of room-1, head, accession no. A-17: the connection to the console is broken. The scan waits for it until HH:MM:SS.', true]]);
});

test('what is heard by asking is said once, though those at work are in both answers', async () => {
  const scan = (until: string | null) => ({ ...job('a', 'receiving', 0), station_name: 'room-1', awaits_console_until_time: until } as Job);
  const store = new Store(new Api(() => Promise.resolve(json({ jobs: [scan('2026-03-01T09:31:00Z')] }))), new FakeClock());
  store.takeJob(scan(null));
  store.session = { signed_in: true } as Store['session'];
  store.refresh();
  await new Promise((done) => setTimeout(done));
  assert.equal(store.announcements.length, 1);
});

test('jobs and events are asked for beside the session, not after it', async () => {
  const asked: string[] = [];
  const store = new Store(new Api((url) => {
    asked.push(/api\/v1\/(\w+)/.exec(url)![1]!);
    return new Promise(() => {});
  }), new FakeClock());
  store.expected = true; // as a browser remembers it
  void store.begin();
  assert.deepEqual([...new Set(asked)].sort(), ['events', 'jobs', 'session']);
});

test('who turns out not to be signed in is asked who he is, once, whatever was refused meanwhile', async () => {
  const asked: string[] = [];
  let answer = (_: Response) => {};
  const store = new Store(new Api((url) => {
    const name = /api\/v1\/(\w+)/.exec(url)![1]!;
    asked.push(name);
    if (name === 'session') return new Promise((resolve) => { answer = resolve; });
    return Promise.resolve(json({ error: { code: 'UNAUTHENTICATED', message: 'sign in first' } }, 401));
  }), new FakeClock());
  store.expected = true;
  const begun = store.begin();
  for (let i = 0; i < 5; i += 1) await new Promise((done) => setTimeout(done));
  answer(json({ signed_in: false, csrf_token: null, role: null }));
  await begun;
  assert.equal(store.session?.signed_in, false);
  assert.equal(store.expected, false);
  assert.equal(store.sessionEnded, false);
  assert.equal(asked.filter((name) => name === 'session').length, 1);
});

test('orders and failures are said, failures at once', () => {
  const store = new Store(new Api(() => new Promise(() => {})), new FakeClock());
  store.say('The volume is in the queue of PACS.');
  store.takeJob({ ...job('a', 'receiving', 0), station_name: 'room-1' });
  store.takeJob({ ...job('a', 'failed', 0), station_name: 'room-1' });
  assert.deepEqual(store.announcements.map(({ text, failure }) => [text, failure]), [
    ['The volume is in the queue of PACS.', false], ['Scan of room-1: failed', true],
  ]);
  store.takeJob({ ...job('b', 'receiving', 0), station_name: 'room-1' });
  store.takeJob({ ...job('b', 'completed', 0), station_name: 'room-1', warning_kinds: ['frame_gap', 'air_level', 'saturated_detector'] });
  store.takeJob({ ...job('c', 'receiving', 0), station_name: 'room-1' });
  store.takeJob({ ...job('c', 'completed', 0), station_name: 'room-1', warning_kinds: ['frame_gap'] });
  assert.deepEqual(store.announcements.slice(-2).map(({ text, failure }) => [text, failure]), [
    ['Scan of room-1: completed. Its volume may be wrong: air level, saturated detector.', true], ['Scan of room-1: completed', false],
  ]);
  for (let i = 0; i < 9; i += 1) store.say(`${i}`);
  assert.equal(store.announcements.length, 5);
  assert.equal(new Set(store.announcements.map(({ id }) => id)).size, 5);
});

test('the window is called after the job that is looked at', () => {
  const looked = { job_id: 'j', station_name: 'Angio-1', protocol: 'fdk', warning_kinds: ['frame_gap'] };
  assert.equal(jobTitle({ ...looked, state: 'completed' }), '✓ Angio-1 fdk');
  assert.equal(jobTitle({ ...looked, state: 'failed', station_name: null }), '✕ j fdk');
  assert.equal(jobTitle({ ...looked, state: 'receiving' }), '… Angio-1 fdk');
  assert.equal(jobTitle({ ...looked, state: 'completed', warning_kinds: ['air_level'] }), '! Angio-1 fdk');
});

test('an answer that is older than what an event has told since the question does not undo it', async () => {
  let answer = () => {};
  const held = new Promise<void>((resolve) => { answer = resolve; });
  const store = new Store(new Api(async (url) => {
    if (!url.startsWith('api/v1/jobs')) return json({ signed_in: false, server_time: '2026-03-01T09:30:00.000Z' });
    await held;
    return json({ jobs: url.includes('active') ? [job('a', 'receiving', 0), job('b', 'receiving', 0)] : [], next_page_token: null });
  }), new FakeClock());
  store.takeJob(job('gone', 'receiving', 0));
  store.refresh();
  for (let i = 0; i < 5; i += 1) await new Promise((resolve) => setTimeout(resolve, 5));
  store.takeJob(job('a', 'completed', 0));
  store.takeJob(job('new', 'receiving', 1));
  answer();
  for (let i = 0; i < 50 && store.active().some((each) => each.job_id === 'gone'); i += 1) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(store.active().map((each) => each.job_id).sort(), ['b', 'new']);
  assert.deepEqual(store.ended().map((each) => each.job_id), ['a']);
});

test('jobs that a busy server did not tell are asked for until they are there', async () => {
  let refusals = 5;
  const hello = 'id: a-1\nevent: hello\ndata: {"resumed": false, "status": {"server_time": "2026-03-01T09:30:00.000Z"}}\n\n';
  const answers: Record<string, () => Response> = {
    session: () => json({ signed_in: true, csrf_token: 'c', role: 'viewer' }),
    events: () => new Response(new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode(hello)) })),
    jobs: () => ((refusals -= 1) >= 0 ? json({ error: { code: 'UNAVAILABLE', message: 'busy' } }, 503) : json({ jobs: [job('a', 'completed', 0)], next_page_token: null })),
    status: () => json({ server_time: '2026-03-01T09:30:00.000Z' }),
  };
  const clock = new FakeClock();
  const store = new Store(new Api((url) => Promise.resolve(answers[/api\/v1\/(\w+)/.exec(url)![1]!]!())), clock);
  store.expected = true;
  await store.begin();
  for (let i = 0; i < 40 && store.ended().length === 0; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    await clock.advance(500); // less than the silence after which a new stream would ask
  }
  assert.equal(store.link.kind, 'live');
  assert.equal(store.ended().length, 1);
  assert.ok(refusals < 0);
});

test('what comes for the first time is told at once, later news calmly', async () => {
  const clock = new FakeClock();
  const answers: Record<string, unknown> = { jobs: { jobs: [], next_page_token: null }, session: { signed_in: true, role: 'viewer', csrf_token: 'c' } };
  const api = new Api((input) => {
    const [path] = input.replace('api/v1/', '').split('?');
    return path === 'events' ? new Promise(() => {}) : Promise.resolve(new Response(JSON.stringify(answers[path!])));
  });
  const store = new Store(api, clock);
  const told: boolean[] = [];
  store.subscribe(() => told.push(store.knowsJobs));
  await store.begin();
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.ok(store.knowsJobs, 'jobs are asked for beside the events, not when they have begun');
  assert.equal(told.at(-1), true, 'told without a pause');
  const before = told.length;
  store.takeStatus({ server_time: new Date(clock.now()).toISOString() } as Status);
  assert.equal(told.length, before + 1);
  store.takeStatus({ server_time: new Date(clock.now()).toISOString() } as Status);
  assert.equal(told.length, before + 1);
  await clock.advance(1000);
  assert.equal(told.length, before + 2);
  store.signOut().catch(() => {});
});
