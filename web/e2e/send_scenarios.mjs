// Many volumes at once, to a destination that has lost them.
import assert from 'node:assert/strict';
import { violations } from './axe.mjs';
import { DONE, eventually, shown } from './helpers.mjs';
import { fixtureJobs } from './worlds.mjs';

const dialogOf = (page) => page.getByRole('dialog', { name: 'Send volumes' });

async function ask(page) {
  await page.getByRole('button', { name: 'Send these' }).click();
  const dialog = dialogOf(page);
  await shown(dialog.getByRole('button', { name: /^Send \d+ volume/ }));
  return dialog;
}

export const sendScenarios = {
  async 'send many: what the list is filtered for, by keys alone; who was refused is named'({ page, open, server, allow }) {
    allow(/409/);
    const ids = fixtureJobs(server, 4, { station_name: 'Angio-9', protocol: 'day' });
    server.refusedSends.add(ids[1]);
    await open('#/jobs?station_name=Angio-9');
    const button = page.getByRole('button', { name: 'Send these' });
    await button.focus();
    await page.keyboard.press('Enter');
    const dialog = dialogOf(page);
    await shown(dialog.getByRole('status').getByText('4 volumes of completed jobs of room Angio-9.'));
    await eventually('the destination has the focus', () => page.evaluate(() => document.activeElement.tagName === 'SELECT'));
    assert.deepEqual(await violations(page, { within: 'dialog', contrast: true }), []);
    assert.ok(await dialog.getByRole('checkbox', { name: 'Send again what it has' }).isChecked());
    await dialog.getByLabel('Destination').selectOption('WORKSTATION');
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Send 4 volumes' }).focus();
    await page.keyboard.press('Enter');
    await shown(dialog.getByText('3 volumes went into the queue of WORKSTATION.'));
    await shown(dialog.getByText('1 volume could not be sent:'));
    await shown(dialog.getByRole('listitem').getByText(/nothing of job .* is stored/));
    await shown(dialog.getByRole('link', { name: /^Angio-9, day, / }));
    assert.deepEqual(await violations(page, { within: 'dialog', contrast: true }), []);
    assert.equal(server.orders.length, 4);
    assert.ok(server.orders.every((order) => order.order === 'send' && order.again && order.destination === 'WORKSTATION'));
    await page.getByRole('log', { name: 'What has failed' }).getByText(/1 volume could not be sent/).waitFor({ state: 'attached' });
    server.refusedSends.clear();
    await dialog.getByRole('button', { name: 'Send the other 1' }).click();
    await shown(dialog.getByText('1 volume went into the queue of WORKSTATION.'));
    await eventually('Close has the focus', () => page.evaluate(() => document.activeElement.textContent === 'Close'));
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    await eventually('the focus is back', () => button.evaluate((element) => element === document.activeElement));
  },

  async 'send many: those of a day alone'({ page, open, server }) {
    fixtureJobs(server, 3, { station_name: 'Angio-9', create_time: new Date(2026, 0, 31, 23, 59, 59).toISOString() });
    fixtureJobs(server, 2, { station_name: 'Angio-9', create_time: new Date(2026, 1, 1).toISOString() });
    await open('#/jobs?station_name=Angio-9');
    const dialog = await ask(page);
    await shown(dialog.getByRole('button', { name: 'Send 5 volumes' }));
    await dialog.getByLabel(/Begun on this day/).fill('2026-01-31');
    await shown(dialog.getByRole('status').getByText('3 volumes of completed jobs of room Angio-9, begun on 2026-01-31.'));
    await dialog.getByLabel(/Begun on this day/).fill('2026-01-30');
    await shown(dialog.getByText('0 volumes'));
    assert.ok(await dialog.getByRole('button', { name: 'Send', exact: true }).isDisabled());
    await dialog.getByLabel(/Begun on this day/).fill('2026-01-31');
    await dialog.getByRole('button', { name: 'Send 3 volumes' }).click();
    await shown(dialog.getByText('3 volumes went into the queue of PACS.'));
    assert.equal(server.orders.length, 3);
  },

  async 'send many: stopped, or closed, it sends no more'({ page, open, server }) {
    fixtureJobs(server, 40, { station_name: 'Angio-9' });
    server.sendMs = 300;
    await open('#/jobs?station_name=Angio-9');
    const dialog = await ask(page);
    await dialog.getByRole('button', { name: 'Send 40 volumes' }).click();
    await shown(dialog.getByRole('progressbar', { name: 'Volumes asked for' }));
    assert.deepEqual(await violations(page, { within: 'dialog', contrast: true }), []);
    await eventually('some are sent', () => server.orders.length > 1);
    await dialog.getByRole('button', { name: 'Stop' }).click();
    await shown(dialog.getByText(/volumes? were left out|volume was left out/));
    const stopped = server.orders.length;
    assert.ok(stopped < 40, `${stopped}`);
    await dialog.getByRole('button', { name: `Send the other ${40 - stopped}` }).click();
    await eventually('it goes on', () => server.orders.length > stopped);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    const closed = server.orders.length;
    await new Promise((resolve) => setTimeout(resolve, 1500));
    assert.ok(server.orders.length <= closed + 1, 'no more than the one that was on its way');
  },

  async 'send many: not where nothing can be sent'({ page, open, server }) {
    server.destinations = [];
    await open('#/jobs');
    await shown(page.locator(`tr[data-job="${DONE}"]`));
    await shown(page.getByText('Live', { exact: true }));
    assert.equal(await page.getByRole('button', { name: 'Send these' }).count(), 0);
  },
};
