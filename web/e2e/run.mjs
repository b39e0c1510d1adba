// Tests of the page in a browser against the mock server: node e2e/run.mjs [PART OF A NAME]
import assert from 'node:assert/strict';
import { launch } from './browser.mjs';
import { MockServer } from './mock_server.mjs';
import { attentionScenarios } from './attention_scenarios.mjs';
import { dialogScenarios } from './dialog_scenarios.mjs';
import { edgeScenarios } from './edge_scenarios.mjs';
import { focusScenarios, focusSignIn } from './focus_scenarios.mjs';
import { lookScenarios } from './look_scenarios.mjs';
import { orderScenarios } from './order_scenarios.mjs';
import { qualityScenarios } from './quality_scenarios.mjs';
import { screenScenarios } from './screen_scenarios.mjs';
import { sendScenarios } from './send_scenarios.mjs';
import { providerScenarios, signInScenarios } from './sign_in_scenarios.mjs';
import { solidScenarios } from './solid_scenarios.mjs';
import { speedScenarios } from './speed_scenarios.mjs';
import { touchScenarios } from './touch_scenarios.mjs';
import { keyboardUse, signInUse, useScenarios } from './use_scenarios.mjs';
import { viewerScenarios } from './viewer_scenarios.mjs';
import { windowScenarios } from './window_scenarios.mjs';
import { wordsScenarios } from './words_scenarios.mjs';

// Most scenarios wait more than they compute: this many at once keep two processors busy.
const AT_ONCE = 3;
// For a machine that is busy with other tests; an idle one needs two seconds for most.
const TIMEOUT_MS = 600_000;

// What no scenario may cause: errors of scripts, refusals by the Content-Security-Policy, requests to other hosts.
function watch(page, origin) {
  const problems = [];
  const allowed = [];
  page.on('pageerror', (error) => problems.push(error.stack ?? String(error)));
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !/^(data|blob):/.test(request.url())) problems.push(`asked ${request.url()}`);
  });
  return { problems: () => problems.filter((p) => !allowed.some((a) => a.test(p))), allow: (pattern) => allowed.push(pattern) };
}

async function runOne(browser, scenario, options) {
  const { deviceScaleFactor = 1, viewport = { width: 1280, height: 800 }, hasTouch = false, ...ofServer } = options;
  const server = new MockServer(ofServer);
  const address = await server.start();
  const context = await browser.newContext({ viewport, hasTouch, reducedMotion: 'reduce', deviceScaleFactor });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  const { problems, allow } = watch(page, address);
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS);
  });
  try {
    await Promise.race([scenario({ page, server, allow, open: (hash) => page.goto(address + hash) }), late]);
    assert.deepEqual(problems(), []);
  } finally {
    clearTimeout(timer);
    await context.close();
    await server.stop();
  }
}

const TOKENS = { 'v-token': 'viewer', 'o-token': 'operator', 'a-token': 'administrator' };
const wanted = process.argv[2] ?? '';
const all = [
  ...Object.entries({ ...screenScenarios, ...viewerScenarios, ...lookScenarios, ...edgeScenarios, ...qualityScenarios, ...useScenarios, ...orderScenarios, ...sendScenarios, ...focusScenarios, ...attentionScenarios, ...windowScenarios, ...dialogScenarios, ...wordsScenarios, ...speedScenarios }).map(([name, run]) => ({ name, run, options: {} })),
  ...Object.entries(touchScenarios).map(([name, run]) => ({ name, run, options: { viewport: { width: 390, height: 844 }, hasTouch: true } })),
  // Processors that draw in three dimensions are slow: a quarter of the pixels.
  ...Object.entries(solidScenarios).map(([name, run]) => ({ name, run, options: { deviceScaleFactor: 0.5 } })),
  ...Object.entries({ ...signInScenarios, ...signInUse, ...keyboardUse, ...focusSignIn }).map(([name, run]) => ({ name, run, options: { tokens: TOKENS } })),
  ...Object.entries(providerScenarios).map(([name, run]) => ({ name, run, options: { provider: 'Hospital' } })),
].filter(({ name }) => name.includes(wanted));
const browser = await launch();
const failed = [];
const waiting = [...all];
await Promise.all(Array.from({ length: AT_ONCE }, async () => {
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const { name, run, options } = next;
    const began = Date.now();
    try {
      await runOne(browser, run, options);
      console.log(`ok      ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
    } catch (error) {
      failed.push(`${name}: ${String(error.message).split('\n')[0]}`);
      console.log(`FAILED  ${name}\n${error.stack}`);
    }
  }
}));
await browser.close();
// Once more at the end, which is what is left of a long output.
for (const each of failed) console.log(`FAILED  ${each}`);
console.log(`${all.length - failed.length} passed, ${failed.length} failed`);
process.exit(failed.length > 0 || all.length === 0 ? 1 : 0);
