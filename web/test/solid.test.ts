import assert from 'node:assert/strict';
import test from 'node:test';
import { ApiError } from '../src/api/client.ts';
import type { Grid, Level, Volume } from '../src/api/types.ts';
import { FRONT, VIEWS, described, edges, gridBasis, turned, worldBasis, zoomed } from '../src/viewer/solid/camera.ts';
import { asHalves, toHalf } from '../src/viewer/solid/half_float.ts';
import { LevelLoader, wholeLevels } from '../src/viewer/solid/level_loader.ts';
import { FakeClock } from './fake_clock.ts';

// IEEE 754 binary16, as its definition says.
function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const mantissa = bits & 1023;
  return exponent === 0 ? sign * mantissa * 2 ** -24 : sign * (1 + mantissa / 1024) * 2 ** (exponent - 15);
}

test('half floats: exact to 2048, to the nearest representable value beyond', () => {
  for (let value = -32767; value <= 32767; value += 1) {
    const spacing = Math.max(1, 2 ** (Math.floor(Math.log2(Math.max(1, Math.abs(value)))) - 10));
    const error = Math.abs(fromHalf(toHalf(value)) - value);
    assert.ok(error <= (Math.abs(value) <= 2048 ? 0 : spacing / 2), `${value} becomes ${fromHalf(toHalf(value))}`);
  }
  const halves = asHalves(Int16Array.of(-1000, 0, 1, 2047));
  assert.deepEqual([...halves].map(fromHalf), [-1000, 0, 1, 2047]);
});

test('sides: what is to the right, up and behind, as letters of the patient', () => {
  const sides = Object.fromEntries(VIEWS.map((view) => [view.id, edges({ ...FRONT, ...view })]));
  assert.deepEqual(sides.front, { left: 'R', right: 'L', top: 'H', bottom: 'F' });
  assert.deepEqual(sides.left, { left: 'A', right: 'P', top: 'H', bottom: 'F' });
  assert.deepEqual(sides.back, { left: 'L', right: 'R', top: 'H', bottom: 'F' });
  assert.deepEqual(sides.right, { left: 'P', right: 'A', top: 'H', bottom: 'F' });
  // As axial planes are looked at.
  assert.deepEqual(sides.feet, { left: 'R', right: 'L', top: 'A', bottom: 'P' });
  assert.deepEqual(sides.head, { left: 'R', right: 'L', top: 'P', bottom: 'A' });
});

test('a basis is of unit vectors at right angles, right-handed, wherever one looks from', () => {
  for (const azimuth of [0, 30, 200, 345]) for (const elevation of [-90, -30, 0, 75]) {
    const { right, up, away } = worldBasis({ ...FRONT, azimuth, elevation });
    const cross = [right[1] * up[2] - right[2] * up[1], right[2] * up[0] - right[0] * up[2], right[0] * up[1] - right[1] * up[0]];
    for (let i = 0; i < 3; i += 1) assert.ok(Math.abs(cross[i]! + away[i]!) < 1e-12, `${azimuth} ${elevation}`);
    assert.ok(Math.abs(Math.hypot(...right) - 1) < 1e-12 && Math.abs(Math.hypot(...up) - 1) < 1e-12);
  }
});

test('a grid that is turned: rays go along its own axes', () => {
  // x of the grid to the back, y to the right, z to the head.
  const grid = { nx: 4, ny: 4, nz: 4, spacing_mm: [1, 1, 1], origin_mm: [0, 0, 0], direction: [0, -1, 0, 1, 0, 0, 0, 0, 1] } as Grid;
  const { away } = gridBasis(grid, FRONT);
  assert.deepEqual(away.map((x) => Math.round(x) + 0), [1, 0, 0]);
});

test('turning goes around, but not over the head; zoom has ends; words for it', () => {
  assert.equal(turned(FRONT, -15, 0).azimuth, 345);
  assert.equal(turned(FRONT, 0, 200).elevation, 90);
  assert.equal(zoomed(FRONT, 1e6).zoom, 20);
  assert.equal(zoomed(FRONT, 0).zoom, 0.25);
  assert.equal(described(FRONT), 'seen from the front');
  assert.equal(described({ ...FRONT, azimuth: 30, elevation: -15 }), "turned by 30° from the front to the patient's left, 15° from below");
});

const level = (index: number, n: number): Level => ({ level: index, nx: n, ny: n, nz: n, spacing_mm: [1, 1, 1] });
const volume = (...sizes: number[]) => ({ job_id: 'j', version: 'v', prepared: true, levels: sizes.map((n, i) => level(i, n)) }) as unknown as Volume;

test('levels: the coarsest, then the finest that is given as a whole', () => {
  assert.deepEqual(wholeLevels(volume(1024, 512, 256, 128)).map((l) => l.level), [3, 2]);
  assert.deepEqual(wholeLevels(volume(500, 250, 125)).map((l) => l.level), [2, 1]);
  assert.deepEqual(wholeLevels(volume(64)).map((l) => l.level), [0]);
});

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('loading: what is not ready is asked for again, what is refused is not, another volume replaces it', async () => {
  const clock = new FakeClock();
  const asked: number[] = [];
  const loaded: number[] = [];
  let answer: () => Promise<Int16Array> = () => Promise.reject(new ApiError(503, 'UNAVAILABLE', 'being prepared', 1));
  const loader = new LevelLoader((_, index) => { asked.push(index); return answer(); }, ({ level: index }) => loaded.push(index), () => {}, clock);
  loader.want(volume(256, 128));
  await settled();
  assert.equal(loader.error, 'being prepared');
  answer = () => Promise.resolve(new Int16Array(1));
  await clock.advance(1000);
  await settled();
  await settled();
  assert.deepEqual([asked, loaded, loader.error], [[1, 1, 0], [1, 0], null]);
  loader.want(volume(256, 128));
  await settled();
  assert.equal(asked.length, 3, 'the same one is not asked for again');
  answer = () => Promise.reject(new ApiError(409, 'FAILED_PRECONDITION', 'deleted'));
  loader.want({ ...volume(64), version: 'w' });
  await settled();
  await clock.advance(60_000);
  await settled();
  assert.deepEqual([asked.length, loader.error], [4, 'deleted']);
});
