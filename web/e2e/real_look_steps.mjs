// What people look at on a real server. Locators, not functions: the page's Content-Security-Policy does not let strings
// be run.
import { eventually } from './helpers.mjs';

const planeOf = (page, axis, more = '') => page.locator(`.pane[data-axis="${axis}"]${more}`);

// Mean grey of what each pane shows: black is nothing.
function greys(page) {
  return page.locator('.pane canvas').evaluateAll((canvases) => canvases.map((canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let sum = 0;
    for (let i = 0; i < data.length; i += 4) sum += data[i];
    return sum / (data.length / 4);
  }));
}

// The same, once every pane shows something: what is loaded is drawn a moment later.
async function drawn(page) {
  let means = [];
  await eventually('a picture in every pane', async () => {
    means = await greys(page);
    return (means.length > 0 && means.every((mean) => mean > 5)) || means;
  });
  return means;
}

export const lookSteps = {
  // The overview knows the room, and the job is complete.
  async overview({ page, open }, station) {
    await open('#/');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('article', { name: `Room ${station}` }).waitFor();
    await page.locator('tbody tr', { hasText: 'Completed' }).first().waitFor();
    await page.getByRole('article', { name: /^Device / }).first().waitFor();
    // The first sample comes within 10 s.
    await page.locator('.plot').first().waitFor();
    return {
      plots: await page.locator('.plot').count(),
      device: await page.getByRole('article', { name: /^Device / }).first().textContent(),
    };
  },

  // Two rooms scan at once: what the overview says of each while frames come, and, once "scanning" is printed and the scans go on to
  // their ends, of their jobs afterwards.
  async scans({ page, open }, ...stations) {
    await open('#/');
    await page.getByText('Live', { exact: true }).waitFor();
    console.log('waiting');
    const seen = {};
    await Promise.all(stations.map(async (station) => {
      const room = page.getByRole('article', { name: `Room ${station}` });
      await room.getByText('Scanning').waitFor();
      const number = async (pattern) => Number(pattern.exec(await room.textContent())?.[1] ?? NaN);
      await eventually(`frames/s of ${station}`, async () => (await number(/([\d.]+)\s*frames\/s/)) > 0 || room.textContent());
      await eventually(`progress of ${station}`, async () => (await number(/(\d+) \/ \d+ frames received/)) > 0 || room.textContent());
      await room.getByText(/finishes (in|now)|late/).waitFor();
      const row = page.locator('tbody tr', { hasText: station }).filter({ hasText: 'Receiving' });
      await row.getByText(/frames received/).first().waitFor();
      seen[station] = { room: await room.textContent() };
    }));
    console.log('scanning');
    for (const station of stations) {
      const row = page.locator('section', { has: page.locator('#recent') }).locator('tr', { hasText: station }).first();
      await row.getByText('Completed').waitFor();
      await row.getByText('GUPS').first().waitFor();
      seen[station].job = await row.locator('td').allTextContents();
    }
    await page.locator('.plot').first().waitFor();
    return seen;
  },

  // Three planes with something in them; Hounsfield units of the middle voxel; one slice further; another preset.
  async volume({ page, open }, job) {
    await open(`#/jobs/${job}`);
    for (const axis of ['axial', 'coronal', 'sagittal']) await planeOf(page, axis, '[data-level]').waitFor();
    const middle = await planeOf(page, 'axial').locator('.hu', { hasText: 'HU' }).textContent();
    await planeOf(page, 'axial').focus();
    const slice = Number(await planeOf(page, 'axial').getAttribute('aria-valuenow'));
    await page.keyboard.press('ArrowUp');
    await planeOf(page, 'axial', `[aria-valuenow="${slice + 1}"]`).waitFor();
    await page.keyboard.press('2');
    await page.getByText('C 500 W 2000').waitFor();
    const means = await drawn(page);
    // A distance by keys alone: ten voxels of 3 mm.
    await page.keyboard.press('Space');
    for (let i = 0; i < 10; i += 1) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Space');
    await planeOf(page, 'axial', '[data-lengths="30.0"]').waitFor();
    return { middle, slice, means, lengths: await planeOf(page, 'axial').getAttribute('data-lengths') };
  },

  // The first visit of a node that may simulate: from its button to the volume in 3-D, with a preview and the arm on the way.
  async first({ page, open, allow }) {
    // The preview may be asked for in the moment in which it goes.
    allow(/404.*\/preview$/);
    await open('#/');
    await page.getByRole('button', { name: 'Start a simulated scan' }).click();
    await page.getByRole('heading', { name: 'simulator fdk' }).waitFor();
    const arm = page.getByRole('meter', { name: 'Arm' });
    const turned = await arm.getAttribute('aria-valuetext');
    await eventually('three planes of a preview, or the volume', async () => {
      const previews = await page.locator('.previews canvas').count();
      return previews === 3 || (await planeOf(page, 'axial').count()) === 1 || previews;
    });
    // All of a scan is simulated and reconstructed, beside a browser that draws by the processor.
    await planeOf(page, 'axial', '[data-level]').waitFor({ timeout: 400_000 });
    await page.getByRole('button', { name: '3-D', exact: true }).click();
    await page.locator('.pane.solid[data-drawn]').waitFor();
    const lit = await page.locator('.pane.solid canvas').evaluate((canvas) => {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return data.filter((value, i) => i % 4 === 0 && value > 60).length / (data.length / 4);
    });
    return { turned, lit };
  },

  // Volumes side by side, by their names; all scroll together.
  async beside({ page, open }, job, ...names) {
    await open(`#/jobs/${job}`);
    await planeOf(page, 'axial', '[data-level]').first().waitFor();
    for (const name of names) {
      const box = page.getByLabel(name, { exact: true });
      if (!(await box.isChecked())) await box.check();
    }
    const axial = planeOf(page, 'axial', '[data-level="0"]');
    await eventually('planes', async () => (await axial.count()) === names.length || axial.count());
    const slice = Number(await axial.first().getAttribute('aria-valuenow')) + 10;
    await axial.first().focus();
    await page.keyboard.press('PageUp');
    const further = planeOf(page, 'axial', `[data-level="0"][aria-valuenow="${slice}"]`);
    await eventually(`slice ${slice} of all`, async () => (await further.count()) === names.length || further.count());
    return {
      slices: await axial.evaluateAll((panes) => panes.map((pane) => pane.getAttribute('aria-valuenow'))),
      shown: await axial.evaluateAll((panes) => panes.map((pane) => pane.querySelector('.top').firstChild.textContent)),
      window: await page.locator('.window-value').textContent(),
      means: await drawn(page),
    };
  },

  // The trace is drawn, and its table has the stages; of a refinement also how it converged.
  async timeline({ page, open }, job) {
    await open(`#/jobs/${job}?tab=timeline`);
    await page.locator('.timeline canvas').waitFor();
    return {
      stages: await page.locator('.timeline tbody th').allTextContents(),
      curves: await page.locator('section', { has: page.locator('#convergence') }).locator('.plot').count(),
    };
  },

  // From the documentation's first page to a section by the search, and back to the operator page.
  async docs({ page, open }, words) {
    await open('docs/');
    await page.getByRole('navigation', { name: 'All pages' }).getByRole('link').first().waitFor();
    await page.getByRole('searchbox', { name: 'Search' }).fill(words);
    await page.getByRole('list', { name: 'Found' }).getByRole('link').first().click();
    await page.waitForURL(/docs\/.+#/);
    const heading = await page.getByRole('heading', { level: 1 }).textContent();
    await page.getByRole('link', { name: 'Operator page', exact: true }).click();
    await page.getByText('Live', { exact: true }).waitFor();
    return { heading };
  },

  async details({ page, open }, job, text) {
    await open(`#/jobs/${job}?tab=details`);
    await page.getByText(text).first().waitFor();
    return { warnings: await page.locator('.warnings li').allTextContents() };
  },
};
