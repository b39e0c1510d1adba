// That the page can be read, and used with a keyboard.
import assert from 'node:assert/strict';
import { DONE, FAILED, eventually, goByKeys, job, pane, pixels, shown, openTools } from './helpers.mjs';
import { crowd, firstDay } from './worlds.mjs';

export const lookScenarios = {
  async 'keys: pages, help, focus that can be seen, colours'({ page, open }) {
    await open('#/');
    await shown(page.getByText('Live', { exact: true }));
    await page.keyboard.press('?');
    await shown(page.getByRole('dialog').getByText('Window presets'));
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await goByKeys(page, 'n', page.getByRole('heading', { name: 'ct-node-1' }));
    const theme = (name) => eventually(name, async () => (await page.evaluate(() => document.documentElement.dataset.theme)) === name);
    for (const system of ['dark', 'light']) {
      await page.emulateMedia({ colorScheme: system });
      await theme(system);
    }
    await page.keyboard.press('t');
    await theme('dark');
    await page.reload();
    await theme('dark');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.equal(outline, 'solid');
  },

  async 'size: nothing is wider than the window, from a telephone to a wall'({ page, open }) {
    for (const [width, height = 844] of [[320], [390], [768], [844, 390], [880], [1280], [2560]]) for (const hash of ['#/', '#/jobs', '#/dicom', '#/quality', '#/node', job(DONE), job(DONE, 'timeline'), job(DONE, 'details'), job(DONE, 'dicom')]) {
      await page.setViewportSize({ width, height });
      await open(hash);
      await shown(page.getByRole('main'));
      await page.waitForTimeout(250);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${hash} is ${wide} pixels wide in a window of ${width}`);
      assert.deepEqual(await page.evaluate(outOfItsCard), [], `${hash} in a window of ${width}`);
      // What is pressed together by its neighbours has one letter a line.
      const title = await page.evaluate(() => document.querySelector('.job-heading h1')?.clientHeight ?? 0);
      assert.ok(title < 70, `the title of ${hash} is ${title} pixels high in a window of ${width}`);
    }
  },

  async 'size: nor with nothing to show, or with names as long as they may be'({ page, open, server }) {
    for (const world of [firstDay, crowd]) {
      world(server);
      for (const width of [390, 768, 1280, 2560]) for (const hash of ['#/', '#/jobs', '#/dicom', '#/quality', '#/node']) {
        await page.setViewportSize({ width, height: 844 });
        await open(hash);
        await page.reload();
        await shown(world === crowd && !['#/dicom', '#/quality', '#/node'].includes(hash) ? page.locator('tbody tr') : page.getByRole('main'));
        // Names of rooms come after the jobs, and the longest is as wide as a filter gets.
        if (world === crowd && hash === '#/jobs') await eventually('rooms to choose from', async () => (await page.getByLabel('Room').locator('option').count()) > 40);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= width, `${hash} is ${wide} pixels wide in a window of ${width}`);
      }
    }
  },

  async 'names: of refinements beside each other all can be read that differs'({ page, open, server }) {
    const related = [['20260301T092200-refd0004', '09:22:00'], ['20260301T091900-refm0010', '09:19:00']].map(([job_id, begun]) => ({
      job_id, relation: 'refined', state: 'completed', protocol: 'fdk_then_ossart', create_time: `2026-03-01T${begun}.000Z`, refinement: { algorithm: 'os_sart', iterations: 5, second_pass: null },
    }));
    server.detailOver = { related };
    for (const width of [390, 768, 1280, 2560]) {
      await page.setViewportSize({ width, height: 844 });
      await open(job(DONE));
      await page.reload();
      const boxes = page.getByLabel(/^Refined: OS-SART, 5 iterations/).and(page.getByRole('checkbox'));
      if (width < 700) await openTools(page);
      await shown(boxes);
      for (let i = 0; i < 2; i += 1) await boxes.nth(i).check();
      await eventually('three volumes', async () => (await page.locator('.pane .whole').count()) >= 3);
      const cut = await page.evaluate(() => [...document.querySelectorAll('.pane .whole, .toggle span')]
        .filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline').map((e) => e.textContent));
      assert.deepEqual(cut, [], `cut in a window of ${width}`);
      assert.deepEqual(await page.evaluate(coveredEdges), [], `covered in a window of ${width}`);
      const names = await page.locator('.pane[data-axis="axial"] .whole').allTextContents();
      assert.equal(new Set(names).size, 3, names.join(' | '));
    }
  },

  async 'names: of second passes beside each other it can be read what each is against'({ page, open, server }) {
    const none = { metal: false, bone: false, scatter: false, cone_beam: false, motion: false };
    const passes = [{ ...none, metal: true }, { ...none, cone_beam: true }];
    server.detailOver = {
      related: passes.map((second_pass, i) => ({
        job_id: ['20260301T092200-refd0004', '20260301T091900-refm0010'][i], relation: 'refined', state: 'completed', protocol: 'require',
        create_time: '2026-03-01T09:22:00.000Z', refinement: { algorithm: '', iterations: 0, second_pass },
      })),
    };
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 844 });
      await open(job(DONE));
      await page.reload();
      const boxes = page.getByLabel(/^Refined: against (metal|cone beam)/).and(page.getByRole('checkbox'));
      if (width < 700) await openTools(page);
      await shown(boxes);
      for (let i = 0; i < 2; i += 1) await boxes.nth(i).check();
      await eventually('three volumes', async () => (await page.locator('.pane .whole').count()) >= 3);
      const names = (await page.locator('.pane[data-axis="axial"] .whole').allTextContents()).join(' | ');
      assert.match(names, /Metal, /);
      assert.match(names, /Cone beam, /);
      const cut = await page.evaluate(() => [...document.querySelectorAll('.pane .whole, .toggle span')]
        .filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline').map((e) => e.textContent));
      assert.deepEqual(cut, [], `cut in a window of ${width}`);
      assert.deepEqual(await page.evaluate(coveredEdges), [], `covered in a window of ${width}`);
    }
  },

  async 'size: on a telephone, the picture begins on the first screen'({ page, open }) {
    await page.setViewportSize({ width: 390, height: 844 });
    await open(job(DONE));
    await shown(page.locator('.pane'));
    const { y } = await page.locator('.pane').first().boundingBox();
    assert.ok(y < 420, `it begins after ${y} pixels`);
  },

  async 'size: on a telephone that lies on its side, where to go is one row, and half of the first picture is seen'({ page, open }) {
    await page.setViewportSize({ width: 844, height: 390 });
    await open(job(DONE));
    await shown(page.locator('.pane'));
    const bar = await page.locator('header.bar').boundingBox();
    assert.ok(bar.height <= 50, `the bar is ${bar.height} pixels high`);
    const { y } = await page.locator('.pane').first().boundingBox();
    assert.ok(y < 280, `the picture begins after ${y} pixels`);
  },

  async 'size: a wall of 2560 pixels has larger type, and the overview fills it'({ page, open }) {
    const type = () => page.locator('#recent').evaluate((element) => parseFloat(getComputedStyle(element).fontSize));
    await page.setViewportSize({ width: 1280, height: 800 });
    await open('#/');
    await shown(page.locator('.plot'));
    assert.equal(await type(), 15);
    await page.setViewportSize({ width: 1920, height: 1000 });
    await eventually('as before', async () => Math.abs(await type() - 15) < 0.1 || type());
    await page.setViewportSize({ width: 2560, height: 1300 });
    await eventually('a third larger', async () => Math.abs(await type() - 20) < 0.1 || type());
    const { width } = await page.locator('.overview').boundingBox();
    assert.ok(width > 2450, `it is ${width} pixels wide`);
    await eventually('plots, too', async () => {
      const [figure, canvas] = await Promise.all(['.plot', '.plot canvas'].map((what) => page.locator(what).first().evaluate((element) => element.clientWidth || element.getBoundingClientRect().width)));
      return Math.abs(figure - canvas) < 3 || [figure, canvas];
    });
  },

  async 'contrast: what is written over a plane can be read over white tissue, too'({ page, open }) {
    await open(job(DONE));
    const axial = pane(page, 'axial');
    await eventually('drawn', async () => (await axial.getAttribute('data-level')) !== null);
    await axial.evaluate((element) => {
      element.style.background = '#fff';
      element.querySelector('canvas').style.visibility = 'hidden';
    });
    for (const corner of ['top.left', 'top.right', 'bottom.left', 'bottom.right']) {
      const png = (await axial.locator(`.at.${corner}`).screenshot()).toString('base64');
      const dark = await page.evaluate(async (base64) => {
        const picture = await createImageBitmap(new Blob([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))]));
        const context = new OffscreenCanvas(picture.width, picture.height).getContext('2d');
        context.drawImage(picture, 0, 0);
        const { data } = context.getImageData(0, 0, picture.width, picture.height);
        return data.filter((value, i) => i % 4 === 0 && value < 96).length / (data.length / 4);
      }, png);
      // The rims of the letters; a grey shade around them has no such pixel in a hundred.
      assert.ok(dark > 0.08, `${corner}: ${dark}`);
    }
  },

  async 'contrast: text in both colours is readable (WCAG AA)'({ page, open }) {
    const screens = {
      '#/': 'Devices', '#/node': 'Queue', '#/dicom': 'DICOM destinations', [job(DONE, 'details')]: 'Warnings', [job(FAILED)]: 'Zeego left head_soft',
    };
    for (const [hash, heading] of Object.entries(screens)) {
      await open(hash);
      await shown(page.getByRole('heading', { name: heading }));
      for (const theme of ['dark', 'light']) {
        await page.getByLabel('Colours').selectOption(theme);
        assert.deepEqual(await page.evaluate(poorContrast), [], `${theme} ${hash}`);
      }
    }
  },
};

// Runs in the page: texts whose colour is less than 4.5:1 against what is behind them.
function poorContrast() {
  const parse = (text) => text.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] > 0.99) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const element of document.querySelectorAll('#app *')) {
    const own = [...element.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.textContent.trim());
    if (!own || element.closest('.pane, :disabled, .hidden, .skip')) continue;
    // The signs of chips breathe; words beside them say the same.
    if (element.classList.contains('sign')) continue;
    const [a, b] = [luminance(parse(getComputedStyle(element).color)), luminance(ground(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${element.textContent.trim().slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return poor;
}

// Runs in the page: cells of tables that stick out of the card which holds them.
function outOfItsCard() {
  return [...document.querySelectorAll('.card table :is(td, th)')].filter((cell) => {
    const card = cell.closest('.card').getBoundingClientRect();
    return cell.getBoundingClientRect().right > card.right + 1 && getComputedStyle(cell).display !== 'none';
  }).map((cell) => cell.textContent.slice(0, 40));
}

// Runs in the page: letters that say where the patient's sides are, which other words lie upon.
function coveredEdges() {
  const covered = [];
  for (const pane of document.querySelectorAll('.pane')) for (const edge of pane.querySelectorAll('.edge')) for (const words of pane.querySelectorAll('.at > *')) {
    const [a, b] = [edge, words].map((element) => element.getBoundingClientRect());
    if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) covered.push(`${edge.textContent} by ${words.textContent}`);
  }
  return covered;
}
