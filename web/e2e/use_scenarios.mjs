// That the page can be used with a keyboard alone, by programs that read it aloud, and without motion.
import assert from 'node:assert/strict';
import { violations } from './axe.mjs';
import { DONE, FAILED, LIVE, MASK, eventually, goByKeys, job, pane, shown } from './helpers.mjs';
import { firstDay } from './worlds.mjs';

// What has the focus, and whether that can be seen.
const focused = (page) => page.evaluate(() => {
  const element = document.activeElement;
  if (element === document.body) return null;
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  const name = element.getAttribute('aria-label') ?? (element.labels?.[0] ?? element).textContent.trim().slice(0, 40);
  return { name, seen: outlineStyle === 'solid' && parseFloat(outlineWidth) >= 2 };
});

async function tabTo(page, name) {
  for (let i = 0; i < 120; i += 1) {
    await page.keyboard.press('Tab');
    if ((await focused(page))?.name.includes(name)) return;
  }
  throw new Error(`no Tab leads to ${name}`);
}

// Every screen in four widths: nothing that axe knows, and the help.
async function axeFindsNothing({ page, open, server, allow }, colorScheme) {
  allow(/404/);
  await page.emulateMedia({ colorScheme });
  const screens = {
    '#/': '.plot', '#/jobs': 'tbody tr', '#/dicom': 'tr[data-transfer]', '#/node': '#queue', '#/quality': '.series tbody tr', [job(DONE, 'dicom')]: 'tr[data-transfer]', [job(DONE)]: '.pane[data-level="0"]',
    '#/jobs?state=failed': '.why', '#/jobs/none': '.problem', '#/nowhere': '.problem',
    [job(DONE, 'timeline')]: '.timeline canvas', [job(DONE, 'details')]: '.warnings li', [job(FAILED)]: '.problem', [job(LIVE)]: '.previews canvas',
  };
  for (const [hash, what] of Object.entries(screens)) {
    await open(hash);
    await shown(page.locator(what));
    for (const width of [390, 768, 1280, 2560]) {
      await page.setViewportSize({ width, height: 844 });
      await shown(page.locator(what));
      assert.deepEqual(await violations(page), [], `${hash} at ${width}`);
    }
  }
  await page.keyboard.press('?');
  await shown(page.getByRole('dialog'));
  assert.deepEqual(await violations(page), [], 'help');
  await page.keyboard.press('Escape');
  await open(job(MASK));
  for (const name of ['Fill', 'Subtracted']) await page.getByLabel(name, { exact: true }).check();
  await shown(page.locator('.pane[data-level="0"]'));
  for (const width of [390, 768, 1280, 2560]) {
    await page.setViewportSize({ width, height: 844 });
    assert.deepEqual(await violations(page), [], `comparison at ${width}`);
  }
  await open(job(DONE));
  await page.getByRole('button', { name: 'Refine', exact: true }).click();
  await shown(page.getByRole('dialog'));
  assert.deepEqual(await violations(page), [], 'refine');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: '3-D', exact: true }).click();
  await shown(page.locator('.pane.solid'));
  for (const width of [390, 768, 1280, 2560]) {
    await page.setViewportSize({ width, height: 844 });
    assert.deepEqual(await violations(page), [], `3-D at ${width}`);
  }
  firstDay(server);
  server.simulatedScans = true;
  await open('#/');
  await page.reload();
  await shown(page.getByRole('button', { name: 'Start a simulated scan' }));
  assert.deepEqual(await violations(page), [], 'first day');
}

export const signInUse = {
  async 'axe: signing in has no fault that it knows'({ page, open, allow }) {
    allow(/401/);
    await open('#/');
    await shown(page.getByLabel('Access token'));
    for (const width of [390, 768, 1280, 2560]) {
      await page.setViewportSize({ width, height: 844 });
      assert.deepEqual(await violations(page), [], `sign-in at ${width}`);
    }
  },
};

const DONE_ROW = /^AXIOM-1, head_soft, /;

// With a token for each role.
export const keyboardUse = {
  async 'keyboard alone: from the sign-in to a volume in the queue of the PACS, each step heard'({ page, open, server, allow }) {
    allow(/401/);
    await open('#/');
    await eventually('the token has the focus', () => page.evaluate(() => document.activeElement.name === 'token'));
    await page.keyboard.type('o-token');
    await page.keyboard.press('Enter');
    await shown(page.getByText('Live', { exact: true }));
    const row = page.locator(`tr[data-job="${DONE}"]`);
    await goByKeys(page, 'j', row);
    const name = await row.getByRole('link').getAttribute('aria-label');
    assert.match(name, DONE_ROW);
    await tabTo(page, name);
    await page.keyboard.press('Enter');
    await shown(pane(page, 'axial'));
    await tabTo(page, 'Send');
    await page.keyboard.press('Enter');
    await eventually('the destination has the focus', async () => (await page.evaluate(() => document.activeElement.tagName)) === 'SELECT');
    assert.equal((await focused(page)).name.startsWith('Destination'), true);
    await page.keyboard.press('c');
    await tabTo(page, 'Send');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('log').getByText('The volume is in the queue of CLOUD.').first().waitFor({ state: 'attached' });
    assert.deepEqual(server.changes, [`POST jobs/${DONE}:send`]);
    await shown(page.locator('tr[data-transfer]', { hasText: 'WORKSTATION' }));
    assert.equal((await focused(page)).name, 'Send', 'the focus is where it was');
  },
};

export const useScenarios = {
  'axe: no screen has a fault that it knows, light': (world) => axeFindsNothing(world, 'light'),
  'axe: no screen has a fault that it knows, dark': (world) => axeFindsNothing(world, 'dark'),

  async 'axe: the documentation has no fault that it knows, its colours included'({ page, open }) {
    for (const name of ['index', 'glossary', 'user-guide/console']) for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      await open(`docs/${name}.html`);
      for (const width of [390, 768, 1280, 2560]) {
        await page.setViewportSize({ width, height: 844 });
        assert.deepEqual(await violations(page, { contrast: true, more: ['wcag22aa'] }), [], `${name} at ${width}, ${colorScheme}`);
      }
    }
  },

  async 'a row of a table leads where its link does'({ page, open }) {
    await open('#/jobs');
    await page.locator(`tr[data-job="${DONE}"] td`).nth(1).click();
    await shown(pane(page, 'axial'));
  },

  async 'keyboard alone: to a job, into its planes, to a question and out of it'({ page, open, server }) {
    await open('#/');
    await shown(page.locator(`tr[data-job="${LIVE}"]`));
    await page.keyboard.press('Tab');
    assert.equal((await focused(page)).name, 'To the content');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
    // Whatever has the focus shows it, all the way through the overview.
    const unseen = [];
    for (let i = 0; i < 30; i += 1) {
      await page.keyboard.press('Tab');
      const now = await focused(page);
      if (now === null) break;
      if (!now.seen) unseen.push(now.name);
    }
    assert.deepEqual(unseen, []);
    await goByKeys(page, 'j', page.getByLabel('State'));
    await tabTo(page, 'All');
    await page.keyboard.press('c');
    await page.keyboard.press('Tab');
    await eventually('completed jobs', async () => /state=completed/.test(page.url()) || page.url());
    const row = page.locator(`tr[data-job="${DONE}"]`);
    await tabTo(page, await row.getByRole('link').textContent());
    await page.keyboard.press('Enter');
    await eventually('its planes', async () => (await pane(page, 'axial').getAttribute('data-level')) === '0');
    await tabTo(page, 'Refined');
    await page.keyboard.press('Space');
    await eventually('both volumes', async () => (await page.locator('.pane[data-axis="axial"]').count()) === 2);
    await tabTo(page, 'Axial plane, FDK');
    await page.keyboard.press('ArrowUp');
    await eventually('the next slice of both', async () =>
      (await page.locator('.pane[aria-valuenow="49"]').count()) === 2);
    await open(job(LIVE));
    await shown(page.getByRole('button', { name: 'Cancel job' }));
    await tabTo(page, 'Cancel job');
    await page.keyboard.press('Enter');
    await shown(page.getByRole('dialog'));
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal((await focused(page)).name, 'Cancel job', 'the focus is where it was');
    assert.deepEqual(server.changes, []);
  },

  async 'motion: signs breathe only for those who want motion'({ page, open }) {
    await open('#/');
    const sign = page.locator('.chip.scanning .sign').first();
    await shown(sign);
    const animation = () => sign.evaluate((element) => getComputedStyle(element).animationName);
    assert.equal(await animation(), 'none');
    await page.emulateMedia({ reducedMotion: 'no-preference' });
    assert.equal(await animation(), 'breathe');
  },
};
