// What opens above the page: that it can be ended and reached in the smallest windows, and has no fault that axe knows, its colours included.
import assert from 'node:assert/strict';
import { DONE, FAILED, LIVE, MASK, eventually, job, pane, shown } from './helpers.mjs';
import { violations } from './axe.mjs';

// Telephones on their side and upright, and a window of 1280x1024 at 400 %.
const SMALL = [[844, 390], [667, 375], [390, 844], [320, 256]];
const WIDTHS = [390, 768, 1280, 2560];

// Every dialog: what opens it.
const DIALOGS = {
  Help: ['#/', 'Help'], Cancel: [job(LIVE), 'Cancel job'], Send: [job(DONE), 'Send'], Refine: [job(DONE), 'Refine'],
  Drain: ['#/node', 'Drain'], Retry: ['#/dicom', 'Retry failed'], 'Retry of one': ['#/dicom', 'Retry'],
};

async function openDialog(page, open, name) {
  const [hash, button] = DIALOGS[name];
  await open(hash);
  // It may be open still where two have the same screen.
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: button, exact: true }).first().click();
  await shown(page.getByRole('dialog'));
  if (name === 'Refine') await shown(page.getByRole('radio'));
  if (name === 'Send') await shown(page.getByRole('combobox', { name: 'Destination' }));
}

// Runs in the page: buttons at the end of the dialog that are not wholly in the window, or that something covers.
function outOfReach() {
  return [...document.querySelectorAll('dialog .actions button')].filter((button) => {
    const { left, right, top, bottom } = button.getBoundingClientRect();
    const hit = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    return left < 0 || top < 0 || right > innerWidth || bottom > innerHeight || (hit !== button && !button.disabled);
  }).map((button) => button.textContent);
}

// Runs in the page: what sticks out of the dialog to the side.
const tooWide = () => [...document.querySelectorAll('dialog')].filter((dialog) => dialog.scrollWidth > dialog.clientWidth).length;

export const dialogScenarios = {
  async 'dialogs: what ends them is in the window, however small, and at whatever place they are scrolled to'({ page, open }) {
    for (const [width, height] of SMALL) {
      await page.setViewportSize({ width, height });
      for (const name of Object.keys(DIALOGS)) {
        await openDialog(page, open, name);
        const dialog = page.getByRole('dialog');
        for (const end of [0, 1e6]) {
          await dialog.evaluate((element, to) => { element.scrollTop = to; }, end);
          assert.deepEqual(await page.evaluate(outOfReach), [], `${name} at ${width}x${height}, scrolled to ${end}`);
        }
        assert.equal(await page.evaluate(tooWide), 0, `${name} at ${width}x${height}`);
        await dialog.locator('.actions button').first().click();
        await dialog.waitFor({ state: 'detached' });
      }
    }
  },

  async 'menus and words that explain themselves: all of them can be read in the smallest windows'({ page, open }) {
    // Runs in the page: whether the last of what was opened is within the window, once it is scrolled to.
    const readable = (element) => {
      const last = element.lastElementChild ?? element;
      last.scrollIntoView({ block: 'nearest' });
      const { left, right, top, bottom } = last.getBoundingClientRect();
      return (left >= -1 && right <= document.documentElement.clientWidth + 1 && top >= -1 && bottom <= innerHeight + 1) || { left, right, top, bottom };
    };
    for (const [width, height] of SMALL) {
      await page.setViewportSize({ width, height });
      await open(job(DONE));
      await shown(pane(page, 'axial'));
      for (const name of ['Compare', 'Download']) {
        await page.locator('summary', { hasText: name }).click();
        assert.deepEqual(await page.locator('.menu[open] > ul').evaluate(readable), true, `${name} at ${width}x${height}`);
        await page.keyboard.press('Escape');
      }
      for (const hash of ['#/', job(DONE, 'details'), '#/node', '#/dicom']) {
        await open(hash);
        const terms = page.locator('main .term');
        await eventually(`words of ${hash}`, async () => (await terms.count()) > 0);
        for (let i = 0; i < await terms.count(); i += 1) {
          const term = terms.nth(i);
          if (!(await term.isVisible())) continue;
          await term.getByRole('button').click();
          assert.deepEqual(await term.locator('.note').evaluate(readable), true, `${await term.textContent()} at ${width}x${height}`);
          await page.keyboard.press('Escape');
        }
      }
    }
  },

  'axe: no dialog, menu or error has a fault that it knows, light': (world) => axeFindsNothing(world, 'light'),
  'axe: no dialog, menu or error has a fault that it knows, dark': (world) => axeFindsNothing(world, 'dark'),
};

async function axeFindsNothing({ page, open, server, allow }, colorScheme) {
  allow(/40[49]|ERR_CONNECTION_REFUSED|ERR_SOCKET_NOT_CONNECTED|ERR_INCOMPLETE|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|network error/i);
  await page.emulateMedia({ colorScheme });
  const atAllWidths = async (what, within) => {
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 844 });
      assert.deepEqual(await violations(page, { within, contrast: true }), [], `${what} at ${width}`);
    }
  };
  for (const name of Object.keys(DIALOGS)) {
    await openDialog(page, open, name);
    await atAllWidths(name, 'dialog');
  }
  await page.keyboard.press('Escape');
  await open(job(MASK));
  for (const name of ['Compare', 'Download']) {
    await page.locator('summary', { hasText: name }).click();
    await atAllWidths(name, '.job-heading');
    await page.keyboard.press('Escape');
  }
  await open('#/');
  await shown(page.locator('.device .problem'));
  await page.locator('main .term button').first().click();
  await shown(page.locator('.term .note'));
  await atAllWidths('a word that explains itself', '.card:has(.term)');
  // What is refused, what is not there, and nobody who answers.
  await open(job(DONE));
  server.framesGone = true;
  await page.getByRole('button', { name: 'Refine', exact: true }).click();
  await shown(page.getByRole('radio'));
  await page.getByRole('dialog').getByRole('button', { name: 'Refine', exact: true }).click();
  await shown(page.getByRole('dialog').getByRole('alert'));
  await atAllWidths('a refusal', 'dialog');
  await page.keyboard.press('Escape');
  for (const hash of [job(FAILED), job('none'), '#/nowhere']) {
    await open(hash);
    await shown(page.locator('.problem'));
    await atAllWidths(hash, 'main');
  }
  await open('#/dicom');
  await shown(page.locator('.notice, .bad'));
  await atAllWidths('destinations that take nothing', 'main');
  await open('#/');
  await shown(page.locator('.device .problem'));
  await server.stop();
  await shown(page.getByRole('alert').getByText('has not answered since'));
  await atAllWidths('no answer', '.gone');
}
