import assert from 'node:assert/strict';
import { test } from 'node:test';
import { relatedName } from '../src/lib/relations.ts';
import { likeliest, offersFor, whatItDoes } from '../src/screens/job_actions.tsx';
import type { RefinementOffer, RelatedJob } from '../src/api/types.ts';

const offer = (over: Partial<RefinementOffer>): RefinementOffer =>
  ({ protocol: 'p', description: null, algorithm: null, iterations: null, subsets: null, second_pass: null, deadline_seconds: null, ...over });

test('an offer says what it does', () => {
  assert.equal(whatItDoes(offer({ algorithm: 'os_sart', iterations: 5, subsets: 20, description: 'For heads' })), 'OS-SART, 5 iterations of 20 subsets. For heads');
  assert.equal(whatItDoes(offer({ algorithm: 'sirt', iterations: 1, deadline_seconds: 30 })), 'SIRT, 1 iteration, at most 30\u202fs');
  assert.equal(whatItDoes(offer({})), 'A second pass');
  const motion = { metal: false, bone: false, scatter: false, cone_beam: false, motion: true };
  assert.equal(whatItDoes(offer({ second_pass: motion, deadline_seconds: 30 })), 'A second pass against motion, at most 30\u202fs');
});

test('what is chosen first suits the job', () => {
  const offers = ['asd_pocs', 'os_sart', 'pwls'].map((algorithm) => offer({ protocol: `fdk_then_${algorithm}`, algorithm }));
  assert.equal(likeliest(offers, 'head')?.algorithm, 'os_sart');
  assert.equal(likeliest(offers, 'fdk_then_pwls')?.algorithm, 'pwls', 'as the job was made');
  assert.equal(likeliest([offers[0]!], 'head')?.algorithm, 'asd_pocs');
  assert.equal(likeliest(offersFor(offers, true), 'fdk_then_pwls')?.algorithm, 'fdk');
  assert.equal(likeliest([], 'head'), undefined);
});

test('two of one relation are told apart', () => {
  const related = (protocol: string): RelatedJob =>
    ({ job_id: protocol, relation: 'fdk', state: 'completed', protocol, create_time: '2026-03-01T09:30:10.000Z', refinement: null });
  const [one, other] = [related('head'), related('head_sharp')];
  assert.equal(relatedName(one!, [one!], false, 0), 'FDK');
  assert.equal(relatedName(other!, [one!, other!], false, 0), 'FDK (head_sharp)');
});
