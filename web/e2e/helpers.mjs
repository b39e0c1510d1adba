// What scenarios share: the jobs of the fixtures, waiting for what comes, looking at pixels.

export const DONE = '20260301T092900-done0003';
export const LIVE = '20260301T093001-live0001';
export const FAILED = '20260301T085000-fail0008';
export const MASK = '20260301T091700-mask0005';

export const job = (id, tab) => `#/jobs/${id}${tab ? `?tab=${tab}` : ''}`;
export const pane = (page, axis, id = DONE) => page.locator(`.pane[data-axis="${axis}"][data-job="${id}"]`);

// Machines that test are busy: what is waited for comes in milliseconds on an idle one.
const PATIENCE_MS = 300_000;

export async function eventually(what, check, ms = PATIENCE_MS) {
  const end = Date.now() + ms;
  for (;;) {
    const got = await check();
    if (got === true) return;
    if (Date.now() > end) throw new Error(`never happened: ${what}; last: ${JSON.stringify(got)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export const shown = (locator) => locator.first().waitFor({ state: 'visible', timeout: PATIENCE_MS });

// On a telephone tools and volumes are behind a button.
export async function openTools(page) {
  const button = page.getByRole('button', { name: /^Tools: / });
  if (await button.getAttribute('aria-expanded') === 'false') await button.click();
}

// "g" and the key of a page. The second counts within a moment of the first, which a busy machine may miss.
export const goByKeys = (page, key, locator) =>
  eventually(`the page of g ${key}`, async () => {
    await page.keyboard.press('g');
    await page.keyboard.press(key);
    const there = locator.first().waitFor({ state: 'visible', timeout: 2000 });
    return there.then(() => true, () => false);
  });

// Mean and spread of a pane's pixels: black is nothing.
export function pixels(page, selector) {
  return page.locator(`${selector} canvas`).first().evaluate((canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let sum = 0;
    let hash = 0;
    for (let i = 0; i < data.length; i += 4) {
      sum += data[i];
      hash = (hash * 31 + data[i]) | 0;
    }
    return { mean: sum / (data.length / 4), hash };
  });
}
