// The screen of image quality and calibrations.
import assert from 'node:assert/strict';
import { NOISY } from './quality_fixtures.mjs';
import { DONE, eventually, shown } from './helpers.mjs';

export const qualityScenarios = {
  async 'quality: what is outside is seen at once, the rest when it is asked for'({ page, open }) {
    await open('#/quality');
    const room = page.getByRole('region', { name: /^Angio1/ });
    await shown(room.getByText('2 not passed'));
    const figures = () => room.locator('tbody th').allTextContents();
    assert.deepEqual(await figures(), ['noise, HU', 'distance error, mm']);
    await shown(room.getByRole('row', { name: /noise, HU/ }).getByText('not passed'));
    await shown(room.getByRole('row', { name: /distance error, mm/ }).getByText('not measured'));
    await shown(room.getByRole('img', { name: 'noise, HU: from 20.3 to 24.1' }));
    await room.getByRole('button', { name: 'All 5 figures' }).click();
    await eventually('all figures', async () => (await figures()).length === 5);
    const other = page.getByRole('region', { name: /^Zeego left, / });
    assert.equal(await other.getByRole('button', { name: /^All \d+ figures$/ }).count(), 0, 'all are shown');
    await shown(other.getByText('No baseline'));
    await other.getByRole('link', { name: DONE }).click();
    await eventually('its job', async () => page.url().includes(DONE));
  },

  async 'quality: a scan under other conditions is not compared, and that is said'({ page, open, server }) {
    const why = 'the tube voltage is 120 kV, that of the baseline 90 kV';
    const [newest, ...rest] = server.quality;
    const verdicts = newest.verdicts.map((verdict) => ({ ...verdict, value: verdict.baseline, passed: false, not_comparable: why }));
    server.quality = [{ ...newest, measures: rest[0].measures, verdicts, passed: false, changed_conditions: [why], same_scan_id: rest[0].id }, ...rest];
    await open('#/quality');
    const room = page.getByRole('region', { name: /^Angio1/ });
    await shown(room.getByText('4 not comparable'));
    await shown(room.getByText(why));
    await shown(room.getByText(`the scan of ${rest[0].id} again`));
    await shown(room.getByRole('row', { name: /water, HU/ }).getByText('not comparable'));
    await open('#/');
    await shown(page.getByText(`is not comparable: ${why}`));
    // What is outside is worse than what says nothing.
    server.quality = [{ ...server.quality[0], verdicts: verdicts.map((verdict, i) => (i === 1 ? { ...verdict, not_comparable: null, value: 9 } : verdict)) }, ...rest];
    await page.reload();
    await shown(page.getByText(/was not passed.*water, HU is 9\.00/));
  },

  async 'quality: what is passed but nearly outside, what is not judged and why, and a scan that no set corrected'({ page, open, server }) {
    const [, within, ...rest] = server.quality;
    const verdicts = within.verdicts.map((verdict) => (verdict.name === 'noise_hu' ? { ...verdict, value: 22 } : verdict));
    const measures = { ...within.measures, noise_hu: 22, 'cnr_low-10': 0.9 };
    const conditions = { ...within.conditions, calibration: 'none' };
    server.quality = [{ ...within, measures, conditions, verdicts, untold_conditions: ['tube voltage'], not_judged: [{ name: 'cnr_low-10', why: NOISY }] }, ...rest];
    await open('#/quality');
    const room = page.getByRole('region', { name: /^Angio1/ });
    await shown(room.getByText('Passed, 1 to watch'));
    await shown(room.getByText(/^The frames were not corrected \(no calibration set\): Hounsfield units/));
    await shown(room.getByText(/not compared: tube voltage$/));
    assert.deepEqual(await room.locator('tbody th').allTextContents(), ['noise, HU']);
    await shown(room.getByRole('row', { name: /noise, HU/ }).getByText('passed, watch'));
    assert.ok(!(await room.getByText(NOISY).isVisible()), 'reasons are there before they are asked for');
    await room.getByText('1 figure is not judged: why').click();
    await shown(room.getByText(NOISY));
    await room.getByRole('button', { name: 'All 5 figures' }).click();
    await shown(room.getByRole('row', { name: /CNR low-10/ }).getByText('not judged'));
  },

  async 'quality: what rooms are corrected with, and until when'({ page, open }) {
    await open('#/quality');
    const row = (name) => page.getByRole('row', { name: new RegExp(name) });
    for (const [name, text] of Object.entries({
      'zeego-next': 'Not yet valid', 'zeego-2026-03': /^✓Valid$/, 'angio-2026-01': 'Expires in 5 days', 'angio-geometry-2025': 'Expired', 'zeego-wrong': 'Withdrawn',
    })) await shown(row(name).getByText(text));
    await shown(row('zeego-2026-03').getByText('620 × 480, 2x2-30fps, 90 kV'));
    await shown(row('zeego-2026-03').getByText('response, defects, lag, scatter'));
    await shown(row('zeego-2026-03').getByText('residual 0.400 %'));
  },

  async 'quality: a node that has none says how to begin'({ page, open, server }) {
    server.quality = [];
    server.calibrations = [];
    await open('#/quality');
    await shown(page.getByText('No test has been recorded.'));
    await shown(page.getByText('No set is kept'));
  },

  async 'quality: fits every width'({ page, open }) {
    for (const width of [390, 768, 1280, 2560]) {
      await page.setViewportSize({ width, height: 844 });
      await open('#/quality');
      await shown(page.getByText('Expires in 5 days'));
      const { scrollWidth, clientWidth } = await page.evaluate(() => {
        const { scrollWidth, clientWidth } = document.documentElement;
        return { scrollWidth, clientWidth };
      });
      assert.ok(scrollWidth <= clientWidth, `${scrollWidth} pixels at a width of ${clientWidth}`);
    }
  },
};
