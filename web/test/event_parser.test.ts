import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventParser } from '../src/api/event_parser.ts';

const STREAM = ': hello\n\nid: a-1\nevent: job\ndata: {"x":\ndata: 1}\n\ndata: two\r\n\r\nid: a-2\revent: end\rdata:three\r\r\nid: a-3\n\nevent: cut';

test('events, whatever the pieces in which they come', () => {
  for (let size = 1; size <= STREAM.length; size += 1) {
    const parser = new EventParser();
    const events = [];
    for (let i = 0; i < STREAM.length; i += size) events.push(...parser.push(STREAM.slice(i, i + size)));
    assert.deepEqual(events, [
      { event: 'job', data: '{"x":\n1}' }, { event: 'message', data: 'two' }, { event: 'end', data: 'three' },
    ], `pieces of ${size}`);
    assert.equal(parser.lastEventId, 'a-3');
  }
});

test('an id counts when its event is complete', () => {
  const parser = new EventParser();
  parser.push('id: 7\ndata: x\n');
  assert.equal(parser.lastEventId, null);
  parser.push('\n');
  assert.equal(parser.lastEventId, '7');
});
