import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Transfer } from '../src/api/types.ts';
import { deliveriesOf } from '../src/lib/deliveries.ts';

const none = { total: 4, queued: 0, sending: 0, sent: 0, committed: 0, failed: 0, skipped: 0 };
const to = (destination: string, instances: Partial<Transfer['instances']>) => ({ destination, instances: { ...none, ...instances } }) as Transfer;

test('where a volume is: what is wrong first, and only all of it is sent', () => {
  assert.deepEqual(deliveriesOf([]), []);
  assert.deepEqual(deliveriesOf([to('PACS', { sent: 1, committed: 3 }), to('CLOUD', { sent: 3, failed: 1 }), to('ANGIO', { sent: 4 })]),
    [{ kind: 'bad', text: 'not taken by CLOUD' }, { kind: 'ok', text: 'sent to PACS, ANGIO' }]);
  assert.deepEqual(deliveriesOf([to('PACS', { sent: 3, sending: 1 })]), [{ kind: 'waiting', text: 'not yet at PACS' }]);
  assert.deepEqual(deliveriesOf([to('PACS', { skipped: 4 })]), []);
});
