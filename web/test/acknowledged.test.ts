import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { acknowledge, acknowledgedBy, callAgain, holding } from '../src/lib/acknowledged.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const HOUR = 3_600_000;
const stored = new Map<string, string>();

beforeEach(() => {
  stored.clear();
  globalThis.localStorage = { getItem: (key: string) => stored.get(key) ?? null, setItem: (key: string, text: string) => stored.set(key, text) } as unknown as Storage;
});

test('what was acknowledged is so for who did it, in the state that it had, until it calls again', () => {
  acknowledge('anna', 'volume a: air level', NOW);
  acknowledge('bob', 'volume b: calibration', NOW);
  assert.deepEqual([...acknowledgedBy('anna', NOW)], [['volume a: air level', NOW]]);
  assert.equal(acknowledgedBy('anna', NOW).has('volume a: air level, calibration'), false);
  assert.equal(acknowledgedBy('', NOW).size, 0);
  callAgain('anna', 'volume b: calibration', NOW);
  assert.equal(acknowledgedBy('bob', NOW).size, 1);
  callAgain('anna', 'volume a: air level', NOW);
  assert.equal(acknowledgedBy('anna', NOW).size, 0);
});

test('the next shift is called: it ends after twelve hours, or when the clock was set back by them', () => {
  acknowledge('', 'test 7', NOW);
  assert.equal(acknowledgedBy('', NOW + 11.9 * HOUR).size, 1);
  assert.equal(acknowledgedBy('', NOW + 12 * HOUR).size, 0);
  assert.equal(acknowledgedBy('', NOW - 12 * HOUR).size, 0);
  acknowledge('', 'test 8', NOW + 13 * HOUR);
  assert.equal(JSON.parse([...stored.values()][0]!).length, 1, 'what has ended is not kept');
});

test('what is stored and damaged acknowledges nothing', () => {
  for (const text of ['{', '3', '{"by":""}', '[null, 1, {"by":"","what":"x"}]']) assert.deepEqual(holding(text, NOW), [], text);
});

test('without storage it holds as long as the page is open', () => {
  globalThis.localStorage = { getItem: () => { throw new Error('denied'); }, setItem: () => { throw new Error('denied'); } } as unknown as Storage;
  acknowledge('', 'test 7', NOW);
  assert.equal(acknowledgedBy('', NOW).size, 1);
});
