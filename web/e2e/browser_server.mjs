// A browser for several programs, one after the other or at once: node e2e/browser_server.mjs prints where it listens, which
// programs find in ISOCENTER_PAGE_BROWSER. It ends at SIGTERM. Starting a browser takes longer than most of what is tested.
import { launchServer } from './browser.mjs';

const server = await launchServer();
console.log(server.wsEndpoint());
