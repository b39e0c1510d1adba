// What a person does with the page, as a browser sees it. Each scenario has a page of its own against a mock server.
import assert from 'node:assert/strict';

const DONE = '20260301T092900-done0003';
const LIVE = '20260301T093001-live0001';
const FAILED = '20260301T085000-fail0008';
const MASK = '20260301T091700-mask0005';

const job = (id, tab) => `#/jobs/${id}${tab ? `?tab=${tab}` : ''}`;
const pane = (page, axis, id = DONE) => page.locator(`.pane[data-axis="${axis}"][data-job="${id}"]`);

// Machines that test are busy: what is waited for comes in milliseconds on an idle one.
const PATIENCE_MS = 20_000;

async function eventually(what, check, ms = PATIENCE_MS) {
  const end = Date.now() + ms;
  for (;;) {
    const got = await check();
    if (got === true) return;
    if (Date.now() > end) throw new Error(`never happened: ${what}; last: ${JSON.stringify(got)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const shown = (locator) => locator.first().waitFor({ state: 'visible', timeout: PATIENCE_MS });

// Mean and spread of a pane's pixels: black is nothing.
function pixels(page, selector) {
  return page.locator(`${selector} canvas`).first().evaluate((canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let sum = 0;
    let hash = 0;
    for (let i = 0; i < data.length; i += 4) {
      sum += data[i];
      hash = (hash * 31 + data[i]) | 0;
    }
    return { mean: sum / (data.length / 4), hash };
  });
}

export const scenarios = {
  async 'overview: rooms, active jobs, devices, throughput, last jobs'({ page, open }) {
    await open('#/');
    await shown(page.getByRole('article', { name: 'Room AXIOM-2' }).getByText('Scanning'));
    await shown(page.getByRole('article', { name: 'Room AXIOM-2' }).getByText('29.8'));
    await shown(page.getByRole('article', { name: 'Room Zeego left' }).getByText('37 of 400 frames never came'));
    await shown(page.locator(`tr[data-job="${LIVE}"]`).getByText('172 / 400 frames received'));
    await shown(page.getByRole('article', { name: 'Device cuda1' }).getByText('illegal memory access'));
    await eventually('six plots', async () => (await page.locator('.uplot canvas').count()) === 6);
    await page.getByRole('button', { name: '6 h' }).click();
    await shown(page.getByRole('button', { name: '6 h', pressed: true }));
    await shown(page.getByText('0.21 s').or(page.getByText('0.21\u202fs')));
  },

  async 'live: events move a job without asking, and it ends'({ page, open, server }) {
    await open('#/');
    const row = page.locator(`tr[data-job="${LIVE}"]`);
    await shown(row);
    server.change(LIVE, { progress: { frames_received: 300 } });
    await shown(row.getByText('300 / 400 frames received'));
    server.change(LIVE, { state: 'reconstructing', frames_per_second: null, progress: { frames_received: 400, frames_backprojected: 390 } });
    await shown(row.getByText('390 / 400 frames back-projected'));
    server.change(LIVE, { state: 'completed', end_time: new Date().toISOString() });
    await eventually('the job is among the last ones', async () =>
      (await page.locator('section', { has: page.locator('#recent') }).locator(`tr[data-job="${LIVE}"]`).count()) === 1);
  },

  async 'gone: says so and since when, keeps what it knew, recovers'({ page, open, server, allow }) {
    allow(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|network error/i);
    await open('#/');
    await shown(page.getByText('Live', { exact: true }));
    await server.stop();
    const alert = page.getByRole('alert');
    await shown(alert.getByText(/has not answered since \d\d:\d\d:\d\d/));
    await shown(page.locator(`tr[data-job="${LIVE}"]`));
    await server.start(server.port);
    await page.getByRole('button', { name: 'Try now' }).click();
    await shown(page.getByText('Live', { exact: true }));
    await alert.waitFor({ state: 'detached' });
  },

  async 'proxy: events that are held back are replaced by asking'({ page, open, server }) {
    server.holdEvents = true;
    await open('#/');
    await shown(page.getByText('Every 2 s'));
    server.change(LIVE, { progress: { frames_received: 333 } });
    await shown(page.getByText('333 / 400 frames received'));
  },

  async 'jobs: filter, pages, back and forth'({ page, open }) {
    await open('#/jobs');
    const rows = page.locator('tbody tr');
    await eventually('fifty jobs', async () => (await rows.count()) === 50);
    await page.getByRole('button', { name: 'Older' }).click();
    await eventually('the rest', async () => (await rows.count()) === 19);
    await page.getByLabel('State').selectOption('failed');
    await eventually('the failed one', async () => (await rows.count()) === 1);
    assert.match(page.url(), /state=failed/);
    await page.getByRole('row').getByRole('link').click();
    await shown(page.getByText('37 of 400 frames never came; protocol head_soft allows 8'));
    await page.goBack();
    await eventually('the filter is back', async () => (await rows.count()) === 1);
    await page.getByLabel('State').selectOption('');
    await page.getByLabel('Room').fill('Zeego left');
    await page.getByLabel('Room').press('Enter');
    await eventually('jobs of one room', async () => (await rows.count()) === 22);
  },

  async 'preview: the volume so far, while frames arrive'({ page, open }) {
    await open(job(LIVE));
    await shown(page.getByText('of 160 of 400 frames'));
    await eventually('three planes', async () => (await page.locator('.previews canvas').count()) === 3);
    await eventually('a picture', async () => (await pixels(page, '.previews')).mean > 20);
  },

  async 'cancel: asks first, then the job is cancelled'({ page, open, server }) {
    await open(job(LIVE));
    await page.getByRole('button', { name: 'Cancel job' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Back' }).click();
    assert.deepEqual(server.changes, []);
    await page.getByRole('button', { name: 'Cancel job' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel job' }).click();
    await shown(page.getByText('cancelled by ward 3'));
    assert.deepEqual(server.changes, [`POST jobs/${LIVE}:cancel`]);
  },

  async 'drain and resume: with a reason, and the page says why'({ page, open, server }) {
    await open('#/node');
    await page.getByRole('button', { name: 'Drain', exact: true }).click();
    await page.getByLabel(/^Reason/).fill('new filter in room 2');
    await page.keyboard.press('Enter');
    await shown(page.getByText('the node is drained: new filter in room 2'));
    await shown(page.locator('header.bar').getByText('Drained'));
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
    await shown(page.locator('header.bar').getByText('Ready'));
    assert.deepEqual(server.changes, ['POST node:drain', 'POST node:resume']);
    await shown(page.getByText('Quarantined'));
    await shown(page.locator('section', { has: page.locator('#queue') }).getByRole('link', { name: 'AXIOM-2' }));
  },

  async 'DICOM: destinations, filter, retry of one job and of a destination'({ page, open, server }) {
    await open('#/dicom');
    await shown(page.getByRole('article', { name: 'Destination WORKSTATION' }).getByText('84 failed'));
    await page.getByLabel('State').selectOption('failed');
    const row = page.locator('tr[data-transfer$="fill0006 WORKSTATION"]');
    await shown(row.getByText('gave up after 10 attempts'));
    await row.getByRole('button', { name: 'Retry' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click();
    await row.waitFor({ state: 'detached' });
    assert.deepEqual(server.changes, ['POST transfers:retry']);
    await shown(page.getByRole('article', { name: 'Destination WORKSTATION' }).getByText('0 failed'));
  },

  async 'timeline: drawn, zoomed by wheel and keys, with its sums'({ page, open }) {
    await open(job('20260301T092200-refd0004', 'timeline'));
    const canvas = page.locator('.timeline canvas');
    await shown(canvas);
    await shown(page.getByRole('row', { name: /backproject/ }).first());
    const length = async () => Number(await canvas.getAttribute('data-end')) - Number(await canvas.getAttribute('data-begin'));
    const whole = await length();
    await canvas.hover({ position: { x: 600, y: 60 } });
    await page.mouse.wheel(0, -300);
    await eventually('closer', async () => (await length()) < whole * 0.5);
    await canvas.focus();
    await page.keyboard.press('+');
    await eventually('closer by key', async () => (await length()) < whole * 0.25);
    await page.keyboard.press('Home');
    await eventually('the whole job', async () => (await length()) === whole);
    await canvas.hover({ position: { x: 152, y: 62 } });
    await shown(page.locator('.tip').getByText(/preprocess|filter|backproject/));
    await shown(page.getByText('Relative residual'));
  },

  async 'details: parameters, warnings, links to related jobs'({ page, open }) {
    await open(job(DONE, 'details'));
    await shown(page.getByText('The dose of frame 203 is 41 % of the median'));
    await shown(page.getByText('120 × 128 × 96'));
    await shown(page.getByText('199.5°'));
    await page.getByRole('link', { name: '20260301T092200-refd0004' }).click();
    await shown(page.getByText('fdk_then_pwls_tv').first());
  },

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

  async 'viewer: scroll by wheel and keys, zoom, pan, maximise; never the whole volume'({ page, open, server }) {
    await open(job(DONE));
    const axial = pane(page, 'axial');
    await eventually('axial', async () => (await axial.getAttribute('data-level')) === '0');
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
    const fit = (await pixels(page, '.pane[data-axis="axial"]')).hash;
    for (const key of ['+', 'Shift+ArrowLeft']) {
      const before = (await pixels(page, '.pane[data-axis="axial"]')).hash;
      await page.keyboard.press(key);
      await eventually(`${key} changes the picture`, async () => (await pixels(page, '.pane[data-axis="axial"]')).hash !== before);
    }
    await page.keyboard.press('r');
    await eventually('as before', async () => (await pixels(page, '.pane[data-axis="axial"]')).hash === fit);
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
    const text = await pane(page, 'axial').getAttribute('data-lengths');
    assert.ok(Math.abs(Number(text) - 60) < 1, `${text} mm`);
    await page.getByRole('button', { name: 'Clear' }).click();
    assert.equal(await pane(page, 'axial').getAttribute('data-lengths'), '');
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

  async 'keys: pages, help, focus that can be seen, colours'({ page, open }) {
    await open('#/');
    await shown(page.getByText('Live', { exact: true }));
    await page.keyboard.press('?');
    await shown(page.getByRole('dialog').getByText('Window presets'));
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('g');
    await page.keyboard.press('n');
    await shown(page.getByRole('heading', { name: 'ct-node-1' }));
    await page.keyboard.press('t');
    await eventually('light', async () => (await page.evaluate(() => document.documentElement.dataset.theme)) === 'light');
    await page.reload();
    await eventually('still light', async () => (await page.evaluate(() => document.documentElement.dataset.theme)) === 'light');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.equal(outline, 'solid');
  },

  async 'size: nothing is wider than 1280 pixels'({ page, open }) {
    for (const hash of ['#/', '#/jobs', '#/dicom', '#/node', job(DONE), job(DONE, 'timeline'), job(DONE, 'details'), job(DONE, 'dicom')]) {
      await open(hash);
      await shown(page.getByRole('main'));
      await page.waitForTimeout(250);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 1280, `${hash} is ${width} pixels wide`);
    }
  },

  async 'contrast: text in both colours is readable (WCAG AA)'({ page, open }) {
    const screens = {
      '#/': 'Devices', '#/node': 'Queue', '#/dicom': 'DICOM destinations', [job(DONE, 'details')]: 'Warnings', [job(FAILED)]: 'Zeego left head_soft',
    };
    for (const [hash, heading] of Object.entries(screens)) {
      await open(hash);
      await shown(page.getByRole('heading', { name: heading }));
      for (const theme of ['dark', 'light']) {
        await page.getByLabel('Colours').selectOption(theme);
        assert.deepEqual(await page.evaluate(poorContrast), [], `${theme} ${hash}`);
      }
    }
  },
};

// Runs in the page: texts whose colour is less than 4.5:1 against what is behind them.
function poorContrast() {
  const parse = (text) => text.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] > 0.99) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const element of document.querySelectorAll('#app *')) {
    const own = [...element.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.textContent.trim());
    if (!own || element.closest('.pane, :disabled, .hidden, .skip')) continue;
    // The signs of chips breathe; words beside them say the same.
    if (element.classList.contains('sign')) continue;
    const [a, b] = [luminance(parse(getComputedStyle(element).color)), luminance(ground(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${element.textContent.trim().slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return poor;
}
