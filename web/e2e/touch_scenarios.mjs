// Fingers on planes, in the window of a telephone. Touches go in where those of a screen do, so that the browser scrolls, or does not.
import assert from 'node:assert/strict';
import { DONE, MASK, eventually, job, pane, pixels, shown, openTools } from './helpers.mjs';

const POINT = { radiusX: 8, radiusY: 8, force: 1 };

async function hand(page) {
  const cdp = await page.context().newCDPSession(page);
  const touch = (type, points) => cdp.send('Input.dispatchTouchEvent', { type, touchPoints: points.map(([x, y], id) => ({ ...POINT, x, y, id })) });
  // Every finger from its first place to its second, which one after the other come down and are lifted together.
  return async (ways, steps = 6) => {
    for (let i = 1; i <= ways.length; i += 1) await touch('touchStart', ways.slice(0, i).map(([from]) => from));
    for (let i = 1; i <= steps; i += 1) {
      await touch('touchMove', ways.map(([from, to]) => from.map((value, axis) => value + ((to[axis] - value) * i) / steps)));
      await page.evaluate(() => new Promise(requestAnimationFrame));
    }
    await touch('touchEnd', []);
  };
}

async function openAxial(page, open) {
  await open(job(DONE));
  await eventually('axial', async () => (await pane(page, 'axial').getAttribute('data-level')) !== null);
  return hand(page);
}

// Puts the axial plane to the middle of the window, so that the page could scroll both ways; its middle.
async function middleOfAxial(page) {
  await pane(page, 'axial').evaluate((element) => element.scrollIntoView({ block: 'center' }));
  const { x, y, width, height } = await pane(page, 'axial').boundingBox();
  return [x + width / 2, y + height / 2];
}

const picture = async (page) => (await pixels(page, '.pane[data-axis="axial"]')).hash;
const hu = (page) => page.locator('.window-value').textContent();
const scrolled = (page) => page.evaluate(() => scrollY);
const slices = (page) => page.locator('.pane').evaluateAll((panes) => panes.map((each) => each.getAttribute('aria-valuenow')).join(' '));

// Runs in the page. Links within sentences have the height of their line; a box that is ticked has its label.
function smallTargets() {
  const found = [];
  for (const target of document.querySelectorAll('button, a[href], select, input, summary, label.toggle')) {
    const { width, height, right } = target.getBoundingClientRect();
    const { clipPath, display } = getComputedStyle(target);
    const inText = target.tagName === 'A' && display === 'inline' && target.closest('p, li, td, main nav');
    if (width === 0 || right < 0 || clipPath !== 'none' || inText || target.matches('label input')) continue;
    if (height < 43.5) found.push(`${target.tagName} ${target.textContent.trim().slice(0, 30)}: ${Math.round(width)}x${Math.round(height)}`);
  }
  return found;
}

export const touchScenarios = {
  async 'touch: below each plane a slider goes through its slices, by finger and keys'({ page, open }) {
    await open(job(DONE));
    for (const name of ['Axial', 'Coronal', 'Sagittal']) await shown(page.getByRole('slider', { name: `${name} slice, FDK` }));
    const slider = page.getByRole('slider', { name: 'Axial slice, FDK' });
    const { x, y, width, height } = await slider.boundingBox();
    const below = await pane(page, 'axial').boundingBox();
    assert.ok(y >= below.y + below.height - 1 && height >= 44, 'below its plane, as high as a finger');
    await slider.tap({ position: { x: width * 0.75, y: height / 2 } });
    const now = async () => Number(await pane(page, 'axial').getAttribute('aria-valuenow'));
    await eventually('three quarters of 96', async () => Math.abs((await now()) - 72) <= 4 || now());
    const before = await now();
    await slider.press('ArrowRight');
    await eventually('the next', async () => (await now()) === before + 1 || now());
    await slider.press('Home');
    await eventually('the first', async () => (await now()) === 1 || now());
    assert.equal(await slider.getAttribute('aria-valuetext'), 'slice 1 of 96');
    assert.match(await pane(page, 'axial').getAttribute('aria-valuetext'), /^slice 1 of 96, −\d+\.\d.mm/);
    await pane(page, 'axial').press('PageUp');
    await eventually('it follows the plane', async () => (await slider.inputValue()) === '11' || slider.inputValue());
    assert.ok(x + width <= 390, 'within the window');
  },

  async 'touch: two fingers zoom and pan, whatever the tool, and leave window, cross hair and page as they were'({ page, open }) {
    const move = await openAxial(page, open);
    await openTools(page);
    for (const tool of ['Cross hair', 'Window']) {
      await page.getByRole('button', { name: tool, exact: true }).tap();
      const [x, y] = await middleOfAxial(page);
      const [top, places, before] = [await scrolled(page), await slices(page), await picture(page)];
      assert.ok(top > 50, 'the page could scroll');
      await move([[[x - 30, y], [x - 120, y - 20]], [[x + 30, y], [x + 120, y + 20]]]);
      await eventually(`${tool}: zoomed`, async () => (await picture(page)) !== before);
      const zoomed = await picture(page);
      await move([[[x - 40, y - 60], [x - 20, y + 60]], [[x + 40, y - 60], [x + 60, y + 60]]]);
      await eventually(`${tool}: panned`, async () => (await picture(page)) !== zoomed);
      assert.match(await hu(page), /C 40 +W 400/);
      assert.equal(await slices(page), places);
      assert.equal(await scrolled(page), top, `${tool}: the page stays`);
      assert.equal(await pane(page, 'axial').getAttribute('data-lengths'), '');
      await page.getByRole('button', { name: 'Reset' }).tap();
    }
  },

  async 'touch: a swipe on a plane scrolls the page and a tap sets the cross hair, until a tool is chosen'({ page, open }) {
    const move = await openAxial(page, open);
    const places = await slices(page);
    const [x, y] = [200, 600];
    assert.equal(await page.evaluate(([left, top]) => document.elementFromPoint(left, top).tagName, [x, y]), 'CANVAS');
    await move([[[x, y], [x + 5, y - 250]]]);
    await eventually('scrolled', async () => (await scrolled(page)) > 100 || scrolled(page));
    assert.equal(await slices(page), places, 'the cross hair stays');
    await middleOfAxial(page);
    const { width, height } = await pane(page, 'axial').boundingBox();
    await pane(page, 'axial').locator('canvas').tap({ position: { x: width * 0.6, y: height * 0.4 } });
    await eventually('the other planes follow', async () => (await slices(page)) !== places);
    await openTools(page);
    await page.getByRole('button', { name: 'Window', exact: true }).tap();
    const middle = await middleOfAxial(page);
    const top = await scrolled(page);
    await move([[middle, [middle[0] + 40, middle[1] - 80]]]);
    await eventually('an own window', async () => /W (?!400)\d+/.test(await hu(page)) || hu(page));
    assert.equal(await scrolled(page), top);
  },

  async 'touch: whatever is pressed is 44 pixels high, on every screen and in the documentation'({ page, open }) {
    const screens = {
      '#/': 'tbody tr', '#/jobs': 'tbody tr', '#/dicom': 'tr[data-transfer]', '#/quality': '.series tbody tr', '#/node': '#queue',
      [job(DONE)]: '.pane', [job(DONE, 'timeline')]: '.timeline canvas', [job(DONE, 'details')]: '.warnings li', [job(DONE, 'dicom')]: 'tr[data-transfer]',
    };
    for (const [hash, what] of Object.entries(screens)) {
      await open(hash);
      await shown(page.locator(what));
      if (hash === job(DONE)) await openTools(page);
      assert.deepEqual(await page.evaluate(smallTargets), [], hash);
    }
    await page.getByRole('button', { name: 'Help' }).tap();
    await shown(page.getByRole('dialog'));
    assert.deepEqual(await page.evaluate(smallTargets), [], 'help');
    await open('docs/index.html');
    assert.deepEqual(await page.evaluate(smallTargets), [], 'documentation');
  },

  async 'touch: jobs come before their filters, which a tap or a key opens and which say what is chosen'({ page, open }) {
    await open('#/jobs');
    const rows = page.locator('tbody tr');
    await eventually('fifty jobs', async () => (await rows.count()) === 50);
    const fold = page.getByRole('button', { name: /^Filters: / });
    assert.equal(await fold.innerText(), 'Filters: none ▾');
    assert.equal(await fold.getAttribute('aria-expanded'), 'false');
    assert.ok((await rows.nth(2).boundingBox()).y < 844, 'three jobs begin on the first screen');
    assert.equal(await page.getByLabel('State').isVisible(), false);
    await fold.tap();
    assert.equal(await fold.getAttribute('aria-expanded'), 'true');
    await page.getByLabel('State').selectOption('failed');
    await eventually('the failed one', async () => (await rows.count()) === 1);
    await fold.press('Enter');
    assert.equal(await page.getByLabel('State').isVisible(), false);
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Filters: Failed ▾', 'the focus stays');
    await fold.press('Tab');
    assert.notEqual(await page.evaluate(() => document.activeElement.tagName), 'SELECT', 'what is folded is no stop of the keyboard');
    await page.setViewportSize({ width: 1280, height: 800 });
    await shown(page.getByLabel('State'));
    assert.equal(await fold.isVisible(), false);
  },

  async 'touch: help and tools speak of fingers, not of buttons'({ page, open }) {
    await open(job(DONE));
    await page.getByRole('button', { name: 'Tools: Cross hair' }).tap();
    await shown(page.getByRole('group', { name: 'Tool of one finger' }));
    await page.getByRole('button', { name: 'Help' }).tap();
    const help = page.getByRole('dialog');
    await shown(help.getByText('Zoom and pan'));
    assert.equal(await help.getByText(/button/i).count(), 0);
  },

  async 'touch: of volumes beside each other, each has its slider, and all move'({ page, open }) {
    await open(job(MASK));
    await openTools(page);
    await page.getByLabel('Fill', { exact: true }).check();
    await eventually('two', async () => (await page.locator('.pane[data-axis="axial"]').count()) === 2);
    const sliders = page.getByRole('slider', { name: /^Axial slice, / });
    assert.equal(await sliders.count(), 2);
    await sliders.first().press('End');
    await eventually('both', async () => (await slices(page)) === '96 96' || slices(page));
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 390);
  },
};
