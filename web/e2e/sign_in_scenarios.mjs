// Sign-in and roles, against a mock server with a token for each role.
import assert from 'node:assert/strict';
import { firstDay } from './worlds.mjs';

const LIVE = '20260301T093001-live0001';
const DONE = '20260301T092900-done0003';

async function signIn(page, open, token, hash = '#/') {
  await open(hash);
  await page.getByLabel('Access token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('Live', { exact: true }).waitFor();
}

export const signInScenarios = {
  async 'sign-in: a wrong token is refused, a right one opens the page, sign-out closes it'({ page, open, allow }) {
    allow(/401/);
    await open('#/node');
    await page.getByLabel('Access token').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByText('this token is not known').waitFor();
    await page.getByLabel('Access token').fill('o-token');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'ct-node-1' }).waitFor();
    await page.getByText('ward 3, operator').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Access token').waitFor();
    assert.equal(await page.getByText('AXIOM-2').count(), 0);
  },

  async 'sign-in: the first commands show a token where the reader had to'({ page, open, server, allow }) {
    allow(/401/);
    firstDay(server);
    await signIn(page, open, 'o-token');
    await page.getByText(/isocenter stream head --fps 30 --server localhost:50061 --token-file TOKEN$/).waitFor();
    await page.getByText(/TOKEN is a file with a token/).waitFor();
  },

  // On a busy machine the server answers before the first picture is drawn: what changes meanwhile is shown, too.
  async 'sign-in: the form comes where the answer is there before the first picture'({ page, open, allow }) {
    allow(/401/);
    await page.addInitScript(() => {
      const later = setTimeout;
      globalThis.setTimeout = (then, ms = 0, ...rest) => later(then, ms + 1000, ...rest);
      globalThis.requestAnimationFrame = (then) => later(then, 1000);
    });
    await open('#/');
    await page.getByLabel('Access token').waitFor({ timeout: 30_000 });
  },

  async 'sign-in: a session that ends on the server asks for the token again, and goes on where it was'({ page, open, server, allow }) {
    allow(/401/);
    await signIn(page, open, 'v-token');
    await page.goto(page.url().replace(/#.*/, `#/jobs/${DONE}?tab=details`));
    await page.getByText('120 × 128 × 96').waitFor();
    server.endSessions();
    await page.getByText('Your session has ended.').waitFor();
    await page.getByLabel('Access token').fill('v-token');
    await page.keyboard.press('Enter');
    await page.getByText('120 × 128 × 96').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Access token').waitFor();
    assert.equal(await page.getByText('Your session has ended.').count(), 0, 'who signs out knows');
  },

  async 'sign-in: the bar is no wider than the window, and low on a telephone, whoever has signed in'({ page, open, server, allow }) {
    allow(/401/);
    server.person = 'Anna Maria Zimmermann-Oberhuber';
    await signIn(page, open, 'o-token');
    for (const [width, height, most] of [[320, 640, 160], [390, 844, 110], [640, 360, 50], [667, 375, 50], [740, 360, 50], [844, 390, 50], [932, 430, 50], [1001, 800, 50], [1024, 768, 50], [1100, 800, 50], [1280, 800, 50]]) {
      await page.setViewportSize({ width, height });
      const { scroll, bar } = await page.evaluate(() => ({ scroll: document.documentElement.scrollWidth, bar: document.querySelector('header.bar').getBoundingClientRect().height }));
      assert.ok(scroll <= width, `${scroll} pixels in a window of ${width}`);
      assert.ok(bar <= most, `the bar is ${bar} pixels high at ${width} x ${height}`);
      const { x, width: button } = await page.getByRole('button', { name: 'Sign out' }).boundingBox();
      assert.ok(x + button <= width, `Sign out ends at ${x + button} of ${width}`);
    }
  },

  async 'roles: a viewer changes nothing, an administrator may delete'({ page, open, server, allow }) {
    allow(/404/); // what the job's page still asks for while it is being deleted
    await signIn(page, open, 'v-token', `#/jobs/${LIVE}`);
    await page.getByText('172 / 400 frames received').first().waitFor();
    assert.equal(await page.getByRole('button', { name: 'Cancel job' }).count(), 0);
    await page.goto(page.url().replace(/#.*/, '#/node'));
    await page.getByRole('heading', { name: 'Devices' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Drain' }).count(), 0);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Access token').fill('a-token');
    await page.keyboard.press('Enter');
    await page.goto(page.url().replace(/#.*/, `#/jobs/${DONE}`));
    await page.getByRole('button', { name: 'Delete job' }).click();
    await page.getByRole('dialog').getByText(/^AXIOM-1, head_soft, .*/).waitFor();
    await page.getByRole('dialog').getByText(DONE).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete job' }).click();
    await page.getByRole('heading', { name: 'Jobs' }).waitFor();
    assert.ok(server.changes.includes(`DELETE jobs/${DONE}`));
  },
};

// Against one with an identity provider, and no tokens.
export const providerScenarios = {
  async 'provider: signing in there leads back to where one was, and out again'({ page, open }) {
    await open(`#/jobs/${DONE}?tab=details`);
    assert.equal(await page.getByLabel('access token').count(), 0);
    await page.getByRole('button', { name: 'Sign in with Hospital' }).click();
    await page.getByText('120 × 128 × 96').waitFor();
    await page.getByText('Jane, operator').waitFor();
    assert.match(page.url(), /#\/jobs\/.*tab=details$/);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in with Hospital' }).waitFor();
  },
};
