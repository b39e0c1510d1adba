// The page against a real isocenterd: node e2e/real.mjs ADDRESS STEP ARGS.. [-- STEP ARGS..].. Steps are made at once, each in a
// browser profile of its own; what they saw is printed as a JSON list on the last line. Steps that wait for something to happen print
// "waiting" first. ISOCENTER_PAGE_CERTIFICATE: PATH of a client certificate without ".pem", its key beside it as ".key".
import assert from 'node:assert/strict';
import { launch } from './browser.mjs';
import { lookSteps } from './real_look_steps.mjs';
import { workSteps } from './real_work_steps.mjs';

const [address, ...words] = process.argv.slice(2);
const steps = words.reduce((found, word) => {
  if (word === '--') found.push([]);
  else found.at(-1).push(word);
  return found;
}, [[]]);

// What the page must never cause, whatever it shows.
function watch(page) {
  const problems = [];
  const allowed = [];
  page.on('pageerror', (error) => problems.push(String(error.stack ?? error)));
  page.on('console', (message) => message.type() === 'error' && problems.push(`${message.text()} ${message.location().url}`));
  return { problems: () => problems.filter((p) => !allowed.some((a) => a.test(p))), allow: (pattern) => allowed.push(pattern) };
}

async function make(browser, [step, ...args]) {
  const certificate = process.env.ISOCENTER_PAGE_CERTIFICATE;
  const page = await browser.newPage({
    viewport: { width: 1280, height: 800 },
    ignoreHTTPSErrors: true,
    clientCertificates: certificate
      ? [{ origin: new URL(address).origin, certPath: `${certificate}.pem`, keyPath: `${certificate}.key` }] : undefined,
  });
  // Machines that test are busy.
  page.setDefaultTimeout(300_000);
  const { problems, allow } = watch(page);
  const seen = await { ...lookSteps, ...workSteps }[step]({ page, allow, open: (hash) => page.goto(address + hash) }, ...args);
  const folder = process.env.ISOCENTER_PAGE_SHOTS;
  if (folder) await page.screenshot({ path: `${folder}/real-${step}-${process.pid}.png`, fullPage: true });
  assert.deepEqual(problems(), [], step);
  return seen ?? {};
}

const browser = await launch();
try {
  console.log(JSON.stringify(await Promise.all(steps.map((step) => make(browser, step)))));
} finally {
  await browser.close();
}
