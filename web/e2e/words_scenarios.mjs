// What the page says where figures, states and messages could be taken for something else.
import assert from 'node:assert/strict';
import { FAILED, LIVE, DONE, eventually, job, shown } from './helpers.mjs';

export const wordsScenarios = {
  async 'words: a tab says that the server is gone; nothing counts down until it is back'({ page, open, server, allow }) {
    allow(/ERR_CONNECTION_REFUSED|ERR_SOCKET_NOT_CONNECTED|ERR_INCOMPLETE|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|network error/i);
    await open(job(LIVE));
    const state = page.locator('.job-state');
    await shown(state.getByText(/^finishes in /));
    await shown(page.getByText('Live', { exact: true }));
    await server.stop();
    await eventually('the title', async () => /^No answer: … AXIOM-2 head_soft – ct-node-1$/.test(await page.title()) || page.title());
    await shown(state.getByText(/^predicted for \d\d:\d\d:\d\d$/));
    await server.start(server.port);
    await eventually('the title', async () => /^… AXIOM-2 head_soft – ct-node-1$/.test(await page.title()) || page.title());
    await shown(state.getByText(/^finishes in /));
  },

  async 'words: a failed job says why; its code is for support'({ page, open }) {
    await open(job(FAILED));
    const problem = page.locator('.problem');
    await shown(problem.getByText('37 of 400 frames never came'));
    assert.equal(await problem.getByText('DATA_LOSS').isVisible(), false);
    await problem.getByText('For support').click();
    await shown(problem.getByText('DATA_LOSS'));
    await page.getByRole('link', { name: 'Details' }).click();
    await shown(page.locator('section', { has: page.locator('#warnings') }).getByText('None.'));
    assert.equal(await page.locator('ul.warnings').count(), 0, 'no list of nothing');
  },

  async 'words: devices and stages say what each counts of a refinement'({ page, open }) {
    const header = (id) => page.locator('.card > header', { has: page.locator(`#${id}`) });
    await open(job('20260301T092200-refd0004', 'timeline'));
    await shown(header('trace').getByText('all that ran on them, the refinement’s projections too'));
    await shown(header('stages').getByText('of the job, which overlap; the refinement’s projections count as refine only'));
    await open(job(DONE, 'timeline'));
    await shown(header('stages').getByText('of the job, which overlap', { exact: true }));
  },

  async 'words: links to the documentation from an empty Quality say that they open a new tab'({ page, open, server }) {
    server.quality = [];
    server.calibrations = [];
    await open('#/quality');
    const links = page.getByRole('link', { name: 'How (opens a new tab)' });
    await eventually('both', async () => (await links.count()) === 2);
    assert.deepEqual(await links.evaluateAll((all) => all.map((link) => `${link.target} ${link.getAttribute('href')}`).sort()), ['_blank docs/calibrating.html', '_blank docs/qa.html']);
  },

  async 'words: a refinement is chosen that suits most scans, not the first of the alphabet'({ page, open }) {
    await open(job(DONE));
    await page.getByRole('button', { name: 'Refine', exact: true }).click();
    await shown(page.getByRole('radio', { name: /fdk_then_ossart/, checked: true }));
  },

  async 'words: what to do of a destination that is stuck stays on its card, however long it has waited'({ page, open, server }) {
    const { transferPage } = server;
    server.transferPage = (query) => {
      const answer = transferPage.call(server, query);
      for (const destination of answer.destinations) Object.assign(destination, { failed: 0, sending: 0, queued: 4, oldest_seconds: 3_554 });
      return answer;
    };
    for (const [width, height] of [[2560, 1300], [1280, 800], [390, 844]]) {
      await page.setViewportSize({ width, height });
      await open('#/dicom');
      const card = page.getByRole('article', { name: 'Destination WORKSTATION' });
      await shown(card.getByText('What to do'));
      // Of its words, which may run over its own box.
      const words = await card.getByText('What to do').evaluate((link) => {
        const range = document.createRange();
        range.selectNodeContents(link.firstChild);
        return range.getBoundingClientRect().right;
      });
      const { x, width: wide } = await card.boundingBox();
      assert.ok(words < x + wide, `at ${width}: ${words} of ${x + wide}`);
    }
  },
};
