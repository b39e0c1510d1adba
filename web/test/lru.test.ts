import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LruCache } from '../src/lib/lru.ts';

test('what was not used for the longest time goes first', () => {
  const cache = new LruCache<string>(10);
  cache.set('a', 'A', 4);
  cache.set('b', 'B', 4);
  assert.equal(cache.get('a'), 'A');
  cache.set('c', 'C', 4);
  assert.equal(cache.get('b'), undefined);
  assert.equal(cache.get('a'), 'A');
  assert.equal(cache.size, 8);
});

test('replacing counts once, what is too large is not kept', () => {
  const cache = new LruCache<string>(10);
  cache.set('a', 'A', 4);
  cache.set('a', 'AA', 6);
  assert.equal(cache.size, 6);
  cache.set('b', 'B', 11);
  assert.ok(!cache.has('b'));
  assert.equal(cache.get('a'), 'AA');
  cache.clear();
  assert.equal(cache.size, 0);
});
