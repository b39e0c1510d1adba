// What people do with a volume.
import assert from 'node:assert/strict';
import { DONE, MASK, eventually, job, pane, pixels, shown } from './helpers.mjs';

async function overlap(one, other) {
  const [a, b] = [await one.boundingBox(), await other.boundingBox()];
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

export const viewerScenarios = {
  async 'viewer: three linked planes, presets, window by dragging'({ page, open }) {
    await open(job(DONE));
    for (const axis of ['axial', 'coronal', 'sagittal']) await eventually(axis, async () => (await pane(page, axis).getAttribute('data-level')) === '0');
    const soft = await pixels(page, '.pane[data-axis="axial"]');
    assert.ok(soft.mean > 20, 'the axial plane is not black');
    await pane(page, 'axial').locator('canvas').click({ position: { x: 250, y: 240 } });
    await eventually('the other planes follow', async () => {
      const at = await pane(page, 'sagittal').getAttribute('aria-valuenow');
      return at !== '60' || at;
    });
    await page.keyboard.press('2');
    await shown(page.getByText('C 500 W 2000'));
    await eventually('another picture', async () => (await pixels(page, '.pane[data-axis="axial"]')).hash !== soft.hash);
    await page.keyboard.press('w');
    const box = await pane(page, 'axial').boundingBox();
    await page.mouse.move(box.x + 100, box.y + 200);
    await page.mouse.down();
    await page.mouse.move(box.x + 140, box.y + 180, { steps: 4 });
    await page.mouse.up();
    await eventually('an own window', async () => {
      const text = await page.locator('.window-value').textContent();
      return /C (?!500)\d+ +W (?!2000)\d+/.test(text) || text;
    });
    await page.keyboard.press('0');
    await shown(page.getByText('C 50 W 2161'));
    await page.keyboard.press('r');
    await shown(page.getByText('C 40 W 400'));
  },

  async 'viewer: its keys work wherever the focus is, but where somebody types or is asked'({ page, open }) {
    await open(job(DONE));
    await eventually('axial', async () => (await pane(page, 'axial').getAttribute('data-level')) === '0');
    assert.equal(await page.evaluate(() => document.activeElement.closest('.viewer')), null, 'no plane has the focus');
    // A browser that is busy listens to keys a moment after it has drawn.
    const pressed = (key, text) => eventually(`${key}: ${text}`, async () => {
      await page.keyboard.press(key);
      return (await page.getByText(text).count()) > 0;
    });
    await pressed('2', 'C 500 W 2000');
    await page.getByRole('link', { name: 'Volume' }).focus();
    await pressed('0', 'C 50 W 2161');
    await page.getByRole('button', { name: 'Refine', exact: true }).click();
    await shown(page.getByRole('dialog').getByRole('radio'));
    await page.keyboard.press('2');
    await page.keyboard.press('Escape');
    await page.getByRole('combobox', { name: 'Colours' }).focus();
    await page.keyboard.press('3');
    assert.equal(await page.locator('.window-value').textContent(), 'C 50  W 2161');
  },

  async 'viewer: scroll by wheel and keys, zoom, pan, maximise; never the whole volume'({ page, open, server }) {
    await open(job(DONE));
    const axial = pane(page, 'axial');
    await eventually('axial', async () => (await axial.getAttribute('data-level')) === '0');
    const picture = async () => (await pixels(page, '.pane[data-axis="axial"]')).hash;
    const fit = await picture();
    await axial.focus();
    const now = async () => Number(await axial.getAttribute('aria-valuenow'));
    await page.keyboard.press('ArrowUp');
    await eventually('next slice', async () => (await now()) === 49 || now());
    await page.keyboard.press('PageDown');
    await eventually('ten back', async () => (await now()) === 39 || now());
    await axial.locator('canvas').hover();
    await page.mouse.wheel(0, -180);
    await eventually('three by wheel', async () => (await now()) === 42 || now());
    await page.keyboard.press('Home');
    await eventually('the first', async () => (await now()) === 1);
    await page.keyboard.press('End');
    await eventually('the last', async () => (await now()) === 96);
    await page.keyboard.press('r');
    await eventually('reset', async () => (await now()) === 48);
    // While slices run past they are drawn more coarsely, and sharp a moment after.
    await eventually('the first picture', async () => (await picture()) === fit);
    for (const key of ['+', 'Shift+ArrowLeft']) {
      const before = await picture();
      await page.keyboard.press(key);
      await eventually(`${key} changes the picture`, async () => (await picture()) !== before);
    }
    await page.keyboard.press('r');
    await eventually('as before', async () => (await picture()) === fit);
    await page.keyboard.press('Enter');
    await eventually('one plane', async () => (await page.locator('.pane').count()) === 1);
    await page.keyboard.press('Enter');
    await eventually('three planes', async () => (await page.locator('.pane').count()) === 3);
    const volumeBytes = 120 * 128 * 96 * 2;
    assert.ok(server.requests.sliceBytes < volumeBytes, `${server.requests.sliceBytes} of ${volumeBytes} bytes were loaded`);
  },

  async 'viewer: distance in millimetres'({ page, open }) {
    await open(job(DONE));
    await eventually('axial', async () => (await pane(page, 'axial').getAttribute('data-level')) === '0');
    await page.getByRole('button', { name: 'Distance' }).click();
    const box = await pane(page, 'axial').boundingBox();
    // 180 mm x 192 mm fit into the pane, so that this many pixels are 60 mm.
    const length = 60 * Math.min(box.width / 180, box.height / 192);
    await page.mouse.move(box.x + 120, box.y + 200);
    await page.mouse.down();
    await page.mouse.move(box.x + 120 + length, box.y + 200, { steps: 3 });
    await page.mouse.up();
    const text = () => pane(page, 'axial').getAttribute('data-lengths');
    await eventually('60 mm', async () => Math.abs(Number(await text()) - 60) < 1 || text());
    await page.getByRole('button', { name: 'Clear' }).click();
    await eventually('no distance', async () => (await text()) === '' || text());
  },

  async 'viewer: each plane has a scale bar that is as long as a distance of its millimetres, at every zoom'({ page, open }) {
    await open(job(DONE));
    const axial = pane(page, 'axial');
    const bar = axial.locator('.scale');
    await eventually('drawn', async () => (await axial.getAttribute('data-level')) !== null);
    assert.equal(await page.locator('.pane .scale').count(), 3);
    const length = async () => Number((await bar.innerText()).match(/^([\d.]+)\smm$/)[1]);
    const perMm = async () => (await bar.boundingBox()).width / (await length());
    const before = [await length(), await perMm()];
    await page.getByRole('button', { name: 'Distance', exact: true }).click();
    const { x, y } = await bar.boundingBox();
    await page.mouse.move(x, y - 100);
    await page.mouse.down();
    await page.mouse.move(x - 100, y - 100, { steps: 3 });
    await page.mouse.up();
    await eventually('a distance', async () => (await axial.getAttribute('data-lengths')) !== '');
    const measured = Number(await axial.getAttribute('data-lengths'));
    assert.ok(Math.abs(measured * before[1] - 100) < 1, `100 pixels are ${measured} mm, of which one has ${before[1]} pixels`);
    await axial.focus();
    for (let i = 0; i < 4; i += 1) await page.keyboard.press('+');
    await eventually('it follows the zoom', async () => Math.abs((await perMm()) / before[1] - 1.25 ** 4) < 0.02 || perMm());
    assert.ok((await length()) < before[0]);
    for (const letter of ['right', 'bottom']) assert.equal(await overlap(bar, axial.locator(`.edge.${letter}`)), false, letter);
    assert.equal(await overlap(bar, axial.locator('.hu')), false, 'Hounsfield units');
  },

  async 'viewer: mask, fill and subtraction side by side, synchronised'({ page, open }) {
    await open(job(MASK));
    await page.getByLabel('Fill', { exact: true }).check();
    await page.getByLabel('Subtracted', { exact: true }).check();
    await eventually('three volumes', async () => (await page.locator('.pane[data-axis="axial"][data-level="0"]').count()) === 3);
    await page.locator('.pane').first().focus();
    await page.keyboard.press('PageUp');
    await eventually('all move', async () => {
      const slices = await page.locator('.pane').evaluateAll((panes) => panes.map((p) => p.getAttribute('aria-valuenow')));
      return slices.every((s) => s === '58') || slices;
    });
    await page.getByRole('button', { name: 'Coronal' }).click();
    await eventually('three coronal planes', async () => (await page.locator('.pane[data-axis="coronal"]').count()) === 3);
  },
};
