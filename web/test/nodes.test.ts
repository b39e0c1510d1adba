// What a row of the nodes says of copies.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Replication } from '../src/api/types.ts';
import { copiesOf } from '../src/screens/nodes.tsx';

const NONE: Replication = {
  keeper: null, keeper_reached: false, kept_jobs: 0, degraded_jobs: 0, origins: [], used_bytes: 0, capacity_bytes: 0, taken_over_jobs: 0,
};

test('copies: whose, by whom, and what is wrong', () => {
  assert.equal(copiesOf(null), '–');
  assert.equal(copiesOf(NONE), '–');
  assert.equal(copiesOf({ ...NONE, keeper: 'recon2', keeper_reached: true }), 'own at recon2');
  assert.equal(copiesOf({ ...NONE, keeper: 'recon2', degraded_jobs: 1 }), 'own at recon2, which is not reached; 1 job on one disk alone');
  const origins = [{ node: 'recon1', copies: 3, orphans: 2, being_taken: 1 }, { node: 'recon3', copies: 0, orphans: 0, being_taken: 0 }];
  assert.equal(
    copiesOf({ ...NONE, origins, taken_over_jobs: 2 }),
    '3 of recon1, 2 of a lost node, 1 being taken over; 0 of recon3; 2 jobs taken over');
});
