import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADVICE } from '../src/lib/advice.ts';
import { OF_THE_VOLUME, type Warning, framesOf, grouped, ofTheVolume, warnedOf } from '../src/lib/warnings.ts';

const dip = (frame: number, percent: number): Warning =>
  ({ kind: 'dose_dip', frame_index: frame, text: `The dose of frame ${frame} is ${percent} % of the median; expected at least 60 %` });
const other: Warning = { kind: 'frame_gap', frame_index: 17, text: 'Frame 17 is missing and was replaced by its neighbours' };

test('warnings that differ in their figures only are one group, others stay alone, in their order', () => {
  const dips = [dip(203, 41), dip(12, 38.5), dip(40, 7)];
  const groups = grouped([dips[0]!, other, dips[1]!, dips[2]!]);
  assert.deepEqual(groups, [dips, [other]]);
  assert.equal(framesOf(groups[0]!), 'frames 12 to 203');
});

test('lists name the kinds of warnings, and count them where no kinds are told', () => {
  assert.equal(warnedOf({ warning_kinds: ['cut_object', 'frame_gap'], warning_count: 9 }), 'cut object, frame gap');
  assert.equal(warnedOf({ warning_kinds: [], warning_count: 9 }), '9');
});

test('two alike are read one by one; another kind with the same words is another warning', () => {
  assert.deepEqual(grouped([dip(1, 2), dip(3, 4)]), [[dip(1, 2)], [dip(3, 4)]]);
  const same = (kind: string): Warning => ({ kind, frame_index: null, text: 'scale 2' });
  assert.equal(grouped([same('a'), same('a'), same('b')]).length, 3);
  assert.equal(framesOf([same('a'), dip(1, 2)]), '');
});

test('what says that the volume may be wrong is told from what happened in the acquisition', () => {
  const mirrored: Warning = { kind: 'matrices_misfit', frame_index: null, text: 'the columns are mirrored' };
  assert.deepEqual(ofTheVolume([other, mirrored, dip(1, 2)]), [mirrored]);
});

test('each reason why a volume may be wrong says what it means, and whether another exposure helps', () => {
  assert.deepEqual(Object.keys(ADVICE).sort(), [...OF_THE_VOLUME].sort());
  for (const [kind, { meaning, again }] of Object.entries(ADVICE)) {
    assert.match(meaning, /\.$/, kind);
    assert.match(again, /^Another exposure (helps|gives the same).*\.$/, kind);
  }
});
