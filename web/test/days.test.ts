import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayOf, hasText, idsOfDay, isOfDay } from '../src/lib/days.ts';

test('a day begins and ends at local midnight', () => {
  const day = dayOf('2026-03-29')!;
  assert.equal(new Date(day.begin).toString().slice(0, 24), 'Sun Mar 29 2026 00:00:00');
  assert.equal(new Date(day.end).toString().slice(0, 24), 'Mon Mar 30 2026 00:00:00');
  assert.equal(dayOf(''), null);
  assert.equal(dayOf('yesterday'), null);
});

test('jobs of a day are found by ids of its days in UTC, the latest first', () => {
  const at = (text: string) => Date.parse(text);
  assert.deepEqual(idsOfDay({ begin: at('2026-03-01T00:00:00Z'), end: at('2026-03-02T00:00:00Z') }), ['20260301T']);
  assert.deepEqual(idsOfDay({ begin: at('2026-02-28T23:00:00Z'), end: at('2026-03-01T23:00:00Z') }), ['20260301T', '20260228T']);
});

test('a job is of the day on which it was begun', () => {
  const day = dayOf('2026-03-01')!;
  const begun = (at: number) => ({ create_time: new Date(at).toISOString() });
  assert.deepEqual([day.begin - 1, day.begin, day.end - 1, day.end].map((at) => isOfDay(begun(at), day)), [false, true, true, false]);
});

test('a part of what a job is known by, in any case', () => {
  const job = { job_id: '20260301T093001-7f3a', station_name: 'Angio-1', protocol: 'head', accession_number: null };
  assert.deepEqual(['angio', 'EAD', '7f3', 'a12', ''].map((text) => hasText(job, text)), [true, true, true, false, true]);
  assert.ok(hasText({ ...job, accession_number: 'A1234' }, 'a12'));
});
