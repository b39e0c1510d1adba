// What figures of image quality are called: "mtf50_edge_per_mm" -> "MTF 50 % edge, 1/mm". docs/qa.md explains each.

import type { TermName } from './terms.ts';

const UNITS: [RegExp, string][] = [[/_per_mm$/, '1/mm'], [/_hu$/, 'HU'], [/_mm$/, 'mm']];
const SHORT = new Set(['mtf', 'nps', 'cnr', 'fwhm']);

function word(text: string): string {
  const [, letters = text, percent] = /^(mtf)(\d+)$/.exec(text) ?? [];
  const name = SHORT.has(letters) ? letters.toUpperCase() : letters.replace(/^(\d+)mm$/, '$1 mm');
  return percent ? `${name} ${percent} %` : name;
}

export function figureName(name: string): string {
  const unit = UNITS.find(([ending]) => ending.test(name));
  const what = (unit ? name.replace(unit[0], '') : name).split('_').map(word).join(' ');
  return unit ? `${what}, ${unit[1]}` : what;
}

const OF_FIGURES: [RegExp, TermName][] = [
  [/^mtf/, 'MTF'], [/^nps/, 'NPS'], [/^cnr/, 'CNR'], [/fwhm/, 'FWHM'], [/^cupping/, 'Cupping'], [/^detectability/, 'Detectability'],
];

// The word of the field that a figure is named by; null: its name says what it is.
export function figureTerm(name: string): TermName | null {
  return OF_FIGURES.find(([pattern]) => pattern.test(name))?.[1] ?? null;
}
