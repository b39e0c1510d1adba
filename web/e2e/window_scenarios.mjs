// Several windows of one browser, which share its connections.
import assert from 'node:assert/strict';
import { LIVE, eventually, shown } from './helpers.mjs';

// More than the six connections that browsers open to one server over HTTP/1.1.
const WINDOWS = 8;

async function windowsOf(page, address) {
  const pages = [page];
  while (pages.length < WINDOWS) pages.push(await page.context().newPage());
  for (const each of pages) {
    await each.goto(address);
    await shown(each.getByText('Live', { exact: true }));
    await shown(each.locator(`tr[data-job="${LIVE}"]`));
  }
  return pages;
}

const followed = (server, streams) => eventually(`${streams} streams`, () => server.streams.size === streams || server.streams.size);

export const windowScenarios = {
  async 'windows: eight have one event stream, which outlives the first of them and a restart of the server'({ page, open, server, allow }) {
    allow(/ERR_CONNECTION_REFUSED|ERR_SOCKET_NOT_CONNECTED|ERR_INCOMPLETE|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|network error/i);
    await open('#/');
    const pages = await windowsOf(page, page.url());
    assert.equal(server.requests.events, 1);
    const tells = async (text, frames) => {
      server.change(LIVE, { progress: { frames_received: frames } });
      for (const each of pages) await shown(each.locator(`tr[data-job="${LIVE}"]`).getByText(text));
    };
    await tells('301 / 400 frames received', 301);
    // Whoever has a page that needs nothing but answers gets them, whatever the others hold.
    await pages.at(-1).goto(`${page.url().split('#')[0]}#/node`);
    await shown(pages.at(-1).getByRole('heading', { name: 'Queue' }));
    await pages.pop().close();
    const [first] = pages.splice(1, 1);
    await first.close();
    await tells('302 / 400 frames received', 302);
    assert.equal(server.requests.events, 1);
    await server.stop();
    for (const each of pages) await shown(each.getByText('No answer'));
    server.change(LIVE, { progress: { frames_received: 303 } });
    await server.start(server.port);
    for (const each of pages) await shown(each.getByText('Live', { exact: true }));
    for (const each of pages) await shown(each.locator(`tr[data-job="${LIVE}"]`).getByText('303 / 400 frames received'));
    await followed(server, 1);
    await tells('304 / 400 frames received', 304);
  },

  async 'windows: a stream that nobody follows any more is given back'({ page, open, server }) {
    await open('#/');
    const pages = await windowsOf(page, page.url());
    await followed(server, 1);
    for (const each of pages.slice(1)) await each.close();
    await followed(server, 1);
    await page.goto('about:blank');
    await followed(server, 0);
  },

  async 'windows: what happens between the page and its events is shown, also to a second window'({ page, open, server }) {
    // As the status is asked for a window that comes later, the job goes on.
    const status = server.status.bind(server);
    server.status = () => {
      const answer = status();
      const { frames_received } = server.jobs.get(LIVE).progress;
      server.change(LIVE, { progress: { frames_received: frames_received + 1 } });
      return answer;
    };
    await open('#/');
    await shown(page.getByText('Live', { exact: true }));
    const second = await page.context().newPage();
    await second.goto(page.url());
    await shown(second.getByText('Live', { exact: true }));
    for (const each of [page, second]) {
      await eventually('the same frames as the server has', async () => {
        const { frames_received } = server.jobs.get(LIVE).progress;
        const text = await each.locator(`tr[data-job="${LIVE}"]`).first().textContent().catch(() => '');
        return text.includes(`${frames_received} / 400 frames received`) || text;
      });
    }
  },

  async 'windows: a browser without shared workers has a stream for each'({ page, open, server }) {
    await page.context().addInitScript(() => { delete globalThis.SharedWorker; });
    await open('#/');
    await shown(page.getByText('Live', { exact: true }));
    const second = await page.context().newPage();
    await second.goto(page.url());
    await shown(second.getByText('Live', { exact: true }));
    assert.equal(server.requests.events, 2);
    server.change(LIVE, { progress: { frames_received: 305 } });
    for (const each of [page, second]) await shown(each.locator(`tr[data-job="${LIVE}"]`).getByText('305 / 400 frames received'));
  },

  async 'live: the overview asks for nothing while its events arrive and tell nothing, and after one that does'({ page, open, server }) {
    server.transfers = [];
    const asked = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname.replace('/api/v1/', '')));
    await open('#/');
    await shown(page.getByText('Live', { exact: true }));
    await shown(page.getByRole('heading', { name: 'Throughput' }));
    await shown(page.getByRole('article', { name: 'Device cuda0' }));
    // What was asked before the events had begun is asked once more.
    const QUIET_MS = 12_000;
    await new Promise((done) => setTimeout(done, QUIET_MS));
    asked.length = 0;
    await new Promise((done) => setTimeout(done, QUIET_MS));
    assert.deepEqual(asked, []);
    server.change(LIVE, { progress: { frames_received: 310 } });
    await eventually('queue, rooms and devices', () => ['devices', 'queue', 'rooms'].every((name) => asked.includes(name)) || asked);
    await new Promise((done) => setTimeout(done, 6_000));
    assert.equal(asked.filter((name) => name === 'rooms').length, 1, `${asked}`);
  },
};
