// The page against a real isocenterd: node e2e/real.mjs ADDRESS STEP ARGS.. Each step prints what it saw as JSON.
import assert from 'node:assert/strict';
import { launch } from './browser.mjs';

const [address, step, ...args] = process.argv.slice(2);

// What the page must never cause, whatever it shows.
function watch(page) {
  const problems = [];
  page.on('pageerror', (error) => problems.push(String(error.stack ?? error)));
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  return problems;
}

// Locators, not functions: the page's Content-Security-Policy does not let strings be run.
const planeOf = (page, axis, more = '') => page.locator(`.pane[data-axis="${axis}"]${more}`);

const steps = {
  // The overview knows the room, and the job is complete.
  async overview(page, station) {
    await page.goto(`${address}#/`);
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('article', { name: `Room ${station}` }).waitFor();
    await page.locator('tbody tr', { hasText: 'Completed' }).first().waitFor();
    await page.getByRole('article', { name: /^Device / }).first().waitFor();
    // The first sample comes within 10 s.
    await page.locator('.plot').first().waitFor();
    return { plots: await page.locator('.plot').count() };
  },

  // Three planes with something in them; Hounsfield units of the middle voxel; one slice further; another preset.
  async volume(page, job) {
    await page.goto(`${address}#/jobs/${job}`);
    for (const axis of ['axial', 'coronal', 'sagittal']) await planeOf(page, axis, '[data-level]').waitFor();
    const middle = await planeOf(page, 'axial').locator('.hu', { hasText: 'HU' }).textContent();
    await planeOf(page, 'axial').focus();
    const slice = Number(await planeOf(page, 'axial').getAttribute('aria-valuenow'));
    await page.keyboard.press('ArrowUp');
    await planeOf(page, 'axial', `[aria-valuenow="${slice + 1}"]`).waitFor();
    await page.keyboard.press('2');
    await page.getByText('C 500 W 2000').waitFor();
    const means = await page.locator('.pane canvas').evaluateAll((canvases) => canvases.map((canvas) => {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      let sum = 0;
      for (let i = 0; i < data.length; i += 4) sum += data[i];
      return sum / (data.length / 4);
    }));
    return { middle, slice, means };
  },

  // The trace is drawn, and its table has the stages.
  async timeline(page, job) {
    await page.goto(`${address}#/jobs/${job}?tab=timeline`);
    await page.locator('.timeline canvas').waitFor();
    return { stages: await page.locator('.timeline tbody th').allTextContents() };
  },

  async details(page, job, text) {
    await page.goto(`${address}#/jobs/${job}?tab=details`);
    await page.getByText(text).first().waitFor();
    return {};
  },

  async drain(page, reason) {
    await page.goto(`${address}#/node`);
    await page.getByRole('button', { name: 'Drain', exact: true }).click();
    await page.getByLabel(/^Reason/).fill(reason);
    await page.keyboard.press('Enter');
    await page.locator('.reasons').getByText(reason).waitFor();
    return {};
  },

  async resume(page) {
    await page.goto(`${address}#/node`);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
    await page.locator('header.bar .chip.ok', { hasText: 'Ready' }).waitFor();
    return {};
  },
};

const browser = await launch();
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  page.setDefaultTimeout(30_000);
  const problems = watch(page);
  const seen = await steps[step](page, ...args);
  if (process.env.ISOCENTER_PAGE_SHOTS) await page.screenshot({ path: `${process.env.ISOCENTER_PAGE_SHOTS}/real-${step}.png` });
  assert.deepEqual(problems, []);
  console.log(JSON.stringify(seen));
} finally {
  await browser.close();
}
