// Debian's chromium without a display, driven by playwright-core.
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

const CANDIDATES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

function options() {
  const executablePath = CANDIDATES.find((path) => existsSync(path));
  if (!executablePath) throw new Error('no chromium; install the package chromium');
  // The sandbox needs a user other than root, which containers often lack; the page is our own.
  return { executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-extensions', '--disable-gpu-compositing', '--disable-gpu-rasterization', '--disable-accelerated-2d-canvas', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'] };
}

// The browser of browser_server.mjs where ISOCENTER_PAGE_BROWSER names one, else one of its own.
export function launch() {
  const address = process.env.ISOCENTER_PAGE_BROWSER;
  return address ? chromium.connect(address) : chromium.launch(options());
}

export function launchServer() {
  return chromium.launchServer({ ...options(), host: '127.0.0.1' });
}
