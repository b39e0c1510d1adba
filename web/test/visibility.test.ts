import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Api } from '../src/api/client.ts';
import { Store } from '../src/state/store.ts';
import { FakeClock, settle } from './fake_clock.ts';

// A service that counts its open event streams; whoever comes is signed in as `signedIn` says.
class Service {
  open = 0;
  opened: (string | null)[] = [];
  signedIn = true;

  answer(url: string, init?: RequestInit): Promise<Response> {
    if (url.startsWith('api/v1/session')) return Promise.resolve(new Response(JSON.stringify({ signed_in: this.signedIn, role: 'viewer', csrf_token: 'c' })));
    if (url.startsWith('api/v1/jobs')) return Promise.resolve(new Response(JSON.stringify({ jobs: [], next_page_token: null })));
    if (url.startsWith('api/v1/status')) return Promise.resolve(new Response(JSON.stringify({ server_time: '2026-03-01T09:00:00Z' })));
    assert.ok(url.startsWith('api/v1/events'), url);
    this.open += 1;
    this.opened.push(new Headers(init?.headers).get('Last-Event-ID'));
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        init!.signal!.addEventListener('abort', () => {
          this.open -= 1;
          controller.error(new DOMException('aborted', 'AbortError'));
        });
        const hello = JSON.stringify({ resumed: this.opened.length > 1, status: { server_time: '2026-03-01T09:00:00Z' } });
        controller.enqueue(new TextEncoder().encode(`id: e-${this.opened.length}\nevent: hello\ndata: ${hello}\n\n`));
      },
    });
    return Promise.resolve(new Response(body));
  }
}

function page(service: Service) {
  return new Store(new Api((url, init) => service.answer(String(url), init)), new FakeClock());
}

test('a tab that nobody sees holds no event stream, and goes on after the last event when it is seen', async () => {
  const service = new Service();
  const store = page(service);
  await store.begin();
  await settle();
  assert.equal(service.open, 1);
  const { epoch } = store;
  store.setVisible(false);
  await settle();
  assert.equal(service.open, 0);
  assert.equal(store.link.kind, 'live', 'nobody is told that something is wrong');
  store.setVisible(true);
  store.setVisible(true);
  await settle();
  assert.equal(service.open, 1);
  assert.deepEqual(service.opened, [null, 'e-1']);
  assert.equal(store.link.kind, 'live');
  assert.ok(store.epoch > epoch, 'screens ask again for what they show');
  store.setVisible(false);
});

test('a tab that is opened in the background waits until it is seen', async () => {
  const service = new Service();
  const store = page(service);
  store.setVisible(false);
  await store.begin();
  await settle();
  assert.equal(service.opened.length, 0);
  store.setVisible(true);
  await settle();
  assert.equal(service.open, 1);
  store.setVisible(false);
});

test('who is not signed in has no stream, seen or not', async () => {
  const service = new Service();
  service.signedIn = false;
  const store = page(service);
  await store.begin();
  store.setVisible(false);
  store.setVisible(true);
  await settle();
  assert.equal(service.opened.length, 0);
});
