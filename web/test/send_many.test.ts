import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Api, ApiError } from '../src/api/client.ts';
import type { Job } from '../src/api/types.ts';
import { TooMany, completedJobs, sendAll } from '../src/lib/send_many.ts';

const job = (id: string, at: Date) => ({ job_id: id, create_time: at.toISOString() }) as Job;
const noon = (day: number) => new Date(2026, 2, day, 12);
const signal = new AbortController().signal;

// Answers as GET jobs does, two on a page, and says what it was asked.
function lister(jobs: Job[], asked: unknown[], size = 2) {
  return {
    get: (path: string, query: Record<string, unknown>) => {
      asked.push([path, query]);
      const from = Number(query['page_token'] ?? 0);
      return Promise.resolve({ jobs: jobs.slice(from, from + size), next_page_token: from + size < jobs.length ? String(from + size) : null });
    },
  } as unknown as Pick<Api, 'get'>;
}

test('completed jobs of a day, without those on the day before and after, and no page more than needed', async () => {
  const asked: [string, Record<string, unknown>][] = [];
  const edge = [job('next', new Date(2026, 2, 3)), job('last', new Date(new Date(2026, 2, 3).getTime() - 1))];
  const jobs = [...edge, job('mid', noon(2)), job('first', new Date(2026, 2, 2)), job('before', new Date(new Date(2026, 2, 2).getTime() - 1)), job('old', noon(1)), job('older', noon(1))];
  const found = await completedJobs(lister(jobs, asked), { text: 'A12', state: 'failed' }, '2026-03-02', signal);
  assert.deepEqual(found.map((each) => each.job_id), ['last', 'mid', 'first']);
  assert.equal(asked.length, 3);
  assert.ok(asked.every(([path, query]) => path === 'jobs' && query['state'] === 'completed' && query['text'] === 'A12'));
});

test('more than a thousand are refused', async () => {
  const many = Array.from({ length: 1001 }, (_, i) => job(`j${i}`, noon(2)));
  await assert.rejects(completedJobs(lister(many, [], 600), {}, '', signal), TooMany);
  assert.equal((await completedJobs(lister(many.slice(1), [], 600), {}, '', signal)).length, 1000);
});

const three = ['a', 'b/c', 'd'].map((id) => job(id, noon(1)));

test('a refusal of one keeps no other from being sent', async () => {
  const posted: unknown[] = [];
  const api = {
    post: (path: string, body: unknown) => {
      posted.push([path, body]);
      if (path.includes('b%2Fc')) return Promise.reject(new ApiError(409, 'FAILED_PRECONDITION', 'nothing of it is stored'));
      return Promise.resolve({ newly_queued: path.includes('/a') ? 3 : 0 });
    },
  } as Pick<Api, 'post'>;
  const progress: number[] = [];
  const sent = await sendAll(api, three, { destination: 'PACS', again: true }, signal, (done) => progress.push(done));
  assert.deepEqual(posted[0], ['jobs/a:send', { destination: 'PACS', again: true }]);
  assert.deepEqual([sent.queued, sent.present, sent.left].map((some) => some.map((each) => each.job_id)), [['a'], ['d'], []]);
  assert.deepEqual(sent.refused.map(({ job: { job_id }, reason }) => [job_id, reason]), [['b/c', 'nothing of it is stored']]);
  assert.deepEqual(progress, [1, 2, 3]);
  assert.equal(sent.ended, null);
});

test('what would fail for all ends it, and says which are left', async () => {
  for (const status of [0, 401, 403, 503]) {
    let calls = 0;
    const api = { post: () => ((calls += 1) > 1 ? Promise.reject(new ApiError(status, 'X', 'gone')) : Promise.resolve({ newly_queued: 1 })) } as unknown as Pick<Api, 'post'>;
    const sent = await sendAll(api, three, { destination: 'PACS', again: true }, signal, () => {});
    assert.equal(calls, 2, String(status));
    assert.deepEqual(sent.left.map((each) => each.job_id), ['b/c', 'd']);
    assert.equal(sent.ended, 'gone');
  }
});

test('stopped, it asks for no further one', async () => {
  const stop = new AbortController();
  const api = { post: () => Promise.resolve({ newly_queued: 1 }) } as unknown as Pick<Api, 'post'>;
  const sent = await sendAll(api, three, { destination: 'PACS', again: true }, stop.signal, (done) => done === 1 && stop.abort());
  assert.deepEqual([sent.queued.length, sent.left.length, sent.ended], [1, 2, null]);
});
