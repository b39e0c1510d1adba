import { render } from 'preact';
import { Api } from './api/client.ts';
import { sharedEvents } from './api/shared_events.ts';
import { App } from './app.tsx';
import { wallClock } from './lib/clock.ts';
import { keepFocus } from './lib/focus.ts';
import { startTheme } from './lib/theme.ts';
import { rememberedPlace } from './lib/way_back.ts';
import { StoreContext } from './state/hooks.ts';
import { Store } from './state/store.ts';
import './style/page.css';

// Where build.mjs has put stream_worker.ts.
declare const STREAM_WORKER: string;

startTheme();
keepFocus();
const place = rememberedPlace();
if (place.startsWith('#') && location.hash === '') history.replaceState(null, '', place);
const api = new Api((input, init) => fetch(input, init));
const events = sharedEvents((failed) => {
  const worker = new SharedWorker(STREAM_WORKER, { type: 'module' });
  worker.onerror = failed;
  return worker.port;
}, (id, signal) => api.events(id, signal));
const store = new Store(api, wallClock, events);
// A network that is back need not wait for the next try, nor a tab that is looked at again.
addEventListener('online', () => store.retryNow());
document.addEventListener('visibilitychange', () => store.setVisible(!document.hidden));
store.setVisible(!document.hidden);
void store.begin();
render(<StoreContext.Provider value={store}><App /></StoreContext.Provider>, document.getElementById('app')!);
