// What is made of a finished volume, and of a destination that takes nothing.
import assert from 'node:assert/strict';
import { violations } from './axe.mjs';
import { DONE, LIVE, eventually, job, shown } from './helpers.mjs';

const said = (page, text) => page.getByRole('log').getByText(text).first().waitFor({ state: 'attached' });

export const orderScenarios = {
  async 'download: every format, by keys alone'({ page, open }) {
    await open(job(DONE));
    await page.getByText('Download', { exact: true }).focus();
    await page.keyboard.press('Enter');
    await shown(page.getByRole('link', { name: /NIfTI/ }));
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: /NIfTI/ }).waitFor({ state: 'hidden' });
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Download');
    for (const [name, ending] of [['DICOM', 'tar'], ['NIfTI', 'nii'], ['MetaImage', 'mha']]) {
      await page.getByText('Download', { exact: true }).click();
      const [file] = await Promise.all([
        page.waitForEvent('download'), page.locator('.menu').getByRole('link', { name: new RegExp(name) }).click(),
      ]);
      assert.equal(file.suggestedFilename(), `${DONE}.${ending}`);
      // As a stream: a browser that is shared with other runs keeps its files to itself.
      let bytes = 0;
      for await (const chunk of await file.createReadStream()) bytes += chunk.length;
      assert.equal(bytes, 4096);
    }
  },

  async 'a restart of the service: a page that was open goes on with the new token by itself, and asks for each thing once'({ page, open, server, allow }) {
    allow(/403/);
    await open('#/node');
    await shown(page.getByText('Live', { exact: true }));
    server.csrfToken = 'another';
    for (const stream of server.streams) stream.end();
    await page.getByRole('button', { name: 'Drain' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Drain' }).click();
    await shown(page.getByText('Drained', { exact: true }));
    assert.deepEqual(server.changes, ['POST node:drain']);
    assert.equal(await page.getByText(/CSRF/).count(), 0);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
    await eventually('it resumes', () => server.changes.length === 2 || server.changes);
  },

  async 'send: to a destination that is configured'({ page, open, server }) {
    await open(job(DONE));
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByLabel('Destination').selectOption('WORKSTATION');
    await page.getByRole('dialog').getByRole('button', { name: 'Send', exact: true }).click();
    await eventually('the order', () => server.orders.length === 1);
    assert.deepEqual(server.orders[0], { order: 'send', destination: 'WORKSTATION', again: false });
    await shown(page.getByRole('heading', { name: 'Destinations of this volume' }));
    await said(page, /WORKSTATION has the volume already, or it is on its way; nothing was added/);
  },

  async 'send again: what a destination has, when that is said'({ page, open, server }) {
    await open(job(DONE));
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Destination').selectOption('WORKSTATION');
    await shown(dialog.getByText('What the destination has already is not sent again.'));
    await dialog.getByRole('checkbox', { name: 'Send again what it has' }).check();
    await shown(dialog.getByText('For one that has lost what it had.'));
    assert.deepEqual(await violations(page, { within: 'dialog', contrast: true }), []);
    await dialog.getByRole('button', { name: 'Send', exact: true }).click();
    await eventually('the order', () => server.orders.length === 1);
    assert.equal(server.orders[0].again, true);
    await said(page, /The volume is in the queue of WORKSTATION/);
  },

  async 'refine: what the service offers; a refusal is said in its words'({ page, open, server, allow }) {
    allow(/409/);
    server.framesGone = true;
    await open(job(DONE));
    await page.getByRole('button', { name: 'Refine' }).click();
    const dialog = page.getByRole('dialog');
    await shown(dialog.getByText('OS-SART, 5 iterations of 20 subsets'));
    await shown(dialog.getByText('A second pass'));
    await dialog.getByRole('radio', { name: /fdk_then_ossart/ }).check();
    await dialog.getByLabel(/in minutes/).fill('3');
    await dialog.getByRole('button', { name: 'Refine', exact: true }).click();
    await shown(dialog.getByText('are kept no longer'));
    server.framesGone = false;
    await dialog.getByRole('button', { name: 'Refine', exact: true }).click();
    await eventually('its job', () => page.url().includes(`${DONE}-refined`));
    const [refused, accepted] = server.orders;
    assert.equal(accepted.protocol, 'fdk_then_ossart');
    assert.equal(accepted.deadline_seconds, 180);
    assert.equal(accepted.request_id, refused.request_id, 'asked again it is the same refinement');
    assert.match(accepted.request_id, /^[A-Za-z0-9_.-]{1,64}$/);
  },

  async 'compare: a link opens both volumes'({ page, open }) {
    await open(job(DONE));
    await page.getByText('Compare', { exact: true }).click();
    await page.getByRole('link', { name: /Refined: OS-SART/ }).click();
    await eventually('both volumes', async () => (await page.locator('.pane[data-axis="axial"]').count()) === 2);
    assert.match(page.url(), /beside=/);
  },

  async 'a job without a volume has none of these'({ page, open }) {
    await open(job(LIVE));
    await shown(page.getByRole('button', { name: 'Cancel job' }));
    for (const name of ['Download', 'Refine', 'Compare', 'Send']) assert.equal(await page.getByText(name, { exact: true }).count(), 0, name);
  },

  async 'a stuck destination says why and when, and is tried now'({ page, open, server }) {
    await open('#/dicom');
    const card = page.getByRole('article', { name: 'Destination WORKSTATION' });
    await shown(card.getByText('called AE title not recognized'));
    await shown(card.getByText(/6 attempts to reach it; next in 3.min/));
    await card.getByRole('button', { name: 'Try now' }).click();
    await shown(card.getByText('6 attempts to reach it; next now'));
    await shown(card.getByRole('status').getByText('WORKSTATION is being tried.'));
    assert.ok(server.changes.includes('POST transfers:try_now'));
  },

  async 'terms say what they mean, to keys too'({ page, open }) {
    await open('#/');
    const term = page.getByRole('button', { name: 'speed in GUPS' });
    await term.focus();
    await page.keyboard.press('Enter');
    await shown(page.getByText('voxel updates in a second: one voxel'));
    assert.equal(await term.getAttribute('aria-expanded'), 'true');
    await page.keyboard.press('Escape');
    assert.equal(await term.getAttribute('aria-expanded'), 'false');
  },
};
