// How screens read the store and the interface.
import { createContext } from 'preact';
import { useContext, useEffect, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks';
import { type Query, messageOf } from '../api/client.ts';
import type { Store } from './store.ts';

export const StoreContext = createContext<Store | null>(null);

// The store; who calls this is drawn anew when it changes.
export function useStore(): Store {
  const store = useContext(StoreContext);
  if (!store) throw new Error('no store in this tree');
  const [, redraw] = useReducer((n: number, _: void) => n + 1, 0);
  // With the drawing, not after its picture: what changes between them would never be shown.
  useLayoutEffect(() => store.subscribe(() => redraw()), [store]);
  return store;
}

// Sums over a day, ages and samples change without an event, and slowly.
const QUIET_MS = 60_000;

export interface Asked<T> {
  data: T | null;
  // Why the last request failed; `data` is then what an earlier one brought.
  error: string | null;
}

// What GET `path` answers, asked again every `everyMs` (0: never), after a reconnection, and when somebody changed something.
// A path of null asks nothing. `onNews`: what mostly changes with what events tell of is asked again after they did, and once a minute,
// as long as they arrive.
export function useAsked<T>(path: string | null, query: Query, everyMs: number, onNews = false): Asked<T> {
  const store = useStore();
  const [asked, setAsked] = useState<Asked<T>>({ data: null, error: null });
  const key = path === null ? null : `${path}?${JSON.stringify(query)}`;
  const reachable = store.link.kind !== 'gone';
  const shownKey = useRef<string | null>(null);

  // With the drawing, not after its picture: on a busy machine that is a tenth of a second, for which all answers would come later.
  useLayoutEffect(() => {
    if (path === null || !reachable) return undefined;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let stopListening = () => {};
    if (shownKey.current !== key) setAsked({ data: null, error: null });
    shownKey.current = key;
    const again = (afterMs: number) => {
      clearTimeout(timer);
      if (everyMs > 0) timer = setTimeout(ask, afterMs);
    };
    // Events come many times a second while a room scans: then this is asked for no more often than without them.
    const afterNews = (seen: number) => {
      const isDue = () => store.news !== seen || store.link.kind !== 'live';
      if (isDue()) return again(everyMs);
      again(QUIET_MS);
      stopListening = store.subscribe(() => {
        if (!isDue()) return;
        stopListening();
        again(everyMs);
      });
    };
    const ask = async () => {
      stopListening();
      const seen = store.news;
      if (!document.hidden) {
        try {
          const data = await store.api.get<T>(path, query, abort.signal);
          if (!abort.signal.aborted) setAsked({ data, error: null });
        } catch (error) {
          if (!abort.signal.aborted) setAsked((before) => ({ data: before.data, error: messageOf(error) }));
        }
      }
      if (abort.signal.aborted) return;
      if (onNews) afterNews(seen);
      else again(everyMs);
    };
    void ask();
    return () => {
      abort.abort();
      stopListening();
      clearTimeout(timer);
    };
  }, [key, everyMs, onNews, reachable, store.epoch]);
  return asked;
}

// What the window is called, before the server's name; null: somebody else says it. That the server is gone comes first, for who looks at
// the row of tabs alone.
export function useTitle(title: string | null): void {
  const store = useStore();
  const server = store.status?.server ?? 'Isocenter';
  useEffect(() => {
    if (title === null) return;
    document.title = `${store.gone ? 'No answer: ' : ''}${title} – ${server}`;
    // Where the focus goes when a screen is changed: who hears the page is told which.
    document.getElementById('main')?.setAttribute('aria-label', title);
  }, [title, server, store.gone]);
}

// Draws anew every `everyMs`, for ages and countdowns.
export function useTick(everyMs: number): void {
  const [, redraw] = useReducer((n: number, _: void) => n + 1, 0);
  useEffect(() => {
    const id = setInterval(() => redraw(), everyMs);
    return () => clearInterval(id);
  }, [everyMs]);
}

// True once `ready` has been, and the browser has drawn what was there and has nothing else to do: for what is looked at last.
export function useRest(ready: boolean): boolean {
  const [rests, setRests] = useState(false);
  useEffect(() => {
    if (!ready || rests) return undefined;
    return whenIdle(() => setRests(true));
  }, [ready, rests]);
  return rests;
}

// However busy the page is, it is no longer put off than this. Safari knows no idle times.
const LATEST_IDLE_MS = 2_000;
const GUESSED_IDLE_MS = 200;

function whenIdle(call: () => void): () => void {
  if (typeof requestIdleCallback === 'function') {
    const id = requestIdleCallback(call, { timeout: LATEST_IDLE_MS });
    return () => cancelIdleCallback(id);
  }
  const id = setTimeout(call, GUESSED_IDLE_MS);
  return () => clearTimeout(id);
}
