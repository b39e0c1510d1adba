// What operators and technicians do on the screens. Each scenario has a page of its own against a mock server.
import assert from 'node:assert/strict';
import { GRID, nodes } from './fixtures.mjs';
import { DONE, LIVE, eventually, job, pixels, shown } from './helpers.mjs';
import { fixtureJobs } from './worlds.mjs';

export const screenScenarios = {
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

  async 'overview: jobs that have not been told yet are awaited, not none'({ page, open }) {
    let go;
    const held = new Promise((resolve) => { go = resolve; });
    await page.route(/api\/v1\/jobs\?/, async (route) => {
      await held;
      await route.continue();
    });
    await open('#/');
    await shown(page.getByRole('article', { name: 'Room AXIOM-2' }));
    for (const name of ['Active jobs', 'Last jobs']) await shown(page.getByRole('region', { name }).getByText('Loading', { exact: true }));
    for (const text of ['Nothing to do.', 'No job has ended yet.']) assert.equal(await page.getByText(text).count(), 0, text);
    go();
    await shown(page.getByRole('region', { name: 'Last jobs' }).locator('tbody tr'));
    // The two lists do not come at once.
    await page.getByText('Loading', { exact: true }).first().waitFor({ state: 'hidden' });
  },

  async 'overview: all nodes, also those that do not answer'({ page, open, server }) {
    await open('#/');
    await shown(page.getByRole('heading', { name: 'Rooms' }));
    assert.equal(await page.locator('#nodes').count(), 0, 'one node is no cluster');
    server.nodes = nodes();
    await page.reload();
    const row = (node) => page.locator(`tr[data-node="${node}"]`);
    await shown(row('recon1').getByText('2 of recon3, 1 of a lost node; own at recon2, which is not reached'));
    await shown(row('recon2').getByText('Away'));
    await shown(row('recon2').getByText('it does not answer in time <b>; last seen'));
    await shown(row('recon3').getByText('Not asked'));
  },

  async 'live: events move a job without asking, and it ends'({ page, open, server }) {
    await open('#/');
    const row = page.locator(`tr[data-job="${LIVE}"]`);
    await shown(row);
    const active = page.locator('section', { has: page.locator('#active') }).locator('header');
    await shown(active.getByText(`${server.active().length} of at most 16`));
    server.change(LIVE, { progress: { frames_received: 300 } });
    await shown(row.getByText('300 / 400 frames received'));
    server.change(LIVE, { state: 'reconstructing', frames_per_second: null, progress: { frames_received: 400, frames_backprojected: 390 } });
    await shown(row.getByText('390 / 400 frames back-projected'));
    server.change(LIVE, { state: 'completed', end_time: new Date().toISOString() });
    await eventually('the job is among the last ones', async () =>
      (await page.locator('section', { has: page.locator('#recent') }).locator(`tr[data-job="${LIVE}"]`).count()) === 1);
    await shown(active.getByText(`${server.active().length} of at most 16`));
  },

  async 'gone: says so and since when, keeps what it knew, recovers'({ page, open, server, allow }) {
    allow(/ERR_CONNECTION_REFUSED|ERR_SOCKET_NOT_CONNECTED|ERR_INCOMPLETE|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|network error/i);
    await open('#/');
    await shown(page.getByText('Live', { exact: true }));
    await shown(page.locator(`tr[data-job="${LIVE}"]`));
    await server.stop();
    const alert = page.getByRole('alert');
    await shown(alert.getByText(/has not answered since \d\d:\d\d:\d\d/));
    await shown(page.locator(`tr[data-job="${LIVE}"]`));
    assert.equal(await page.locator('header.bar').getByText('Ready').count(), 0, 'nobody knows whether it is ready');
    await page.getByRole('button', { name: 'Try now' }).click();
    await shown(alert);
    await server.start(server.port);
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
    await page.getByLabel('Room').selectOption('Zeego left');
    await eventually('jobs of one room', async () => (await rows.count()) === 21);
  },

  async 'jobs: what is being typed stays while jobs move'({ page, open, server }) {
    await open('#/jobs');
    const rows = page.locator('tbody tr');
    await eventually('fifty jobs', async () => (await rows.count()) === 50);
    const find = page.getByLabel('Find');
    // A pause long enough, as of a busy machine, and what is there so far is looked for: the job must stay.
    await find.pressSequentially('axio');
    server.change(LIVE, { progress: { frames_received: 301 } });
    await shown(page.locator(`tr[data-job="${LIVE}"]`).getByText('301 / 400 frames received'));
    assert.equal(await find.inputValue(), 'axio');
    await find.pressSequentially('M-2 ');
    await eventually('jobs of one room, without a key more', async () => (await rows.count()) === 25);
    assert.equal(await find.inputValue(), 'axioM-2 ', 'what is typed stays as it is');
    await find.press('Enter');
    assert.match(page.url(), /text=axioM-2/);
    await page.goBack();
    await eventually('all jobs', async () => (await rows.count()) === 50 && (await find.inputValue()) === '');
  },

  async 'jobs: of a day, by its field or typed as what is looked for; by accession number'({ page, open, server }) {
    const noon = (day) => ({ create_time: new Date(2026, 0, day, 12).toISOString(), end_time: new Date(2026, 0, day, 13).toISOString() });
    const [wanted] = fixtureJobs(server, 1, { ...noon(31), accession_number: 'B77-1', station_name: 'Angio-9' });
    fixtureJobs(server, 60, { ...noon(31), accession_number: null });
    fixtureJobs(server, 1, { ...noon(30), accession_number: 'B77-2' });
    await open('#/jobs');
    const rows = page.locator('tbody tr');
    await eventually('fifty jobs', async () => (await rows.count()) === 50);
    await page.getByLabel('Day').fill('2026-01-31');
    await eventually('all of the day', async () => (await rows.count()) === 61 || rows.count());
    assert.equal(await page.getByRole('button', { name: 'Older' }).count(), 0);
    await page.getByLabel('Find').fill('b77');
    await eventually('of the day, by a part of its accession number', async () => (await rows.count()) === 1 || rows.count());
    await shown(rows.first().getByRole('cell', { name: 'B77-1', exact: true }));
    await page.getByRole('button', { name: 'Send these' }).click();
    await shown(page.getByRole('dialog').getByText('1 volume of completed jobs matching “b77”, begun on 2026-01-31.'));
    await page.keyboard.press('Escape');
    await page.getByLabel('Day').fill('');
    await eventually('of any day', async () => (await rows.count()) === 2 || rows.count());
    await page.getByLabel('Find').fill('2026-01-30');
    await eventually('a date that is looked for is a day', async () => (await rows.count()) === 1 || rows.count());
    assert.equal(await page.getByLabel('Day').inputValue(), '2026-01-30');
    await open(job(wanted));
    await shown(page.locator('.job-heading').getByText('accession no. B77-1'));
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await shown(page.getByRole('dialog').getByText('Accession number B77-1'));
  },

  async 'preview: the volume so far, while frames arrive'({ page, open }) {
    await open(job(LIVE));
    await shown(page.getByText('of 160 of 400 frames, brightened accordingly'));
    await eventually('three planes', async () => (await page.locator('.previews canvas').count()) === 3);
    await eventually('a picture', async () => (await pixels(page, '.previews')).mean > 20);
    const soft = (await pixels(page, '.previews')).hash;
    for (const window of ['Bone', 'Full range']) {
      const before = (await pixels(page, '.previews')).hash;
      await page.getByRole('combobox', { name: 'Window' }).selectOption(window);
      await eventually(window, async () => (await pixels(page, '.previews')).hash !== before);
    }
    assert.notEqual((await pixels(page, '.previews')).hash, soft);
  },

  async 'preview: soft tissue is as bright of few frames as of all'({ page, open, server }) {
    const meanOf = async (frames) => {
      server.change(LIVE, { progress: { frames_received: frames, frames_backprojected: frames } });
      await shown(page.getByText(`made of ${frames} of 400 frames`));
      return (await pixels(page, '.previews')).mean;
    };
    await open(job(LIVE));
    const [few, all] = [await meanOf(100), await meanOf(400)];
    assert.ok(Math.abs(few - all) < 4 && all > 20, `${few} of 100 frames, ${all} of all`);
    await page.getByText('brightened').waitFor({ state: 'detached' });
  },

  async 'preview: follows the arm as it turns'({ page, open, server }) {
    await open(job(LIVE));
    const arm = page.getByRole('meter', { name: 'Arm' });
    await eventually('where the arm is', async () => (await arm.getAttribute('aria-valuetext')) === '86° of 200°' || arm.getAttribute('aria-valuetext'));
    server.change(LIVE, { progress: { frames_received: 300, frames_backprojected: 290 } });
    await shown(page.getByText('Arm at 150° of 200°'));
    await shown(page.getByText('of 290 of 400 frames'));
    server.change(LIVE, { state: 'reconstructing', progress: { frames_received: 400 } });
    await arm.waitFor({ state: 'detached' });
  },

  async 'preview: left and right, head and feet as in the viewer, in whatever position the patient lies'({ page, open, server }) {
    const looks = async () => {
      await open(job(LIVE));
      await page.reload();
      await eventually('three planes', async () => (await page.locator('.previews canvas').count()) === 3);
      return page.locator('.previews .pane').evaluateAll((panes) => panes.map((pane) =>
        [getComputedStyle(pane.querySelector('canvas')).scale, ...['left', 'right', 'top', 'bottom'].map((edge) => pane.querySelector(`.${edge}`).textContent)]));
    };
    assert.deepEqual(await looks(), [
      ['none', 'R', 'L', 'A', 'P'], ['1 -1', 'R', 'L', 'H', 'F'], ['1 -1', 'A', 'P', 'H', 'F'],
    ]);
    // Feet first, prone: the volume's x runs to the patient's left as before, y to the front, z to the feet.
    server.detailOver = { grid: { ...GRID, direction: [1, 0, 0, 0, -1, 0, 0, 0, -1] } };
    assert.deepEqual(await looks(), [
      ['1 -1', 'R', 'L', 'A', 'P'], ['none', 'R', 'L', 'H', 'F'], ['-1 1', 'A', 'P', 'H', 'F'],
    ]);
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
    await shown(page.getByRole('article', { name: 'Destination WORKSTATION' }).getByText('workstation.example:104'));
    await shown(page.getByRole('article', { name: 'Destination CLOUD' }).getByText('https://pacs.example.org/dicom-web/studies'));
    const refusals = (of) => page.locator(`tr[data-transfer="${of}"] [data-label="Refusals"]`).textContent();
    assert.equal(await refusals('20260301T092900-done0003 PACS'), '', 'what went well at once was not refused');
    assert.equal(await refusals('20260301T092900-done0003 WORKSTATION'), '2');
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
    // By fingers, too.
    await page.getByRole('button', { name: 'Zoom in' }).click();
    await eventually('closer by the button', async () => (await length()) < whole);
    await page.getByRole('button', { name: 'Zoom out' }).click();
    await eventually('all of it by the button', async () => (await length()) === whole);
    await canvas.hover({ position: { x: 152, y: 62 } });
    await shown(page.locator('.tip').getByText(/preprocess|filter|backproject/));
    await shown(page.getByText('Relative residual'));
  },

  async 'details: parameters, warnings, links to related jobs'({ page, open }) {
    await open(job(DONE, 'details'));
    await shown(page.getByText('The dose of frame 203 is 41 % of the median'));
    await shown(page.getByRole('list', { name: 'Findings' }).getByText(/order and columns are not checked/));
    await shown(page.getByText('120 × 128 × 96'));
    await shown(page.getByText('Refined: OS-SART, 5 iterations, '));
    await shown(page.getByText('199.5°'));
    await page.getByRole('link', { name: '20260301T092200-refd0004' }).click();
    await shown(page.getByText('fdk_then_pwls_tv').first());
    await shown(page.getByText(/ · 20 iterations$/));
    await page.getByRole('link', { name: 'Details', exact: true }).click();
    await shown(page.getByRole('list', { name: 'Findings' }).getByText(/the residual rises/));
  },
};
