// Where the focus goes when what had it goes away, and what is said meanwhile to who hears the page.
import assert from 'node:assert/strict';
import { DONE, LIVE, eventually, job, pane, shown } from './helpers.mjs';

const focusName = (page) => page.evaluate(() => {
  const element = document.activeElement;
  return element === document.body ? 'BODY' : element.getAttribute('aria-label') ?? element.textContent.trim();
});
const focusIs = (page, expected) => eventually(`the focus on ${expected}`, async () => {
  const name = await focusName(page);
  return expected.test(name) || name;
});
const said = (page, text) => page.getByRole('log').getByText(text).first().waitFor({ state: 'attached' });

export const focusScenarios = {
  async 'focus: stays near after cancelling, sending, draining and a download; each is said'({ page, open }) {
    await open(job(LIVE));
    await eventually('the title', async () => /^… AXIOM-2 head_soft – /.test(await page.title()) || page.title());
    await page.getByRole('button', { name: 'Cancel job' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel job' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await focusIs(page, /^AXIOM-2 head_soft/);
    await said(page, 'Scan of AXIOM-2, head_soft, accession no. A1234: cancelled');
    await eventually('the title', async () => /^– AXIOM-2/.test(await page.title()) || page.title());

    await open(job(DONE));
    await page.getByRole('button', { name: 'Send', exact: true }).focus();
    await page.keyboard.press('Enter');
    await focusIs(page, /PACS/);
    assert.equal(await page.evaluate(() => document.activeElement.tagName), 'SELECT', 'the destination is first');
    await page.getByRole('dialog').getByRole('button', { name: 'Send', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await focusIs(page, /^Send$/);
    await said(page, 'The volume is in the queue of PACS.');

    await page.getByText('Download', { exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: /NIfTI/ }).focus();
    const download = page.waitForEvent('download');
    await page.keyboard.press('Enter');
    await download;
    await focusIs(page, /^Download$/);
    await said(page, /The download as NIfTI begins/);

    await page.getByRole('button', { name: 'Refine', exact: true }).click();
    await eventually('the protocol', async () => (await page.evaluate(() => document.activeElement.type)) === 'radio');
    await page.keyboard.press('Escape');

    await open('#/node');
    await page.getByRole('button', { name: 'Drain', exact: true }).focus();
    await page.keyboard.press('Enter');
    await eventually('the reason', async () => (await page.evaluate(() => document.activeElement.type)) === 'text');
    await page.keyboard.type('new filter');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await focusIs(page, /^Resume$/);
    await said(page, 'The node is drained');
  },

  async 'focus: a list begins at its top for who comes from a job that was opened elsewhere'({ page, open }) {
    await open('#/');
    await page.locator(`tr[data-job="${DONE}"]`).getByRole('link').click();
    await eventually('the title', async () => /^✓ AXIOM-1/.test(await page.title()) || page.title());
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'DICOM' }).click();
    const row = page.locator(`tr[data-transfer="${DONE} WORKSTATION"]`).getByRole('link');
    await shown(row);
    await focusIs(page, /^DICOM$/);
    assert.equal(await page.evaluate(() => scrollY), 0);
    // Who opened the job there comes back to its row.
    await row.click();
    await eventually('the title', async () => /^✓ AXIOM-1/.test(await page.title()) || page.title());
    await page.goBack();
    await focusIs(page, /^AXIOM-1, head_soft/);
  },

  async 'focus: back from a job it is on the row of that job'({ page, open }) {
    await open('#/jobs');
    const link = page.locator(`tr[data-job="${DONE}"]`).getByRole('link');
    await shown(link);
    assert.match(await link.getAttribute('aria-label'), /^AXIOM-1, head_soft, .*\d\d:\d\d:\d\d$/);
    await link.focus();
    await page.keyboard.press('Enter');
    await shown(pane(page, 'axial'));
    await page.goBack();
    await focusIs(page, /^AXIOM-1, head_soft, /);
    assert.equal(await page.evaluate(() => document.activeElement.closest('tr').dataset.job), DONE);
  },

  async 'gone: a question says that the server does not answer, and cannot be confirmed'({ page, open, server, allow }) {
    allow(/ERR_|network error/i);
    await open(job(DONE));
    await page.getByRole('button', { name: 'Refine', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await shown(dialog.getByRole('radio').first());
    await server.stop();
    await shown(dialog.getByText('The server does not answer.'));
    assert.equal(await dialog.getByRole('button', { name: 'Refine', exact: true }).isDisabled(), true);
    await server.start(server.port);
    await dialog.getByText('The server does not answer.').waitFor({ state: 'detached' });
    assert.equal(await dialog.getByRole('button', { name: 'Refine', exact: true }).isDisabled(), false);
  },

  async 'forced colours: what is chosen looks chosen'({ page, open }) {
    await page.emulateMedia({ forcedColors: 'active' });
    await open('#/');
    await shown(page.getByRole('button', { name: '1 h' }));
    const ground = (locator) => locator.evaluate((element) => getComputedStyle(element).backgroundColor);
    const nav = page.getByRole('navigation', { name: 'Pages' });
    const chosen = await ground(nav.getByRole('link', { name: 'Overview' }));
    assert.notEqual(chosen, await ground(nav.getByRole('link', { name: 'Jobs' })));
    assert.equal(await ground(page.getByRole('button', { name: '1 h', exact: true })), chosen);
    assert.notEqual(await ground(page.getByRole('button', { name: '6 h' })), chosen);
    await shown(page.getByText('Live', { exact: true }));
    assert.equal(await ground(page.locator('.liveness .dot')), chosen);
    await open(job(DONE, 'details'));
    await shown(page.getByRole('heading', { name: 'Acquisition' }));
    assert.equal(await ground(page.locator('.tabs a[aria-current]')), chosen);
  },

  async 'print: dark on light, with what it is of, without what is clicked'({ page, open }) {
    await open(job(DONE));
    await shown(pane(page, 'axial'));
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    for (const hidden of ['.bar', '.tabs', '.viewer-tools', '.job-heading .actions']) assert.equal(await page.locator(hidden).first().isVisible(), false, hidden);
    await shown(page.locator('.on-paper').getByText(/\(\d{4}-\d\d-\d\d .* UTC/));
    for (const text of ['AXIOM-1', DONE, 'head_soft']) await shown(page.getByText(text).first());
    await shown(pane(page, 'axial').getByText('W 400'));
    const [ground, text] = await page.evaluate(() => [document.documentElement, document.querySelector('h1')].map((e, i) => getComputedStyle(e)[i ? 'color' : 'backgroundColor']));
    assert.deepEqual([ground, text], ['rgb(255, 255, 255)', 'rgb(0, 0, 0)']);
  },

  async 'times: the date and the distance from UTC, where they are asked for'({ page, open }) {
    await open('#/jobs');
    const time = page.locator(`tr[data-job="${DONE}"] time`);
    await shown(time);
    assert.match(await time.getAttribute('title'), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC[+−]\d\d:\d\d$/);
    assert.match(await time.getAttribute('datetime'), /Z$/);
    await shown(page.getByText(/^local time, UTC/));
    await open(job(DONE, 'details'));
    await shown(page.getByText(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/).first());
    await shown(page.getByText('none: protocol head_soft takes no set, or the frames came corrected'));
  },

  async 'progress: in words for who hears it; tables have names'({ page, open }) {
    await open('#/');
    const bar = page.locator(`tr[data-job="${LIVE}"] progress`).first();
    await shown(bar);
    assert.equal(await bar.getAttribute('aria-valuetext'), '172 of 400');
    for (const name of ['Active jobs', 'Last jobs']) await shown(page.getByRole('table', { name }));
    assert.match(await page.getByRole('meter', { name: 'Memory' }).first().getAttribute('aria-valuetext'), /GB of/);
  },

  async 'telephone: every tool of the viewer is on the screen'({ page, open }) {
    for (const width of [390, 640]) {
      await page.setViewportSize({ width, height: 844 });
      await open(job(DONE));
      await shown(page.locator('.pane'));
      const outside = await page.locator('.viewer-tools :is(button, select, output)').evaluateAll((parts) =>
        parts.map((part) => [part.textContent.slice(0, 12), part.getBoundingClientRect()]).filter(([, box]) => box.left < 0 || box.right > innerWidth).map(([name]) => name));
      assert.deepEqual(outside, [], `at ${width}`);
    }
  },
};

// With a token for each role.
export const focusSignIn = {
  async 'focus: signing in leads to the screen, an ended session to its question'({ page, open, server, allow }) {
    allow(/401/);
    await open('#/node');
    const token = page.getByLabel('Access token');
    await shown(token);
    await focusIs(page, /^$/);
    assert.equal(await page.evaluate(() => document.activeElement.name), 'token');
    await page.keyboard.type('o-token');
    await page.keyboard.press('Enter');
    await shown(page.getByText('Live', { exact: true }));
    assert.notEqual(await focusName(page), 'BODY');
    server.endSessions();
    await shown(page.getByText('Your session has ended.'));
    await eventually('the token has the focus', () => page.evaluate(() => document.activeElement.name === 'token'));
  },
};
