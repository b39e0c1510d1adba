import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../src/api/client.ts';
import { type Slice, type SliceId, SliceLoader, keyOf } from '../src/viewer/slice_loader.ts';
import { FakeClock, settle } from './fake_clock.ts';

const id = (index: number): SliceId => ({ jobId: 'j', version: 'v', axis: 'axial', level: 0, index });
const SLICE_BYTES = 8;

function loader(budgetSlices = 100) {
  const pending = new Map<string, { resolve: (s: Slice) => void; reject: (e: unknown) => void; signal: AbortSignal }>();
  const asked: number[] = [];
  const clock = new FakeClock();
  let changes = 0;
  const slices = new SliceLoader((wish, signal) => {
    asked.push(wish.index);
    return new Promise((resolve, reject) => pending.set(keyOf(wish), { resolve, reject, signal }));
  }, () => { changes += 1; }, budgetSlices * SLICE_BYTES, clock);
  const answer = async (index: number) => {
    pending.get(keyOf(id(index)))!.resolve({ columns: 2, rows: 2, samples: new Int16Array(4) });
    await settle();
  };
  const fail = async (index: number, error: unknown) => {
    pending.get(keyOf(id(index)))!.reject(error);
    await settle();
  };
  return { slices, asked, pending, clock, answer, fail, changes: () => changes };
}

test('the most urgent come first, four at a time', async () => {
  const { slices, asked, answer, changes } = loader();
  slices.want([5, 6, 4, 7, 3, 8].map(id));
  assert.deepEqual(asked, [5, 6, 4, 7]);
  await answer(6);
  assert.deepEqual(asked, [5, 6, 4, 7, 3]);
  assert.ok(slices.get(id(6)));
  assert.equal(slices.get(id(5)), undefined);
  assert.equal(changes(), 1);
});

test('what is no longer wanted is given up, what still is goes on', async () => {
  const { slices, asked, pending, answer } = loader();
  slices.want([1, 2, 3, 4].map(id));
  slices.want([4, 9].map(id));
  assert.deepEqual([1, 2, 3, 4].map((i) => pending.get(keyOf(id(i)))!.signal.aborted), [true, true, true, false]);
  assert.deepEqual(asked, [1, 2, 3, 4, 9]);
  await answer(1);
  assert.equal(slices.get(id(1)), undefined, 'too late');
});

test('memory is bounded, and what is there is not asked for again', async () => {
  const { slices, asked, answer } = loader(2);
  for (const i of [1, 2, 3]) {
    slices.want([id(i)]);
    await answer(i);
  }
  assert.equal(slices.get(id(1)), undefined);
  slices.want([id(2), id(3)]);
  assert.deepEqual(asked, [1, 2, 3]);
  slices.want([id(1)]);
  assert.deepEqual(asked, [1, 2, 3, 1]);
});

test('a server that prepares is asked again when it said', async () => {
  const { slices, asked, clock, fail, answer } = loader();
  slices.want([id(1)]);
  await fail(1, new ApiError(503, 'UNAVAILABLE', 'the levels are being prepared', 1));
  assert.equal(slices.failure(id(1)), 'the levels are being prepared');
  await clock.advance(900);
  assert.equal(asked.length, 1);
  await clock.advance(200);
  assert.equal(asked.length, 2);
  await answer(1);
  assert.equal(slices.failure(id(1)), undefined);
  assert.ok(slices.get(id(1)));
});

test('a refusal is final until the plane is left', async () => {
  const { slices, asked, clock, fail } = loader();
  slices.want([id(1)]);
  await fail(1, new ApiError(400, 'INVALID_ARGUMENT', 'outside'));
  await clock.advance(60_000);
  slices.want([id(1)]);
  assert.equal(asked.length, 1);
  slices.want([]);
  slices.want([id(1)]);
  assert.equal(asked.length, 2);
});
