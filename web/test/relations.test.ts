import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refinedName, shortName } from '../src/lib/relations.ts';

const job = (create_time: string, iterations = 5) => ({
  job_id: 'j', protocol: 'fdk_then_ossart', create_time, refinement: { algorithm: 'os_sart', iterations, second_pass: null },
});

test('refinements are told apart by algorithm, iterations and time', () => {
  const now = new Date(2026, 2, 1, 12).getTime();
  const first = new Date(2026, 2, 1, 9, 30, 10).toISOString();
  const second = new Date(2026, 2, 1, 9, 30, 11).toISOString();
  assert.equal(refinedName(job(first), false, now), 'Refined: OS-SART, 5 iterations');
  assert.equal(refinedName(job(first), true, now), 'Refined: OS-SART, 5 iterations, 09:30:10');
  assert.notEqual(refinedName(job(first), true, now), refinedName(job(second), true, now));
  assert.equal(refinedName(job(first, 0), false, now), 'Refined: fdk_then_ossart');
});

test('second passes are told apart by what they are against', () => {
  const now = new Date(2026, 2, 1, 12).getTime();
  const begun = new Date(2026, 2, 1, 9, 30, 10).toISOString();
  const pass = { metal: false, bone: false, scatter: false, cone_beam: false, motion: false };
  const named = (over: Partial<typeof pass>) =>
    refinedName({ ...job(begun), refinement: { algorithm: '', iterations: 0, second_pass: { ...pass, ...over } } }, true, now);
  assert.equal(named({ metal: true }), 'Refined: against metal, 09:30:10');
  assert.equal(named({ scatter: true, bone: true }), 'Refined: against scatter and bone, 09:30:10');
  assert.equal(shortName(named({ cone_beam: true })), 'Cone beam, 09:30:10');
  assert.equal(shortName(named({ motion: true })), 'Motion, 09:30:10');
});

test('volumes of one phase are told apart by it', () => {
  const now = new Date(2026, 2, 1, 12).getTime();
  const begun = new Date(2026, 2, 1, 9, 30, 10).toISOString();
  const phase = { phase: 0.125, width: 0.2, frames: 61, largest_gap_deg: 11.2, cycle_seconds: null };
  const named = (algorithm: string, iterations: number) =>
    refinedName({ ...job(begun), refinement: { algorithm, iterations, second_pass: null, phase } }, true, now);
  assert.equal(named('fdk', 0), 'Refined: phase 12.5 %, FDK, 09:30:10');
  assert.equal(named('os_sart', 5), 'Refined: phase 12.5 %, OS-SART, 5 iterations, 09:30:10');
  assert.equal(shortName(named('os_sart', 5)), 'Phase 12.5 %');
});

test('in the corner of a picture stands what tells refinements apart', () => {
  assert.equal(shortName('Refined: OS-SART, 5 iterations, 09:30:10'), 'Refined, 09:30:10');
  assert.equal(shortName('Refined: OS-SART, 5 iterations'), 'Refined: OS-SART, 5 iterations');
  assert.equal(shortName('FDK'), 'FDK');
});
