// The page at its edges: nothing there yet, far too much of it, things that go away.
import assert from 'node:assert/strict';
import { violations } from './axe.mjs';
import { DONE, FAILED, LIVE, MASK, eventually, job, pane, shown } from './helpers.mjs';
import { Refusal } from './refusal.mjs';
import { crowd, firstDay, large, odd } from './worlds.mjs';

const REFINING = '20260301T092955-refi0002';
const REFINED = '20260301T092200-refd0004';
const SUBTRACTED = '20260301T091801-subt0007';
const link = (page, place) => page.locator(`a[href="docs/${place}"]`).first();

async function noWiderThan(page, width, what) {
  const found = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(found <= width, `${what} is ${found} pixels wide`);
}

export const edgeScenarios = {
  async 'first day: every screen says what is not there yet, and how it comes'({ page, open, server, allow }) {
    allow(/404/);
    firstDay(server);
    await open('#/');
    await shown(page.getByText('No room has sent an acquisition yet'));
    await shown(page.getByText(/isocenter stream head --fps 30 --server localhost:50061$/));
    await shown(page.getByText('echoscu -v -aec RECON2 127.0.0.1 11113'));
    await shown(page.getByText('takes scans from its own machine only (it listens on 127.0.0.1:50061)'));
    await shown(link(page, 'user-guide/console.html'));
    await shown(page.getByText('Nothing to do.'));
    await shown(page.getByText('No sample yet; the server takes one every 10 s.'));
    await shown(page.locator('section', { has: page.locator('#recent') }).getByText('No job has ended yet.'));
    await open('#/jobs');
    await shown(page.getByText('There is no job yet.'));
    await open('#/jobs?text=nothing');
    await shown(page.getByText('No job is like that.'));
    await open('#/dicom');
    await shown(page.getByText('No destination is configured.'));
    await shown(link(page, 'user-guide/pacs.html#being-sent-results'));
    await open('#/node');
    await shown(page.getByText('Nothing waits.'));
    await open(job('none'));
    await shown(page.getByText("there is no job 'none'"));
    await page.getByRole('link', { name: 'All jobs' }).click();
    await shown(page.getByRole('heading', { name: 'Jobs' }));
  },

  async 'first day: on a telephone each command begins a line of its own'({ page, open, server }) {
    firstDay(server);
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 844 });
      await open('#/');
      const commands = page.getByRole('group', { name: 'Commands' });
      await shown(commands);
      const lines = await commands.evaluate((block) => {
        const words = [...block.querySelectorAll('.word')].map((word) => ({ text: word.textContent, top: word.getBoundingClientRect().top }));
        return words.filter((word, i) => i > 0 && word.text === 'isocenter').map((word) => word.top > words[words.indexOf(word) - 1].top);
      });
      assert.deepEqual(lines, [true], `at ${width}`);
      assert.match(await commands.textContent(), /--out head\nisocenter stream head/);
    }
  },

  async 'first day: a simulated scan begins where the node allows it; a refusal is said in its words'({ page, open, server, allow }) {
    firstDay(server);
    await open('#/');
    await shown(page.getByText('No room has sent an acquisition yet'));
    const start = page.getByRole('button', { name: 'Start a simulated scan' });
    assert.equal(await start.count(), 0);
    server.simulatedScans = true;
    server.send('status', server.status());
    await shown(start);
    allow(/409/);
    server.simulatedScans = false;
    await start.click();
    await shown(page.getByRole('alert').getByText('web.simulated_scans is false'));
    server.simulatedScans = true;
    await start.click();
    await shown(page.getByRole('heading', { name: 'simulator fdk' }));
    await shown(page.getByRole('meter', { name: 'Arm' }));
    assert.deepEqual(server.changes, ['POST simulations', 'POST simulations']);
  },

  async 'a crowd: fifty rooms, five hundred jobs, the longest names'({ page, open, server }) {
    crowd(server);
    await open('#/');
    await eventually('cards of what is active or failed', async () => {
      const cards = await page.locator('.room').count();
      return (cards >= 16 && cards < 30) || cards;
    });
    const lines = page.getByRole('list', { name: 'Idle rooms' }).getByRole('listitem');
    assert.equal(await page.locator('.room').count() + await lines.count(), 50);
    await noWiderThan(page, 1280, 'the overview');
    const active = page.locator('section', { has: page.locator('#active') }).locator('tbody tr');
    await eventually('sixteen active jobs', async () => (await active.count()) === 16 || active.count());
    await open('#/jobs');
    const rows = page.locator('tbody tr');
    for (let i = 0; i < 9; i += 1) {
      await eventually('fifty jobs', async () => (await rows.count()) === 50);
      await noWiderThan(page, 1280, `page ${i + 1} of the jobs`);
      const first = await rows.first().getAttribute('data-job');
      await page.getByRole('button', { name: 'Older' }).click();
      await eventually('the next fifty', async () => (await rows.first().getAttribute('data-job')) !== first);
    }
    assert.equal(await page.getByRole('button', { name: 'Older' }).isDisabled(), true);
    await page.getByLabel('State').selectOption('failed');
    await eventually('failed ones', async () => (await rows.count()) === 21 || rows.count());
    assert.equal(await page.getByRole('button', { name: 'Older' }).count(), 0, 'all are on one page');
    await shown(rows.first().getByText('the disk is full'));
    await rows.first().getByRole('link').click();
    await shown(page.locator('.problem').getByText(/needed in .*_SUITE_07/));
    await noWiderThan(page, 1280, 'a job');
  },

  async 'deleted by somebody else: the job that is looked at says so'({ page, open, server, allow }) {
    allow(/404/);
    await open(job(DONE));
    await shown(pane(page, 'axial'));
    server.jobs.delete(DONE);
    server.send('job_removed', { job_id: DONE });
    await shown(page.getByText(`Job ${DONE} was deleted`));
    await page.getByRole('link', { name: 'All jobs' }).click();
    await shown(page.getByRole('heading', { name: 'Jobs' }));
  },

  async 'a volume that is no longer stored: its planes say why they are black'({ page, open, server, allow }) {
    allow(/404/);
    const why = `job '${DONE}' has no stored volume`;
    server.volumes.describe = () => { throw new Refusal(404, 'NOT_FOUND', why); };
    await open(job(DONE));
    await eventually('three planes with the reason', async () => (await page.locator('.pane .waiting', { hasText: why }).count()) === 3);
  },

  async 'cures: what is wrong has a way to what to do about it'({ page, open, server }) {
    const history = server.history;
    server.history = (...asked) => {
      const sampled = history(...asked);
      sampled.refused[3] = 2;
      sampled.last_refusals = ['2026-03-01T09:30:05.123Z', '2026-03-01T09:29:05.123Z', '2026-02-28T09:29:05.123Z'].map(
        (time) => ({ time, station_name: 'Zeego left', code: 'RESOURCE_EXHAUSTED', message: '1 place among the active jobs is needed; 0 are free of 16' }),
      );
      return sampled;
    };
    server.draining = { since: new Date().toISOString(), reason: 'new filter in room 2', by: 'ward 3' };
    await open('#/');
    await shown(page.getByRole('article', { name: 'Device cuda1' }).locator('a[href="docs/runbook.html#isocenterdevicequarantined"]'));
    await shown(page.getByText('2 acquisitions were refused in this time'));
    const refusals = page.getByRole('list', { name: 'Last refusals' }).getByRole('listitem');
    await eventually('both refusals', async () => (await refusals.count()) === 2);
    await shown(refusals.getByText('Zeego left: '));
    await shown(link(page, 'runbook.html#isocenterrefusing'));
    await open('#/node');
    await shown(page.locator('.reasons').locator('a[href="docs/user-guide/operator.html#take-a-node-out-of-service"]'));
    await open('#/dicom');
    const workstation = page.getByRole('article', { name: 'Destination WORKSTATION' });
    await shown(workstation.locator('a[href="docs/runbook.html#isocenterdicomsendfailed"]'));
    server.retry({ destination: 'WORKSTATION' });
    await shown(workstation.getByText('Stuck'));
    await shown(workstation.locator('a[href="docs/runbook.html#isocenterdicomqueuestuck"]'));
    await open(job(FAILED));
    await shown(page.locator('.problem').locator('a[href="docs/troubleshooting.html#a-job-fails"]'));
    await open(job(DONE, 'details'));
    await shown(link(page, 'troubleshooting.html#warnings-to-the-room'));
    await page.getByRole('button', { name: 'Help' }).click();
    const read = page.getByRole('dialog').getByRole('list', { name: 'Documentation' }).getByRole('link');
    await eventually('five pages to read', async () => (await read.count()) === 5 || read.count());
    const opened = page.context().waitForEvent('page');
    await read.first().click();
    await (await opened).waitForURL(/\/docs\/user-guide\/at-the-arm\.html$/);
  },

  async 'refinements: what applies to them, live and afterwards'({ page, open }) {
    await open('#/');
    const row = page.locator('section', { has: page.locator('#active') }).locator(`tr[data-job="${REFINING}"]`);
    await shown(row.getByText('6 / 20 iterations'));
    assert.match(await row.locator('td').nth(4).textContent(), /^in \d+\u202fs$/);
    await shown(page.locator(`tr[data-job="${LIVE}"]`).getByText('29.8'));
    const recent = page.locator('section', { has: page.locator('#recent') });
    await shown(recent.locator(`tr[data-job="${REFINED}"]`).getByText('20 iterations'));
    await open(job(REFINING));
    await shown(page.locator('.job-state').getByText(/finishes in/));
    for (const id of [REFINED, SUBTRACTED]) {
      await open(job(id, 'details'));
      await shown(page.getByRole('heading', { name: 'Acquisition' }));
      assert.equal(await page.getByText('Speed, kernel').count(), 0, 'what does not apply is not shown as unknown');
    }
    await open(job(REFINED, 'details'));
    await shown(page.getByText('Relative residual'));
  },

  async 'the largest volume: a few planes of 2 GiB are loaded'({ page, open, server }) {
    large(server, DONE);
    await open(job(DONE));
    for (const axis of ['axial', 'coronal', 'sagittal']) await eventually(axis, async () => (await pane(page, axis).getAttribute('data-level')) === '1');
    await shown(pane(page, 'axial').locator('.hu', { hasText: 'HU' }));
    const opening = server.requests.sliceBytes;
    assert.ok(opening <= 24 * 2 ** 20, `${opening} bytes to open it`);
    await pane(page, 'axial').focus();
    for (let i = 0; i < 10; i += 1) await page.keyboard.press('PageUp');
    await eventually('the hundredth slice from the middle', async () =>
      (await pane(page, 'axial').getAttribute('aria-valuenow')) === '612' && (await pane(page, 'axial').getAttribute('data-level')) === '1');
    const { sliceBytes } = server.requests;
    assert.ok(sliceBytes <= 96 * 2 ** 20, `${sliceBytes} bytes for a hundred slices`);
  },

  async 'viewer: its tools hold their places with one, two and four volumes'({ page, open }) {
    for (const size of [{ width: 1280, height: 800 }, { width: 1920, height: 1080 }]) {
      await page.setViewportSize(size);
      await open(job(MASK));
      await page.reload();
      await shown(pane(page, 'axial', MASK));
      const only = page.getByLabel('Mask', { exact: true });
      assert.equal(await only.isDisabled(), true, 'the last volume stays');
      const places = () => page.locator('.viewer-tools > .group:not(.volumes), .panes').evaluateAll((groups) =>
        groups.map((group) => group.getBoundingClientRect()).map(({ left, top }) => [Math.round(left), Math.round(top)]));
      const one = await places();
      assert.equal(new Set(one.slice(0, -1).map(([, top]) => top)).size, 1, `the tools are in one row at ${size.width}: ${JSON.stringify(one)}`);
      for (const names of [['Fill'], ['Subtracted', 'Refined: OS-SART, 5 iterations']]) {
        for (const name of names) await page.getByLabel(name, { exact: true }).check();
        assert.deepEqual(await places(), one, `at ${size.width} with ${names}`);
        await noWiderThan(page, size.width, 'the viewer');
      }
      await eventually('four volumes', async () => (await page.locator('.pane[data-level="0"]').count()) === 4);
      // A difference has a window of its own, which its pane says.
      await shown(page.locator('.pane', { hasText: 'Subtracted' }).getByText('W 600'));
      await shown(pane(page, 'axial', MASK).getByText('W 400'));
    }
  },

  async 'plots: what their curves are stands in one line'({ page, open }) {
    for (const width of [1280, 1440, 1920]) {
      await page.setViewportSize({ width, height: 900 });
      await open('#/');
      await page.reload();
      await shown(page.locator('.plots .plot canvas').first());
      const lines = await page.locator('.plots .plot figcaption').evaluateAll((captions) =>
        captions.map((caption) => [caption.textContent, new Set([...caption.children].map((part) => Math.round((part.getBoundingClientRect().top + part.getBoundingClientRect().bottom) / 8))).size]));
      assert.ok(lines.length >= 6, `${lines.length} plots`);
      for (const [text, count] of lines) assert.equal(count, 1, `${text} at ${width}`);
    }
  },

  async 'names in any script or of HTML are shown as they are; ages are by the clock of the node, three days ahead'({ page, open, server }) {
    odd(server);
    await open('#/');
    await shown(page.getByText('Live', { exact: true }));
    await shown(page.getByRole('heading', { name: '<img src=x onerror=alert(1)>' }));
    assert.equal(await page.locator('main img').count(), 0);
    const active = page.locator('section:has(#active) tbody tr').first();
    await eventually('an age of seconds', async () => /^\d+.(s|min.*)$/.test(await active.locator('[data-label="Runs for"]').textContent()) || active.locator('[data-label="Runs for"]').textContent());
    for (const width of [390, 768, 1280, 2560]) {
      await page.setViewportSize({ width, height: 900 });
      for (const hash of ['#/', '#/jobs', '#/dicom']) {
        await open(hash);
        await shown(page.locator('main h1'));
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.equal(over, 0, `${hash} is ${over} pixels too wide at ${width}`);
      }
    }
    assert.deepEqual(await violations(page), []);
  },
};
