// Contrast of the style sheet's colours in both themes: WCAG 2.1 AA, 1.4.3 for text and 1.4.11 for what has to be seen besides.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const SHEET = readFileSync(new URL('../../src/style/colours.css', import.meta.url), 'utf8');
const TEXT = 4.5;
const SHAPE = 3;

// [foreground, background, least ratio]
const PAIRS: [string, string, number][] = [
  ...['ground', 'card', 'raised', 'bad-ground', 'warn-ground'].flatMap((ground): [string, string, number][] => [
    ['text', ground, TEXT], ['text-quiet', ground, TEXT],
  ]),
  ...['accent', 'ok', 'warn', 'bad'].flatMap((colour): [string, string, number][] => [
    [colour, 'ground', TEXT], [colour, 'card', TEXT],
  ]),
  ['on-accent', 'accent', TEXT], ['bad', 'raised', TEXT], ['warn', 'warn-ground', TEXT], ['bad', 'bad-ground', SHAPE],
  // Edges of what can be used, the ring of the focus, and bars on their ground.
  ['border', 'ground', SHAPE], ['border', 'card', SHAPE], ['border', 'raised', SHAPE], ['accent', 'raised', SHAPE],
  ...['series-1', 'series-2', 'series-3'].map((colour): [string, string, number] => [colour, 'card', SHAPE]),
  ...[...new Set(SHEET.match(/stage-\w+/g))].map((colour): [string, string, number] => [colour, 'card', SHAPE]),
];

function variables(block: string): Map<string, string> {
  return new Map([...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name, value]) => [name!, value!]));
}

// Relative luminance, WCAG 2.1.
function luminance(hex: string): number {
  const parts = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
  const [r, g, b] = parts.map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

function ratio(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light! + 0.05) / (dark! + 0.05);
}

test('luminance and ratio are those of WCAG', () => {
  assert.equal(ratio('#000000', '#ffffff'), 21);
  assert.ok(Math.abs(ratio('#777777', '#ffffff') - 4.478) < 0.001);
});

const [darkBlock = '', lightBlock = ''] = SHEET.split(":root[data-theme='light']");
const dark = variables(darkBlock);
for (const [theme, colours] of [['dark', dark], ['light', new Map([...dark, ...variables(lightBlock)])]] as const) {
  test(`colours can be told apart in ${theme}`, () => {
    const poor = PAIRS.flatMap(([front, back, least]) => {
      const [a, b] = [colours.get(front), colours.get(back)];
      assert.ok(a && b, `${front} or ${back} is no colour of the style sheet`);
      const found = ratio(a, b);
      return found < least ? [`${front} on ${back}: ${found.toFixed(2)}, needs ${least}`] : [];
    });
    assert.deepEqual(poor, []);
  });
}

test('what is drawn over pictures can be seen on black', () => {
  for (const name of ['viewer-crosshair', 'viewer-measure']) assert.ok(ratio(dark.get(name)!, '#000000') >= SHAPE, name);
});
