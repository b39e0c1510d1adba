// How long the page takes, against a running server: node e2e/measure.mjs ADDRESS [JOB]. JOB: one with a volume, whose planes are gone
// through. Prints JSON, milliseconds; judges nothing.
import { launch } from './browser.mjs';

const [address, jobId] = process.argv.slice(2);
const ROUNDS = 9;
const PLANES = 40;

const sorted = (values) => [...values].sort((a, b) => a - b);
const figures = (values) => {
  const all = sorted(values);
  return { median: Math.round(10 * all[all.length >> 1]) / 10, longest: Math.round(10 * all.at(-1)) / 10, of: all.length };
};

// From the navigation until rooms, devices and the last jobs are there, and events arrive, in a context that has cached nothing.
async function overview(browser) {
  const took = [];
  for (let i = 0; i < ROUNDS; i += 1) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
    const page = await context.newPage();
    await page.addInitScript(() => {
      const look = () => {
        const there = document.querySelector('.liveness.live') && document.querySelector('.device') && document.querySelector('.rooms, #first') && document.querySelector('section:has(#recent) :is(tbody tr, .empty)');
        if (there) globalThis.usableAt = performance.now();
        else requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    });
    await page.goto(`${address}#/`);
    took.push(await page.evaluate(() => new Promise((resolve) => {
      const ask = () => (globalThis.usableAt ? resolve(globalThis.usableAt) : setTimeout(ask, 10));
      ask();
    })));
    await context.close();
  }
  return figures(took);
}

// Runs in the page: presses a key on the pane and says when its canvas has another slice, drawn, and when the plane of a viewer at rest is there.
async function changes({ axis, count, key }) {
  const pane = document.querySelector(`.pane[data-axis="${axis}"]`);
  const frame = () => new Promise((resolve) => { requestAnimationFrame(() => resolve(performance.now())); });
  const until = async (done, end) => {
    while (!done()) {
      if (performance.now() > end) throw new Error('no plane came');
      await frame();
    }
    return performance.now();
  };
  const atRest = pane.dataset.level;
  const [drawn, whole] = [[], []];
  for (let i = 0; i < count; i += 1) {
    await frame();
    const before = pane.getAttribute('aria-valuenow');
    const begin = performance.now();
    pane.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    await until(() => pane.getAttribute('aria-valuenow') !== before && pane.dataset.level !== undefined, begin + 20_000);
    drawn.push(performance.now() - begin);
    whole.push(await until(() => pane.dataset.level === atRest, begin + 20_000) - begin);
  }
  return { drawn, whole };
}

// `viewport` says how fine the planes are: of 1024³, one of 2560x1600 shows every voxel, and one of 1280x800 planes of half the size.
async function planes(browser, viewport) {
  const page = await browser.newPage({ viewport });
  await page.goto(`${address}#/jobs/${jobId}`);
  await page.waitForSelector('.pane[data-axis="sagittal"][data-level]', { timeout: 120_000 });
  const found = {};
  for (const axis of ['axial', 'coronal', 'sagittal']) {
    await page.getByRole('button', { name: new RegExp(`^${axis}$`, 'i') }).click();
    await page.waitForTimeout(2_000);
    for (const [name, key] of [['new', 'ArrowUp'], ['seen', 'ArrowDown']]) {
      const { drawn, whole } = await page.evaluate(changes, { axis, count: PLANES, key });
      found[`${axis}, ${name}`] = { drawn: figures(drawn), full_size: figures(whole) };
    }
  }
  return found;
}

const browser = await launch();
try {
  const result = { overview_usable: await overview(browser) };
  if (jobId) {
    for (const [width, height] of [[1280, 800], [2560, 1600]]) result[`plane_change ${width}x${height}`] = await planes(browser, { width, height });
  }
  console.log(JSON.stringify(result, null, 1));
} finally {
  await browser.close();
}
