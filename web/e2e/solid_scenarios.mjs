// Volumes in 3-D, in WebGL2, held against what a processor computes.
import assert from 'node:assert/strict';
import { Cube, looker } from './cpu_mip.mjs';
import { GRID } from './fixtures.mjs';
import { DONE, MASK, eventually, job, shown } from './helpers.mjs';

const BEAD = { place: [14, -11, 9], hu: 2600, sigma: 3.5 };
const WINDOW = { center: 500, width: 2000 };

const bump = (place, { place: middle, sigma, hu }) => hu * Math.exp(-place.reduce((sum, x, i) => sum + (x - middle[i]) ** 2, 0) / (2 * sigma ** 2));

// A soft ball with a bright bead beside its middle, in voxels that are no cubes.
function beadWorld(server) {
  const cube = new Cube([60, 50, 44], [1, 1.25, 1.5], (place) => -600 + bump(place, { place: [0, 0, 0], hu: 900, sigma: 14 }) + bump(place, BEAD));
  const grid = { ...GRID, nx: cube.nx, ny: cube.ny, nz: cube.nz, spacing_mm: cube.spacing, origin_mm: cube.place([0, 0, 0]) };
  server.detailOver = { grid };
  server.volumes = {
    describe: ({ job_id }) => ({
      job_id, grid, version: '6f1c2a9b', prepared: true, hu_min: -600, hu_max: 2600,
      levels: [{ level: 0, nx: cube.nx, ny: cube.ny, nz: cube.nz, spacing_mm: cube.spacing }],
    }),
    plane: () => ({ columns: 1, rows: 1, samples: new Int16Array(1) }),
    level: () => cube,
  };
  return cube;
}

const solid = (page, id = DONE) => page.locator(`.pane.solid[data-job="${id}"]`);

// The scene of the picture that is drawn whole; null while none is.
const scene = async (page, id = DONE) => JSON.parse((await solid(page, id).getAttribute('data-drawn')) ?? 'null');

const drawn = (page, what, wanted) => eventually(what, async () => {
  const now = await scene(page);
  return (now !== null && wanted(now)) || now;
});

// Grey values of every `stride`-th pixel of each row and column, of a picture that is drawn whole: a key or another size may have
// begun a quick one since somebody waited for it.
async function picture(page, stride) {
  let greys = null;
  await eventually('a whole picture', async () => {
    greys = await solid(page).evaluate((box, step) => {
      if (box.dataset.drawn === undefined) return null;
      const canvas = box.querySelector('canvas');
      const { width, height } = canvas;
      const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
      const found = [];
      for (let y = 0; y < height; y += step) for (let x = 0; x < width; x += step) found.push([x, y, data[4 * (y * width + x)]]);
      return { width, height, greys: found };
    }, stride);
    return greys !== null || 'none';
  });
  return greys;
}

const grey = (value) => 255 * Math.min(1, Math.max(0, (value - (WINDOW.center - WINDOW.width / 2)) / WINDOW.width));

async function openAlone(page, open) {
  await page.setViewportSize({ width: 460, height: 640 });
  await open(job(DONE));
  await page.getByRole('button', { name: '3-D', exact: true }).click();
  await solid(page).focus();
  await page.keyboard.press('Enter');
  await eventually('3-D alone', async () => (await page.locator('.pane').count()) === 1);
}

export const solidScenarios = {
  async '3-D: a maximum intensity projection is that of a processor, with its bead in the right place, from three sides'({ page, open, server }) {
    const cube = beadWorld(server);
    await openAlone(page, open);
    await page.getByRole('button', { name: 'MIP', exact: true }).click();
    await solid(page).focus();
    const turns = [['Home'], ['ArrowLeft', 'ArrowLeft', 'ArrowDown'], Array(8).fill('ArrowRight').concat(Array(3).fill('ArrowUp'))];
    const sides = [[0, 0], [30, 15], [270, -30]];
    for (const [turn, keys] of turns.entries()) {
      for (const key of keys) await page.keyboard.press(key);
      const [azimuth, elevation] = sides[turn];
      await drawn(page, `from ${azimuth}°, ${elevation}°`, ({ mode, camera }) => mode === 'mip' && camera.azimuth === azimuth && camera.elevation === elevation);
      const { along, right, up } = looker(azimuth, elevation);
      const { width, height, greys } = await picture(page, 3);
      const perPixel = (2 * Math.max(...cube.half)) / Math.min(width, height);
      let worst = 0;
      let seen = 0;
      for (const [x, y, value] of greys) {
        const [r, u] = [(x + 0.5 - width / 2) * perPixel, (height / 2 - y - 0.5) * perPixel];
        const found = cube.largest(right.map((a, i) => r * a + u * up[i]), along);
        if (found === null) continue;
        seen += 1;
        worst = Math.max(worst, Math.abs(value - grey(found)));
      }
      assert.ok(seen > 500, `${seen} pixels are of the volume`);
      // Grey levels of 7.8 HU. The page's steps of half a voxel miss the largest value by 1 % of a bead of 3.5 mm at most, 26 HU; 8 bits of
      // weight in a texture are 5 HU at the steepest place; 16-bit floats are 1 HU there; grey levels are rounded: 5 together.
      assert.ok(worst <= 5, `a pixel differs by ${worst} grey levels from ${azimuth}°, ${elevation}°`);
      const dot = (a, b) => a.reduce((sum, v, i) => sum + v * b[i], 0);
      const expected = { x: width / 2 + dot(BEAD.place, right) / perPixel, y: height / 2 - dot(BEAD.place, up) / perPixel };
      const all = (await picture(page, 1)).greys.filter(([, , value]) => value > 250);
      const middle = all.reduce((sum, [x, y]) => ({ x: sum.x + (x + 0.5) / all.length, y: sum.y + (y + 0.5) / all.length }), { x: 0, y: 0 });
      const off = Math.hypot(middle.x - expected.x, middle.y - expected.y);
      assert.ok(all.length > 20 && off < 2, `the bead is ${off} pixels from where it should be (${all.length} bright pixels)`);
    }
  },

  async '3-D: shaded, beside the planes; mouse, wheel, window and views; as one reads it aloud'({ page, open, server }) {
    await open(job(DONE));
    await page.getByRole('button', { name: '3-D', exact: true }).click();
    await eventually('four panes', async () => (await page.locator('.pane').count()) === 4);
    await drawn(page, 'shaded', ({ mode }) => mode === 'shaded');
    assert.equal(server.requests.levels, 2, 'the coarse level and the fine one');
    const lit = (await picture(page, 2)).greys.filter(([, , value]) => value > 60).length;
    assert.ok(lit > 200, `${lit} pixels are lit`);
    assert.match(await solid(page).getAttribute('aria-label'), /^3-D, shaded, FDK$/);
    assert.equal(await solid(page).getAttribute('aria-valuetext'), 'seen from the front');
    const box = await solid(page).locator('canvas').boundingBox();
    await page.mouse.move(box.x + 200, box.y + 100);
    await page.mouse.down();
    await page.mouse.move(box.x + 160, box.y + 100, { steps: 4 });
    await page.mouse.up();
    await drawn(page, 'turned by 20°', ({ camera }) => camera.azimuth === 20 && camera.elevation === 0);
    assert.equal(await solid(page).getAttribute('aria-valuenow'), '20');
    await page.mouse.wheel(0, -200);
    await drawn(page, 'zoomed', ({ camera }) => camera.zoom > 1.3);
    await page.getByLabel('Seen from').selectOption('Head');
    await drawn(page, 'from the head', ({ camera }) => camera.elevation === 90 && camera.azimuth === 0);
    await page.keyboard.press('w');
    await page.mouse.move(box.x + 100, box.y + 100);
    await page.mouse.down();
    await page.mouse.move(box.x + 140, box.y + 130, { steps: 4 });
    await page.mouse.up();
    await drawn(page, 'another window', ({ window }) => window.center > 350 && window.width > 300);
    await solid(page).focus();
    await page.keyboard.press('2');
    await drawn(page, 'the window of bone', ({ window }) => window.center === 500 && window.width === 2000);
    await page.keyboard.press('r');
    await drawn(page, 'as it was', ({ camera, window }) => camera.zoom === 1 && camera.elevation === 0 && window.width === 300);
    await page.keyboard.press('v');
    await eventually('three panes', async () => (await page.locator('.pane').count()) === 3);
  },

  async '3-D: two fingers zoom'({ page, open }) {
    await open(job(DONE));
    await page.getByRole('button', { name: '3-D', exact: true }).click();
    await drawn(page, 'a picture', () => true);
    await solid(page).locator('canvas').evaluate((canvas) => {
      canvas.setPointerCapture = () => {};
      const point = (type, pointerId, clientX) => {
        const box = canvas.getBoundingClientRect();
        canvas.dispatchEvent(new PointerEvent(type, { pointerId, pointerType: 'touch', clientX: box.left + clientX, clientY: box.top + 100, button: type === 'pointermove' ? -1 : 0, bubbles: true }));
      };
      point('pointerdown', 11, 100);
      point('pointerdown', 12, 150);
      point('pointermove', 12, 200);
      point('pointerup', 11, 100);
      point('pointerup', 12, 200);
    });
    await drawn(page, 'twice as large', ({ camera }) => Math.abs(camera.zoom - 2) < 1e-6 && camera.azimuth === 0);
  },

  async '3-D: mask and subtraction turn together'({ page, open }) {
    await open(job(MASK));
    await page.getByLabel('Subtracted', { exact: true }).check();
    await page.getByRole('button', { name: '3-D', exact: true }).click();
    await eventually('two volumes', async () => (await page.locator('.pane.solid[data-drawn]').count()) === 2);
    await page.locator('.pane.solid').first().focus();
    await page.keyboard.press('ArrowRight');
    await eventually('both turn', async () => {
      const turns = await page.locator('.pane.solid').evaluateAll((panes) => panes.map((p) => p.getAttribute('aria-valuenow')));
      return turns.every((t) => t === '345') || turns;
    });
  },

  async '3-D: without WebGL2 a sentence says so, and the planes stay'({ page, open, server }) {
    await page.addInitScript(() => {
      const { getContext } = HTMLCanvasElement.prototype;
      HTMLCanvasElement.prototype.getContext = function without(kind, ...more) {
        return kind === 'webgl2' ? null : getContext.call(this, kind, ...more);
      };
    });
    await open(job(DONE));
    await page.getByRole('button', { name: '3-D', exact: true }).click();
    await shown(page.getByText('This browser has no WebGL2, which 3-D needs. The planes do without.'));
    assert.equal(await page.locator('.pane[data-axis]').count(), 3);
    assert.equal(server.requests.levels, 0, 'nothing is loaded for nothing');
  },

  async '3-D: graphics that the browser takes away come back; a volume that cannot be had says why'({ page, open, server, allow }) {
    await page.addInitScript(() => {
      const { getContext } = HTMLCanvasElement.prototype;
      globalThis.graphics = [];
      HTMLCanvasElement.prototype.getContext = function kept(kind, ...more) {
        const context = getContext.call(this, kind, ...more);
        if (kind === 'webgl2') globalThis.graphics.push(context);
        return context;
      };
    });
    await open(job(DONE));
    await page.getByRole('button', { name: '3-D', exact: true }).click();
    await drawn(page, 'a picture', () => true);
    const before = server.requests.levels;
    await page.evaluate(() => globalThis.graphics.at(-1).getExtension('WEBGL_lose_context').loseContext());
    await eventually('loaded again', async () => server.requests.levels > before);
    await drawn(page, 'drawn again', () => true);
    allow(/status of 500/);
    server.volumes.level = () => { throw new Error('the volume on the disk is damaged'); };
    await page.reload();
    await page.getByRole('button', { name: '3-D', exact: true }).click();
    await shown(page.getByText('the volume on the disk is damaged'));
  },
};
