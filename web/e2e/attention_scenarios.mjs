// What is seen without looking for it: broken streams, volumes that do not arrive, tests that were not passed; and many tabs at once.
import assert from 'node:assert/strict';
import { violations } from './axe.mjs';
import { DONE, LIVE, eventually, job, shown } from './helpers.mjs';
import { fixtureJobs } from './worlds.mjs';

const FAILED = '20260301T085000-fail0008';

// The browser believes that its user looks at another tab.
const hide = (page, hidden) => page.evaluate((to) => {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => to });
  document.dispatchEvent(new Event('visibilitychange'));
}, hidden);

const bottomOf = async (locator) => {
  const { y, height } = await locator.boundingBox();
  return y + height;
};

export const attentionScenarios = {
  // HTTP/1.1: six connections to one server, whatever the number of tabs.
  async 'eight tabs: those in the background hold no stream, and catch up when they are looked at'({ page, open, server }) {
    await open('#/');
    await shown(page.getByRole('article', { name: 'Room AXIOM-2' }));
    const tabs = [page];
    for (let i = 1; i < 8; i += 1) {
      await hide(tabs.at(-1), true);
      const next = await page.context().newPage();
      await next.goto(page.url());
      await shown(next.getByRole('article', { name: 'Room AXIOM-2' }).getByText('Scanning'));
      await shown(next.getByText('Live', { exact: true }));
      tabs.push(next);
    }
    await eventually('one stream', () => server.streams.size === 1 || server.streams.size);
    server.change(LIVE, { progress: { frames_received: 301 } });
    await hide(tabs.at(-1), true);
    await hide(page, false);
    await shown(page.locator(`tr[data-job="${LIVE}"]`).getByText('301 / 400 frames received'));
    await shown(page.getByText('Live', { exact: true }));
    await eventually('one stream', () => server.streams.size === 1 || server.streams.size);
  },

  async 'overview: destinations that are stuck and tests that were not passed are on the first screen, with a way to each'({ page, open, server }) {
    for (const viewport of [{ width: 1280, height: 800 }, { width: 390, height: 844 }]) {
      await page.setViewportSize(viewport);
      await open('#/');
      const attention = page.getByRole('region', { name: 'Needs attention' });
      await shown(attention.getByText('association refused: called AE title not recognized'));
      await shown(attention.getByRole('listitem').filter({ hasText: /84 instances failed/ }).locator('a[href="docs/runbook.html#isocenterdicomsendfailed"]'));
      await shown(attention.getByText(/^Calibration set angio-2026-01 of Angio1R+: expires in 5 days, .*no other follows it/));
      assert.equal(await attention.getByText('zeego').count(), 0, 'another set follows');
      await shown(attention.getByText(/was not passed.*Noise.*24\.1.*20\.3 ±2\.0/i));
      assert.equal(await attention.getByText('DICOM destination PACS').count(), 0, 'it takes what waits');
      assert.equal(await attention.getByText('DICOM destination CLOUD').count(), 0);
      const bottom = await bottomOf(attention);
      assert.ok(bottom <= viewport.height, `it ends at ${bottom} of ${viewport.height} pixels`);
    }
    await page.getByRole('link', { name: 'DICOM destination WORKSTATION' }).click();
    await eventually('of this destination alone', async () => (await page.locator('.filters select').first().inputValue()) === 'WORKSTATION');
    await page.goBack();
    await page.getByRole('link', { name: /^Test of Angio1R+, head_soft$/ }).click();
    await shown(page.getByRole('heading', { name: /^Angio1R+, head_soft$/ }));
    assert.equal(await page.locator('.series').count(), 1, 'of this room alone');
    await page.getByRole('link', { name: 'All rooms' }).click();
    await shown(page.getByRole('heading', { name: 'Zeego left, head_soft' }));
    await open('#/');
    await page.getByRole('link', { name: 'Calibration set angio-2026-01' }).click();
    await eventually('the focus on its row', async () => (await page.evaluate(() => document.activeElement.textContent)) === 'angio-2026-01');
    // Where all is well there is nothing.
    server.calibrations = [];
    server.quality = server.quality.map((result) => ({ ...result, passed: result.baseline ? null : true }));
    server.transfers = [];
    server.jobs.delete(FAILED);
    await open('#/');
    await page.reload();
    await shown(page.getByRole('article', { name: 'Room AXIOM-2' }));
    await eventually('nothing needs attention', async () => (await page.locator('.attention').count()) === 0);
  },

  async 'a volume that may be wrong is told from a good one wherever its job is named, aloud, and before it is sent'({ page, open, server }) {
    const kinds = ['frame_gap', 'air_level', 'saturated_detector'];
    const warnings = [
      { kind: 'frame_gap', frame_index: 17, text: 'frame 17 is missing and is blended' },
      { kind: 'air_level', frame_index: null, text: 'the rows end at 41000 counts in air, where i0_counts is 60000' },
      { kind: 'saturated_detector', frame_index: 3, text: '47.0 % of the pixels are saturated at 65535 counts' },
    ];
    server.detailOver = { warnings };
    await open('#/');
    await shown(page.locator(`tr[data-job="${LIVE}"]`));
    server.change(LIVE, { state: 'completed', end_time: new Date().toISOString(), result: server.jobs.get(DONE).result, warning_count: 3, warning_kinds: kinds, progress: { frames_received: 400 } });
    await page.getByRole('log', { name: 'What has failed' }).getByText('Scan of AXIOM-2, head_soft, accession no. A1234: completed. Its volume may be wrong: air level, saturated detector.').waitFor({ state: 'attached' });
    const attention = page.getByRole('region', { name: 'Needs attention' });
    await shown(attention.getByText(/The volume of AXIOM-2, head_soft, .* may be wrong: air level, saturated detector/));
    await shown(attention.locator('a[href="docs/user-guide/at-the-arm.html#a-volume-that-may-be-wrong"]'));
    await shown(page.getByRole('article', { name: 'Room AXIOM-2' }).getByText('may be wrong'));
    await shown(page.getByRole('article', { name: 'Room AXIOM-2' }).getByText('frame gap, air level, saturated detector'));
    for (const width of [390, 1280, 2560]) {
      await page.setViewportSize({ width, height: 800 });
      const parts = await page.getByRole('article', { name: 'Room AXIOM-2' }).evaluate((card) => [card.getBoundingClientRect().right, card.querySelector('.last-job time').getBoundingClientRect().right]);
      assert.ok(parts[1] < parts[0], `${width}: the time ends at ${parts[1]}, its card at ${parts[0]}`);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await shown(page.locator(`tr[data-job="${LIVE}"]`).getByText('Completed, may be wrong'));
    // Frames that were bridged say nothing against a volume.
    await shown(page.locator(`tr[data-job="${DONE}"]`).getByText(/^.?Completed$/));
    assert.deepEqual(await violations(page, { contrast: true }), []);
    await open('#/jobs');
    await shown(page.locator(`tr[data-job="${LIVE}"]`).getByText('Completed, may be wrong'));
    await attention.waitFor({ state: 'detached' });
    await page.locator(`tr[data-job="${LIVE}"]`).getByRole('link').click();
    await eventually('the title', async () => /^! AXIOM-2 head_soft/.test(await page.title()) || page.title());
    const banner = page.getByRole('region', { name: 'Why this volume may be wrong' });
    await shown(banner.getByText('Another exposure helps with less dose.'));
    const measured = banner.getByText(/47\.0 % of the pixels are saturated/);
    assert.equal(await measured.isVisible(), false, 'for who asks');
    await banner.getByText('What was measured').click();
    await shown(measured);
    assert.deepEqual(await violations(page, { contrast: true }), []);
    assert.equal(await banner.getByText(/frame 17/).count(), 0);
    for (const kind of ['air-level', 'saturated-detector']) await shown(banner.locator(`a[href="docs/user-guide/at-the-arm.html#${kind}"]`));
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await shown(dialog.getByText(/^AXIOM-2, head_soft, /));
    await shown(dialog.getByText('This volume may be wrong.'));
    await shown(dialog.getByText(/^Another exposure helps only where a filter/));
    await page.keyboard.press('Escape');
    await open('#/jobs?text=AXIOM');
    await page.getByRole('button', { name: 'Send these' }).click();
    await shown(page.getByRole('dialog').getByText('1\u202fvolume of these may be wrong:'));
    await page.keyboard.press('Escape');
    // Until a later scan of the same order went well: that of another patient mends nothing.
    const other = { ...server.jobs.get(LIVE), job_id: '20260301T093400-other011', accession_number: 'A-OTHER', create_time: new Date().toISOString(), warning_count: 0, warning_kinds: [] };
    server.jobs.set(other.job_id, other);
    server.send('job', other);
    server.change(LIVE, { accession_number: 'A-MEANT' });
    await open('#/');
    await shown(page.locator(`tr[data-job="${other.job_id}"]`));
    await shown(attention.getByText(/accession no\. A-MEANT\) may be wrong/));
    const good = { ...server.jobs.get(LIVE), job_id: '20260301T093500-good0012', create_time: new Date().toISOString(), warning_count: 0, warning_kinds: [] };
    server.jobs.set(good.job_id, good);
    server.send('job', good);
    await open('#/');
    await shown(page.locator(`tr[data-job="${good.job_id}"]`));
    await eventually('no more', async () => (await attention.getByText('may be wrong').count()) === 0);
  },

  async 'attention: a scan that failed says that there is no volume, of which order, and what to do, until it is acknowledged or another went well'({ page, open, server }) {
    server.jobs.set(FAILED, { ...server.jobs.get(FAILED), accession_number: 'A-FAILED' });
    await open('#/');
    const attention = page.getByRole('region', { name: /needs attention/i });
    const failed = attention.getByText(/^The scan of Zeego left, head_soft, .* \(accession no\. A-FAILED\) has no volume: 37 of 400 frames never came/);
    await shown(failed);
    await shown(failed.locator('a[href="docs/user-guide/at-the-arm.html#a-scan-that-failed"]'));
    assert.deepEqual(await violations(page, { contrast: true }), []);
    await attention.getByRole('button', { name: /^Acknowledge: failed scan of Zeego left/ }).click();
    await eventually('it is folded away', async () => !(await failed.isVisible()));
    await attention.getByText(/acknowledged, in this browser only$/).click();
    await attention.getByRole('button', { name: /^Call again: failed scan of Zeego left/ }).click();
    await shown(failed);
    const again = { ...server.jobs.get(DONE), job_id: '20260301T093700-again014', accession_number: 'A-FAILED', create_time: new Date().toISOString(), warning_count: 0, warning_kinds: [] };
    server.jobs.set(again.job_id, again);
    server.send('job', again);
    await eventually('another one stands for it', async () => (await failed.count()) === 0);
  },

  async 'what is acknowledged calls no more in this browser, is still to be found, and calls again when something new happens'({ page, open, server }) {
    const doubt = (kinds) => server.change(LIVE, { state: 'completed', end_time: new Date().toISOString(), result: server.jobs.get(DONE).result, warning_count: kinds.length, warning_kinds: kinds });
    await open('#/');
    await shown(page.locator(`tr[data-job="${LIVE}"]`));
    doubt(['air_level']);
    const attention = page.getByRole('region', { name: /needs attention/i });
    const volume = attention.getByText(/The volume of AXIOM-2, head_soft/);
    await shown(volume);
    await shown(attention.getByText(/Calibration set angio-2026-01/));
    const folded = attention.getByText(/acknowledged, in this browser only$/);
    assert.equal(await folded.count(), 0);
    // Whether a destination is stuck again could not be told.
    assert.equal(await attention.getByRole('button', { name: /DICOM/ }).count(), 0);
    await attention.getByRole('button', { name: /^Acknowledge: volume of AXIOM-2, head_soft/ }).press('Enter');
    await shown(folded);
    assert.equal(await volume.isVisible(), false);
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Needs attention', 'the focus stays nearby');
    await page.getByRole('log').getByText(/^Acknowledged, in this browser only: volume of AXIOM-2/).waitFor({ state: 'attached' });
    await page.reload();
    await shown(folded);
    assert.equal(await volume.isVisible(), false, 'after a reload, too');
    await folded.click();
    await shown(volume);
    assert.deepEqual(await violations(page, { contrast: true }), []);
    await attention.getByRole('button', { name: /^Call again: volume of AXIOM-2/ }).click();
    await eventually('it calls again', async () => (await folded.count()) === 0);
    await attention.getByRole('button', { name: /^Acknowledge: volume of AXIOM-2/ }).click();
    await shown(folded);
    doubt(['air_level', 'saturated_detector']);
    await shown(attention.getByText(/The volume of AXIOM-2, head_soft, .* may be wrong: air level, saturated detector/));
    // Where all is acknowledged, the heading says so, and what it is stays.
    server.transfers = [];
    await page.reload();
    await shown(attention.getByText(/Calibration set angio-2026-01/));
    const buttons = attention.getByRole('button', { name: /^Acknowledge: / });
    // What lasts comes when the browser has nothing else to do.
    await eventually('all acknowledged', async () => {
      if ((await buttons.count()) > 0) await buttons.first().click();
      return attention.getByRole('heading', { name: 'Nothing new needs attention' }).isVisible();
    });
    await shown(folded);
  },

  async 'refused acquisitions: of which room and why, on the first screen, until the room gets a job'({ page, open, server }) {
    const history = server.history;
    const at = (minutes) => new Date(Date.now() - 60_000 * minutes).toISOString();
    server.history = (...asked) => ({ ...history(...asked), last_refusals: [
      { time: at(1), station_name: 'Zeego left', code: 'NOT_FOUND', message: "there is no protocol 'head_sfot'" },
      { time: at(2), station_name: 'Zeego left', code: 'NOT_FOUND', message: 'the one before' },
      { time: at(3), station_name: 'AXIOM-1', code: 'RESOURCE_EXHAUSTED', message: 'as many minutes ago as another room' },
      { time: at(30), station_name: 'Old', code: 'RESOURCE_EXHAUSTED', message: 'long ago' },
    ] });
    await open('#/');
    const attention = page.getByRole('region', { name: 'Needs attention' });
    await shown(attention.getByText(/^An acquisition of Zeego left was refused, .*: there is no protocol 'head_sfot'/));
    await shown(attention.locator('a[href="docs/runbook.html#isocenterrefusing"]'));
    for (const text of ['the one before', 'long ago']) assert.equal(await attention.getByText(text).count(), 0, text);
    const scan = { ...server.jobs.get(LIVE), job_id: '20260301T093600-next0013', station_name: 'Zeego left', create_time: new Date().toISOString() };
    server.jobs.set(scan.job_id, scan);
    server.send('job', scan);
    await eventually('it is no matter any more', async () => (await attention.getByText(/Zeego left was refused/).count()) === 0);
  },

  async 'a broken stream: lists and the job say that it waits for its console, and until when'({ page, open, server }) {
    await open('#/');
    await shown(page.locator(`tr[data-job="${LIVE}"]`));
    assert.equal(await page.locator('.console-wait').count(), 0);
    const until = new Date(Date.now() + 95_000);
    const clock = [until.getHours(), until.getMinutes(), until.getSeconds()].map((n) => String(n).padStart(2, '0')).join(':');
    server.change(LIVE, { awaits_console_until_time: until.toISOString(), accession_number: 'A-17' });
    await page.getByRole('log', { name: 'What has failed' }).getByText(`Scan of AXIOM-2, head_soft, accession no. A-17: the connection to the console is broken. The scan waits for it until ${clock}.`).waitFor({ state: 'attached' });
    const waits = new RegExp(`Waits for its console until ${clock}, .* left`);
    await shown(page.locator(`tr[data-job="${LIVE}"]`).getByText(waits));
    await shown(page.getByRole('article', { name: 'Room AXIOM-2' }).getByText('No console'));
    await shown(page.getByRole('article', { name: 'Room AXIOM-2' }).getByText('accession no. A-17'));
    await shown(page.locator(`tr[data-job="${LIVE}"]`).getByText('No console'));
    await open('#/jobs');
    await shown(page.locator(`tr[data-job="${LIVE}"]`).getByText(waits));
    await open('#/node');
    await shown(page.getByRole('row').filter({ hasText: waits }));
    await open(job(LIVE));
    await shown(page.getByRole('alert').getByText(`Until ${clock} the scan waits for the console`));
    await shown(page.getByText('the patient stays'));
    await page.getByText('From the command line').click();
    await shown(page.getByText(`isocenter stream --resume ${LIVE}`));
    await shown(page.locator('.job-heading').getByText('No console'));
    assert.deepEqual(await violations(page, { contrast: true }), []);
    server.change(LIVE, { awaits_console_until_time: null });
    await eventually('the notice goes', async () => (await page.getByText(/the scan waits for the console/).count()) === 0);
  },

  async 'where a volume is stands on its room’s card and at the top of its job, soon after it has arrived'({ page, open, server }) {
    const [id] = fixtureJobs(server, 1, { station_name: 'Angio-9', create_time: new Date().toISOString() });
    const instances = { total: 96, queued: 96, sending: 0, sent: 0, committed: 0, failed: 0, skipped: 0 };
    const sending = () => server.transfers.unshift({ ...server.transfers[0], job_id: id, destination: 'PACS', state: 'queued', instances: { ...instances } });
    const arrives = () => Object.assign(server.transfers[0].instances, { queued: 0, sent: 96 });
    const places = [['#/', page.getByRole('article', { name: 'Room Angio-9' })], [job(id), page.locator('.job-heading')]];
    for (const [place, part] of places) {
      sending();
      await open(place);
      await shown(part.getByText('not yet at PACS'));
      // Once more, so that it is not the first answer that tells.
      await page.waitForTimeout(2_500);
      arrives();
      const since = Date.now();
      await shown(part.getByText('sent to PACS'));
      assert.ok(Date.now() - since < 30_000, 'no event tells it');
      server.transfers.shift();
    }
  },

  async 'DICOM: what is sent is named by room, protocol and time, its id below'({ page, open, server }) {
    server.transfers.push({ ...server.transfers[0], job_id: '20200101T000000-deleted1', state: 'sent' });
    await open('#/dicom');
    const row = page.locator(`tr[data-transfer="${DONE} WORKSTATION"]`);
    await shown(row.getByRole('link', { name: /^AXIOM-1, head_soft, (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d$/ }));
    await shown(row.getByText(DONE));
    await shown(row.getByText(`accession no. ${server.jobs.get(DONE).accession_number}`));
    await shown(page.getByRole('link', { name: '20200101T000000-deleted1' }));
  },

  async 'rooms: a scan that was broken off stays on the card, with what became of it, while the room goes on'({ page, open, server }) {
    const live = server.jobs.get(LIVE);
    const broken = { ...live, job_id: '20260301T092500-brok0011', create_time: new Date(Date.now() - 300_000).toISOString(), predicted_finish_time: new Date(Date.now() - 200_000).toISOString(), awaits_console_until_time: new Date(Date.now() + 600_000).toISOString() };
    server.jobs.set(broken.job_id, broken);
    await open('#/');
    const card = page.getByRole('article', { name: 'Room AXIOM-2' });
    await shown(card.getByText('Scanning'));
    await shown(card.getByText(/Waits for its console until/));
    await shown(card.getByRole('link', { name: /^Scan of / }));
    const row = page.locator(`tr[data-job="${broken.job_id}"]`);
    await shown(row);
    for (const label of ['Frames/s', 'Finish']) assert.equal(await row.locator(`[data-label="${label}"]`).textContent(), '–', label);
    assert.deepEqual(await violations(page), []);
    server.change(broken.job_id, { state: 'failed', awaits_console_until_time: null, end_time: new Date().toISOString(), error: { code: 'ABORTED', message: 'the console did not come back within 600 s' } });
    await shown(card.getByText('the console did not come back within 600 s'));
    await shown(card.locator('.broken-off').getByText('Failed'));
    await shown(card.getByText('Scanning'));
    await card.getByRole('link', { name: /^Scan of / }).click();
    await shown(page.getByText('the console did not come back within 600 s'));
    assert.match(page.url(), /brok0011/);
  },

  async 'charts: samples of a young service fill them; at a gap there is no value; the last one has its time'({ page, open, server }) {
    const now = Math.floor(Date.now() / 10_000) * 10;
    // 200 s, of which the middle is missing.
    const time = Array.from({ length: 21 }, (_, i) => now - 200 + 10 * i).filter((at) => at < now - 140 || at > now - 60);
    const all = (value) => time.map(() => value);
    server.history = () => ({
      step_seconds: 10, time, frames_per_second: all(29), megabytes_per_second: all(152), kernel_gups: time.map((_, i) => (i === 1 ? 321 : null)), whole_gups: all(null),
      seconds_after_last_frame: all(null), active_jobs: all(1), queue_chunks: all(0), completed_jobs: all(0), failed_jobs: all(0), refused: all(0), last_refusals: [],
    });
    await open('#/');
    const speed = page.locator('.plot', { has: page.getByText('Speed', { exact: true }) });
    await speed.scrollIntoViewIfNeeded();
    await shown(speed.getByText(/321.GUPS/));
    await shown(speed.getByText(/^at \d\d:\d\d$/));
    const frames = page.locator('.plot', { has: page.getByText('Frames received', { exact: true }) });
    await shown(frames.getByText(/^at \d\d:\d\d$/));
    const { x, y, width, height } = await frames.locator('.u-over').boundingBox();
    const point = (part) => page.mouse.move(x + part * width, y + height / 2);
    await point(0.02);
    await shown(frames.getByText(/29\.0.frames/));
    await shown(frames.getByText(/^\d\d:\d\d:\d\d$/));
    await point(0.5);
    await shown(frames.locator('.legend .numbers').getByText('–', { exact: true }));
    await page.mouse.move(0, 0);
    await shown(frames.getByText(/29\.0.frames/));
    assert.deepEqual(await violations(page), []);
  },
};
