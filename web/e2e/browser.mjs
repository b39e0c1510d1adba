// Debian's chromium without a display, driven by playwright-core.
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

const CANDIDATES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export function chromiumPath() {
  return CANDIDATES.find((path) => existsSync(path)) ?? null;
}

export function launch() {
  const executablePath = chromiumPath();
  if (!executablePath) throw new Error('no chromium; install the package chromium');
  // The sandbox needs a user other than root, which containers often lack; the page is our own.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--disable-extensions'] });
}
