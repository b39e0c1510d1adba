import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Status } from '../src/api/types.ts';
import { DOCS, placeOf } from '../src/lib/docs.ts';

// From web/build/test, where this runs.
const TREE = new URL('../../../', import.meta.url);

// As tools/dev/docs_html.py makes them, which are GitHub's.
const anchor = (heading: string) => heading.toLowerCase().replace(/[^\p{L}\p{N}_ -]/gu, '').trim().replace(/ /g, '-');

test('every place of the documentation that the page names exists', () => {
  for (const [name, place] of Object.entries(DOCS)) {
    const [page = '', section] = place.split('#');
    const source = new URL(page.replace(/index\.html$/, 'README.md').replace(/\.html$/, '.md'), TREE);
    assert.ok(existsSync(source), `${name}: there is no ${source.pathname}`);
    const headings = [...readFileSync(source, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchor(heading!));
    assert.ok(section === undefined || headings.includes(section), `${name}: ${page} has no section #${section}, only ${headings.join(' ')}`);
  }
});

test('each reason of a node that is not ready leads to its cure', () => {
  const drained = { draining: { since: '', reason: 'new filter', by: '' } } as Status;
  const full = { draining: null } as Status;
  const place = (component: string, status: Status) => placeOf({ component, message: '' }, status);
  assert.equal(place('devices', full), 'noDevice');
  assert.equal(place('spool', full), 'spoolFull');
  assert.equal(place('archive', full), 'archiveFull');
  assert.equal(place('admission', full), 'refusing');
  assert.equal(place('admission', drained), 'drained');
  assert.equal(place('service', full), 'whereToLook');
});
