import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plural } from '../src/lib/format.ts';
import * as f from '../src/lib/format.ts';

// Narrow spaces are hard to see in expectations.
const plain = (text: string) => text.replaceAll('\u202f', ' ');

test('what is unknown is a dash', () => {
  for (const format of [f.count, f.seconds, f.gups, f.bytes, f.framesPerSecond, f.hounsfield, f.millimetres, f.microseconds]) {
    assert.equal(format(null), '–');
    assert.equal(format(Number.NaN), '–');
  }
  assert.equal(f.percent(1, 0), '–');
  assert.equal(f.time(null, 0), '–');
});

test('significant digits without exponents', () => {
  assert.deepEqual([312.49, 31.46, 4.2, 0.0312, 1250, 9.996, 0, 99.96, -0.5].map((v) => f.significant(v)),
    ['312', '31.5', '4.20', '0.0312', '1250', '10.0', '0', '100', '−0.500']);
});

test('durations choose their unit', () => {
  const cases: [number, string][] = [
    [0.00312, '3.1 ms'], [0.0995, '0.10 s'], [0.214, '0.21 s'], [9.996, '10.0 s'], [48.26, '48.3 s'], [99.97, '1 min 40 s'],
    [192, '3 min 12 s'], [7500, '2 h 05 min'], [3599.7, '1 h 00 min'], [356_400, '4 d 3 h'], [-0.5, '−0.50 s'],
  ];
  for (const [value, text] of cases) assert.equal(plain(f.seconds(value)), text);
  assert.equal(plain(f.coarseSeconds(0.4)), '0 s');
  assert.equal(plain(f.microseconds(22_400)), '22.4 ms');
  assert.equal(plain(f.microseconds(13_273_000)), '13.27 s');
});

test('sizes are decimal', () => {
  assert.deepEqual([0, 999, 1000, 999_600, 80e9, 500e9, 1.5e12].map((v) => plain(f.bytes(v))),
    ['0 B', '999 B', '1.00 kB', '1.00 MB', '80.0 GB', '500 GB', '1.50 TB']);
});

test('counts are grouped, signs are true minuses', () => {
  assert.equal(plain(f.count(1234567)), '1 234 567');
  assert.equal(plain(f.count(400)), '400');
  assert.equal(plain(f.hounsfield(-987.6)), '−988 HU');
  assert.equal(plain(f.millimetres(-0.04)), '0.0 mm');
  assert.equal(plain(f.millimetres(-1.25, 2)), '−1.25 mm');
});

test('times', () => {
  const now = new Date(2026, 2, 1, 9, 30, 5).getTime();
  assert.equal(f.time(new Date(2026, 2, 1, 8, 5, 9).toISOString(), now), '08:05:09');
  assert.equal(f.time(new Date(2026, 1, 28, 23, 0, 0).toISOString(), now), '2026-02-28 23:00:00');
  assert.equal(f.time('nonsense', now), '–');
  assert.equal(plain(f.relative(new Date(now + 7600).toISOString(), now)), 'in 8 s');
  assert.equal(plain(f.relative(new Date(now - 61_000).toISOString(), now)), '1 min 01 s ago');
  assert.equal(f.relative(new Date(now + 300).toISOString(), now), 'now');
  assert.equal(plain(f.finish(new Date(now - 17_000).toISOString(), now)), '17 s late');
});

test('a time that is copied or printed has its date, and how far it is from UTC', () => {
  const at = new Date(2026, 2, 1, 8, 5, 9);
  assert.match(f.fullTime(at.toISOString()), /^2026-03-01 08:05:09 UTC[+−]\d\d:\d\d$/);
  assert.equal(f.utcOffset({ getTimezoneOffset: () => -330 } as Date), 'UTC+05:30');
  assert.equal(f.utcOffset({ getTimezoneOffset: () => 210 } as Date), 'UTC−03:30');
  assert.equal(f.fullTime(null), '–');
  assert.equal(f.fullTime('nonsense'), '–');
});

test('axes', () => {
  assert.deepEqual([0, 0.05, 1500, 40_000, 1_250_000].map(f.compact), ['0', '0.05', '1500', '40k', '1.25M']);
});

test('shares', () => {
  assert.deepEqual([f.percent(0, 5), f.percent(1, 300), f.percent(1, 3), f.percent(7, 7)].map(plain), ['0 %', '0.3 %', '33 %', '100 %']);
});

test('one and many', () => {
  assert.equal(plural(1, 'chunk waits', 'chunks wait'), '1 chunk waits');
  assert.equal(plural(0, 'chunk waits', 'chunks wait'), '0 chunks wait');
});
