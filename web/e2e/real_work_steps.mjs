// What people do on a real server.
import { eventually } from './helpers.mjs';

const cardOf = (page, destination) => page.getByRole('article', { name: `Destination ${destination}` });

export const workSteps = {
  async drain({ page, open }, reason) {
    await open('#/node');
    await page.getByRole('button', { name: 'Drain', exact: true }).click();
    await page.getByLabel(/^Reason/).fill(reason);
    await page.keyboard.press('Enter');
    await page.locator('.reasons').getByText(reason).waitFor();
  },

  async resume({ page, open }) {
    await open('#/node');
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
    await page.locator('header.bar .chip.ok', { hasText: 'Ready' }).waitFor();
  },

  // The newest job, while its frames come.
  async cancel({ page, open, allow }) {
    // The preview may be asked for in the moment in which it goes with its job.
    allow(/404.*\/preview$/);
    await open('#/');
    await page.getByText('Live', { exact: true }).waitFor();
    console.log('waiting');
    await page.locator('tr[data-job]', { hasText: 'Receiving' }).getByRole('link').first().click();
    await page.getByRole('button', { name: 'Cancel job' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel job' }).click();
    await page.locator('.job-state').getByText('Cancelled').waitFor();
  },

  // How a destination's queue looks: down, with its reason.
  async waits({ page, open }, destination) {
    await open('#/dicom');
    await cardOf(page, destination).getByText(/[1-9]\d* waiting/).waitFor();
    // While it is tried again there is no message.
    let message = '';
    await eventually('why it waits', async () => {
      message = await page.locator('tr[data-transfer] .message').first().textContent();
      return message.includes('cannot') || message;
    });
    return { message };
  },

  // What it has refused for good, all of it, and why.
  async refused({ page, open }, destination, instances, reason) {
    await open('#/dicom');
    await cardOf(page, destination).getByText(`${instances} failed`).waitFor();
    const row = page.locator('tr[data-transfer]', { hasText: reason }).first();
    await row.getByText(`${instances} failed`).waitFor();
    return { message: await row.locator('.message').textContent() };
  },

  // What it refused for good is sent again.
  async retry({ page, open }, destination) {
    await open('#/dicom');
    const row = page.locator('tr[data-transfer]').first();
    await row.getByRole('button', { name: 'Retry' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click();
    await cardOf(page, destination).getByText('0 failed').waitFor();
    await cardOf(page, destination).getByText('Nothing waits').waitFor();
    await row.locator('.chip', { hasText: 'Sent' }).waitFor();
    return { instances: await row.locator('td.number').first().textContent() };
  },

  // The server goes while somebody looks, and comes back.
  async gone({ page, open, allow }) {
    allow(/Failed to load resource|ERR_|network error/i);
    await open('#/');
    await page.getByText('Live', { exact: true }).waitFor();
    console.log('waiting');
    const alert = page.getByRole('alert').getByText(/The server has not answered since \d\d:\d\d:\d\d/);
    await alert.waitFor();
    console.log('gone');
    await page.getByText('Live', { exact: true }).waitFor();
    await alert.waitFor({ state: 'detached' });
    await page.locator('tbody tr', { hasText: 'Completed' }).first().waitFor();
  },

  // Who comes with that token, or a certificate where it is empty: his name, and what the page lets him do. What he is said to see,
  // names with commas between them, is waited for; whatever else is there is found too.
  async may({ page, open, allow }, token, active, ended, expected) {
    allow(/401/);
    await open('#/');
    if (token) {
      await page.getByLabel('Access token').fill(token);
      await page.keyboard.press('Enter');
    }
    await page.getByText('Live', { exact: true }).waitFor();
    const buttons = async (hash, what, button) => {
      await open(hash);
      await what.waitFor();
      if (expected.split(',').includes(button)) await page.getByRole('button', { name: button, exact: true }).first().waitFor();
      await page.waitForTimeout(300);
      return page.getByRole('button', { name: /^(Cancel job|Delete job|Drain|Retry)$/ }).allTextContents();
    };
    const found = [
      ...await buttons(`#/jobs/${active}`, page.locator('.job-state').getByText('Receiving'), 'Cancel job'),
      ...await buttons(`#/jobs/${ended}`, page.locator('.job-state').getByText('Completed'), 'Delete job'),
      ...await buttons('#/node', page.getByRole('heading', { name: 'Devices' }), 'Drain'),
      ...await buttons('#/dicom', page.locator('tr[data-transfer]').first(), 'Retry'),
    ];
    const who = await page.locator('.who span').first().textContent();
    await eventually('the queue of DICOM destinations', async () => (await page.locator('tr[data-transfer]').count()) > 0);
    return { who, buttons: found };
  },
};
