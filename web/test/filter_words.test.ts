import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filterWords } from '../src/lib/filter_words.ts';

const NONE = { state: '', station_name: '', protocol: '', day: '', text: '' };

test('what a list is filtered for is one line', () => {
  assert.equal(filterWords(NONE), 'none');
  assert.equal(filterWords({ ...NONE, station_name: 'Zeego left' }), 'Zeego left');
  assert.equal(
    filterWords({ state: 'Failed', station_name: 'Angio-1', protocol: 'head', day: '2026-03-01', text: 'b77' }),
    'Failed, Angio-1, head, 2026-03-01, “b77”',
  );
});
