// What axe knows of a page that is shown.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'];

// `within`: a selector, else the whole page. `contrast`: also of colours; of screens that is a scenario of its own, where the words of
// canvases and of what breathes are told apart. `more`: further tags.
export async function violations(page, { within, contrast = false, more = [] } = {}) {
  await page.evaluate(AXE);
  const options = { runOnly: [...TAGS, ...more], rules: { 'color-contrast': { enabled: contrast } } };
  const found = await page.evaluate(([place, chosen]) => globalThis.axe.run(place ?? document, chosen), [within, options]);
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')}`);
}
