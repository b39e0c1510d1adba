import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createContext, runInContext } from 'node:vm';
import type { Status } from '../src/api/types.ts';
import { DOCS, placeOf, placeOfDoubt, placeOfDoubts } from '../src/lib/docs.ts';
import { OF_THE_VOLUME } from '../src/lib/warnings.ts';

// From web/build/test, where this runs.
const TREE = new URL('../../../', import.meta.url);

// As tools/dev/docs_html.py makes them, which are GitHub's.
const anchor = (heading: string) => heading.toLowerCase().replace(/[^\p{L}\p{N}_ -]/gu, '').trim().replace(/ /g, '-');

test('every place of the documentation that the page names exists', () => {
  const places = [...Object.entries(DOCS), ...[...OF_THE_VOLUME].map((kind) => [kind, placeOfDoubt(kind)] as const)];
  for (const [name, place] of places) {
    const [page = '', section] = place.split('#');
    const source = new URL(page.replace(/index\.html$/, 'README.md').replace(/\.html$/, '.md'), TREE);
    assert.ok(existsSync(source), `${name}: there is no ${source.pathname}`);
    const headings = [...readFileSync(source, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchor(heading!));
    assert.ok(section === undefined || headings.includes(section), `${name}: ${page} has no section #${section}, only ${headings.join(' ')}`);
  }
});

test('the one reason why a volume may be wrong leads to its section, several to all of them', () => {
  assert.equal(placeOfDoubts({ warning_kinds: ['frame_gap', 'air_level'] }), 'docs/user-guide/at-the-arm.html#air-level');
  assert.equal(placeOfDoubts({ warning_kinds: ['air_level', 'cut_object'] }), DOCS.doubtful);
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

interface Section { page: string; heading: string; text: string; href: string }
interface Search {
  find(sections: Section[], typed: string): { all: boolean; sections: Section[] };
  excerpt(text: string, typed: string): string;
}

function search(): Search {
  const context = createContext({});
  runInContext(readFileSync(new URL('tools/dev/docs_search.js', TREE), 'utf8'), context);
  return (context as { isocenterSearch: Search }).isocenterSearch;
}

const SECTIONS: Section[] = [
  { page: 'Results are de-identified', heading: 'Decision', text: 'Of a token and a token and a token.', href: 'adr/0018.html#decision' },
  { page: 'Security', heading: 'Roles', text: 'A token says who comes. Ports: 50051.', href: 'security.html#roles' },
  { page: 'For a PACS', heading: 'Without identities', text: 'De-identified results are latest. The cone-beam artefact.', href: 'user-guide/pacs.html#x' },
  { page: 'Operator page', heading: 'Finish', text: 'It says "late" when the time has passed.', href: 'user-guide/operator-page.html#y' },
];
const hrefs = (typed: string) => [...search().find(SECTIONS, typed).sections.map(({ href }) => href.split('#')[0])];

test('names of programs are found by their words, and what is copied from a message by its words', () => {
  const sections: Section[] = [
    { href: 'formats/spool.html#frames', page: 'Spool', heading: 'Frames', text: 'a frame, a frame, frames of a gap: gap and frame' },
    { href: 'troubleshooting.html#warnings', page: 'Troubleshooting', heading: 'Warnings', text: 'frames are missing (frame_gap)' },
    { href: 'runbook.html#stuck', page: 'Runbook', heading: 'IsocenterDicomQueueStuck', text: 'a PACS' },
  ];
  const first = (typed: string) => search().find(sections, typed).sections[0]?.href;
  assert.equal(first('frame gap'), 'troubleshooting.html#warnings');
  assert.equal(first('queue stuck'), 'runbook.html#stuck');
  assert.equal(first('71 of 80 frames are missing'), 'troubleshooting.html#warnings');
});

test('search: guides before decisions, whole words before beginnings, words that mean the same', () => {
  assert.deepEqual(hrefs('token'), ['security.html', 'adr/0018.html']);
  assert.deepEqual(hrefs('anonymize'), ['user-guide/pacs.html', 'adr/0018.html']);
  assert.deepEqual(hrefs('artifacts'), ['user-guide/pacs.html']);
  assert.deepEqual(hrefs('firewall'), ['security.html']);
  assert.deepEqual(hrefs('what does late mean'), ['user-guide/operator-page.html', 'user-guide/pacs.html']);
  assert.deepEqual(hrefs('ken'), [], 'not within words');
});

test('search: a word with a slip of one letter is looked for as the nearest that there is', () => {
  for (const slip of ['tokne', 'tokn', 'tokken', 'tokan']) assert.deepEqual(hrefs(slip), ['security.html', 'adr/0018.html'], slip);
  assert.deepEqual(hrefs('artefcat'), ['user-guide/pacs.html']);
  assert.deepEqual(hrefs('zoken wrongg'), ['security.html', 'adr/0018.html'], 'the one that is near to something');
  assert.deepEqual(hrefs('tkkn'), []);
});

test('search: words of the page lead to its guide or to troubleshooting', () => {
  const guide = readFileSync(new URL('docs/user-guide/operator-page.md', TREE), 'utf8');
  const own = guide.split(/^#+ /m).slice(1).map((part) => {
    const [heading = '', ...text] = part.split('\n');
    return { page: 'The operator page', heading, text: text.join(' '), href: `user-guide/operator-page.html#${anchor(heading)}` };
  });
  const others: Section[] = [
    { page: 'Runbook', heading: 'IsocenterKeeperLost', text: 'Frames are lost where a keeper is lost: frames, lost frames.', href: 'runbook.html#isocenterkeeperlost' },
    { page: 'Troubleshooting', heading: 'The command line', text: 'to cancel a scan, scan again; the volume may be wrong', href: 'troubleshooting.html#the-command-line' },
  ];
  for (const [typed, heading] of [['frame lost', 'frames-lost'], ['keyboard', 'keyboard'], ['volume may be wrong', 'a-volume-that-may-be-wrong'], ['how do I cancel a scan', 'cancel-a-scan-delete-a-job'],
    ['preview dark', 'the-preview-of-a-scan'], ['preview black', 'the-preview-of-a-scan'], ['Window/level', 'the-viewer'], ['windowing', 'the-viewer']]) {
    assert.equal(search().find([...others, ...own], typed!).sections[0]?.href, `user-guide/operator-page.html#${heading}`, typed);
  }
});

test('search: what is asked beside the patient leads to the guide for there', () => {
  const sections = ['user-guide/at-the-arm', 'user-guide/operator-page', 'runbook', 'troubleshooting', 'scale'].flatMap((page) => readFileSync(new URL(`docs/${page}.md`, TREE), 'utf8').split(/^#+ /m).slice(1).map((part) => {
    const [heading = '', ...text] = part.split('\n');
    return { page, heading, text: text.join(' '), href: `${page}.html#${anchor(heading)}` };
  }));
  for (const [typed, heading] of [['scan interrupted', 'a-scan-that-is-interrupted'], ['no console', 'is-the-scan-good'], ['hand over', 'the-hand-over-of-a-shift'], ['handover', 'the-hand-over-of-a-shift'],
    ['night shift', 'the-hand-over-of-a-shift'], ['another exposure', 'another-exposure'], ['may the patient leave', 'at-the-arm']]) {
    assert.equal(search().find(sections, typed!).sections[0]?.href, `user-guide/at-the-arm.html#${heading}`, typed);
  }
});

test('search: what other programs call it finds what it is called here; words that stand together as typed come first', () => {
  const sections: Section[] = [
    { page: 'Formats', heading: 'Frames', text: 'the sign of a line integral, in which frames sign for it, in a log', href: 'formats/a.html#frames' },
    { page: 'Sign-on', heading: 'On the page', text: 'Sign in with the hospital.', href: 'sign-on.html#page' },
    { page: 'Troubleshooting', heading: 'Logs', text: 'Lines of the log.', href: 'troubleshooting.html#logs' },
  ];
  for (const typed of ['login', 'Log in', 'password', 'sign in']) assert.equal(search().find(sections, typed).sections[0]?.href, 'sign-on.html#page', typed);
  assert.equal(search().find(sections, 'log').sections[0]?.href, 'troubleshooting.html#logs');
});

test('search: where no section has all words, those with most of them', () => {
  const found = search().find(SECTIONS, 'token zebra');
  assert.equal(found.all, false);
  assert.equal(found.sections.length, 2);
  assert.equal(search().find(SECTIONS, 'zebra').sections.length, 0);
});

test('search: excerpts begin and end with whole words', () => {
  const text = `${'before '.repeat(20)}token ${'behind '.repeat(40)}`.trim();
  const excerpt = search().excerpt(text, 'the token');
  assert.match(excerpt, /^… (before )+token (behind ?)+ …$/);
  assert.equal(search().excerpt('short', 'short'), 'short');
});
