// Pictures of every screen in dark and light on telephones (upright and on their side), tablets, desks and walls, of questions above them,
// of pages of the documentation, and of edges: node e2e/shots.mjs FOLDER [WIDTH]
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { launch } from './browser.mjs';
import { MockServer } from './mock_server.mjs';
import { crowd, firstDay } from './worlds.mjs';

const folder = process.argv[2] ?? 'build/shots';
const SIZES = [[390, 844], [844, 390], [768, 1024], [1280, 800], [2560, 1300]].filter(([width]) => !process.argv[3] || width === Number(process.argv[3]));
const SCREENS = {
  overview: '#/',
  jobs: '#/jobs',
  dicom: '#/dicom',
  node: '#/node',
  receiving: '#/jobs/20260301T093001-live0001',
  volume: '#/jobs/20260301T092900-done0003',
  timeline: '#/jobs/20260301T092200-refd0004?tab=timeline',
  details: '#/jobs/20260301T092900-done0003?tab=details',
  failed: '#/jobs/20260301T085000-fail0008',
  quality: '#/quality',
  docs: 'docs/index.html',
  'docs-guide': 'docs/user-guide/operator-page.html',
  'docs-metrics': 'docs/metrics.html',
};

const EDGES = [
  ['four-volumes', () => {}, '#/jobs/20260301T091700-mask0005'],
  ['first-day', firstDay, '#/'],
  ['crowd', crowd, '#/'],
  ['crowd-jobs', crowd, '#/jobs'],
];

async function edge(name, world, hash, size) {
  const server = new MockServer();
  world(server);
  const page = await browser.newPage({ viewport: size });
  await page.goto(`${await server.start()}${hash}`);
  await page.waitForTimeout(1000);
  for (const volume of name === 'four-volumes' ? ['Fill', 'Subtracted', 'Refined: OS-SART, 5 iterations'] : []) await page.getByLabel(volume, { exact: true }).check();
  await page.waitForTimeout(1500);
  await page.screenshot({ path: join(folder, `${name}-${size.width}.png`), fullPage: name !== 'four-volumes' });
  await page.close();
  await server.stop();
}

await mkdir(folder, { recursive: true });
const server = new MockServer();
const address = await server.start();
const guarded = new MockServer({ tokens: { 'o-token': 'operator' } });
const closed = await guarded.start();
const browser = await launch();
try {
  for (const [width, height] of SIZES) for (const theme of ['dark', 'light']) {
    const page = await browser.newPage({ viewport: { width, height }, hasTouch: width < 900, colorScheme: theme });
    const file = (name) => join(folder, `${name}-${width}-${theme}.png`);
    page.on('console', (message) => message.type() === 'error' && console.log(message.text()));
    page.on('pageerror', (error) => console.log(error.stack));
    await page.addInitScript((chosen) => localStorage.setItem('isocenter.theme', chosen), theme);
    for (const [name, hash] of Object.entries(SCREENS)) {
      await page.goto(`${address}${hash}`);
      await page.waitForTimeout(name === 'volume' ? 2500 : 900);
      await page.screenshot({ path: file(name), fullPage: name !== 'volume' });
      if (name === 'volume') {
        const tools = page.getByRole('button', { name: /^Tools: / });
        if (await tools.isVisible()) await tools.click();
        await page.getByLabel('Refined: OS-SART, 5 iterations', { exact: true }).check();
        await page.waitForTimeout(1800);
        await page.screenshot({ path: file('compare') });
        await page.keyboard.press('?');
        await page.screenshot({ path: file('help') });
        await page.keyboard.press('Escape');
        await page.getByRole('button', { name: 'Refine', exact: true }).click();
        await page.getByRole('radio').first().waitFor();
        await page.screenshot({ path: file('refine') });
        await page.keyboard.press('Escape');
      }
    }
    await page.goto(`${address}#/node`);
    await page.getByRole('button', { name: 'Drain', exact: true }).click();
    await page.screenshot({ path: file('drain') });
    await page.keyboard.press('Escape');
    await page.goto(`${closed}#/`);
    await page.getByLabel('Access token').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await page.screenshot({ path: file('sign-in') });
    await page.close();
  }
  for (const size of [{ width: 1280, height: 800 }, { width: 1920, height: 1080 }]) {
    for (const [name, world, hash] of EDGES) await edge(name, world, hash, size);
  }
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(address);
  await page.getByText('Live', { exact: true }).waitFor();
  await server.stop();
  await page.getByRole('alert').waitFor();
  await page.screenshot({ path: join(folder, 'gone-dark.png') });
  await server.start(server.port);
} finally {
  await browser.close();
  await server.stop();
  await guarded.stop();
}
