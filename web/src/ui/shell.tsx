// What is around every screen: where to go, whether the server is there, who is signed in.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { coarseSeconds, time } from '../lib/format.ts';
import { pageKeys } from '../lib/keys.ts';
import { type Theme, chooseTheme, chosenTheme } from '../lib/theme.ts';
import { Readiness } from '../screens/node.tsx';
import { useStore, useTick } from '../state/hooks.ts';
import { Help } from './help.tsx';

const PAGES = [
  { path: '', name: 'Overview' },
  { path: 'jobs', name: 'Jobs' },
  { path: 'dicom', name: 'DICOM' },
  { path: 'quality', name: 'Quality' },
  { path: 'node', name: 'Node' },
];
const THEMES: { theme: Theme; name: string }[] = [
  { theme: 'system', name: 'System' }, { theme: 'dark', name: 'Dark' }, { theme: 'light', name: 'Light' },
];

export function Shell({ page, children }: { page: string; children: ComponentChildren }) {
  const store = useStore();
  const gone = store.gone;
  const [help, setHelp] = useState(false);
  const [theme, setTheme] = useState(chosenTheme());
  const choose = (next: Theme) => {
    chooseTheme(next);
    setTheme(next);
  };
  useEffect(() => pageKeys({
    help: () => setHelp(true),
    theme: () => choose(THEMES[(THEMES.findIndex((t) => t.theme === chosenTheme()) + 1) % THEMES.length]!.theme),
  }), []);
  useEffect(() => {
    const left = () => setHelp(false);
    addEventListener('hashchange', left);
    return () => removeEventListener('hashchange', left);
  }, []);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById('main')?.focus(); }}>To the content</a>
      <header class="bar">
        <a class="brand" href="#/">Isocenter</a>
        <nav aria-label="Pages">
          {PAGES.map(({ path, name }) => (
            <a key={path} href={`#/${path}`} aria-current={page === path ? 'page' : undefined}>{name}</a>
          ))}
        </nav>
        <div class="right">
          {store.status && <span class="server" title={store.status.server}>{store.status.server}</span>}
          {store.status && !gone && <a class="plain" href="#/node"><Readiness status={store.status} /></a>}
          <Liveness />
          <select
            aria-label="Colours" value={theme} onChange={(event) => choose(event.currentTarget.value as Theme)}
          >{THEMES.map((t) => <option key={t.theme} value={t.theme}>{t.name}</option>)}</select>
          <button type="button" class="small" title="Documentation and keys (?)" onClick={() => setHelp(true)}>Help</button>
          <Who />
        </div>
      </header>
      <Gone />
      <main id="main" tabIndex={-1} class={gone ? 'stale' : ''}>{children}</main>
      <Announcements />
      {help && <Help onClose={() => setHelp(false)} />}
    </>
  );
}

// Not seen: for who hears the page, and is elsewhere on it when a scan ends or an order is taken. A failure interrupts what is being said.
function Announcements() {
  const { announcements } = useStore();
  const said = (failure: boolean) => announcements.filter((each) => each.failure === failure).map(({ id, text }) => <p key={id}>{text}</p>);
  return (
    <>
      <div class="hidden" role="log" aria-label="What has happened">{said(false)}</div>
      <div class="hidden" role="log" aria-live="assertive" aria-label="What has failed">{said(true)}</div>
    </>
  );
}

function Liveness() {
  const { link } = useStore();
  const text = { connecting: 'Connecting', live: 'Live', polling: 'Every 2 s', gone: 'No answer', 'signed-out': 'Signed out' }[link.kind];
  const title = link.kind === 'polling' ? 'Events do not arrive, perhaps because of a proxy; the page asks every 2 s instead' : undefined;
  return <span class={`liveness ${link.kind}`} role="status" title={title}><span class="dot" aria-hidden="true" />{text}</span>;
}

function Who() {
  const store = useStore();
  const { session } = store;
  if (!session?.signed_in) return null;
  const who = session.via === 'loopback' ? session.role ?? '' : `${session.name}, ${session.role}`;
  return (
    <span class="who">
      <span title={who}>{who}</span>
      {(session.via === 'token' || session.via === 'provider') && <button type="button" class="small" title={who} onClick={() => void store.signOut().catch(() => {})}>Sign out</button>}
    </span>
  );
}

// Said plainly, on every screen: numbers below this line are old.
function Gone() {
  const store = useStore();
  const { link } = store;
  if (link.kind !== 'gone') return null;
  return <GoneBanner since={link.since} message={link.message} nextTry={link.nextTry} />;
}

function GoneBanner({ since, message, nextTry }: { since: number; message: string; nextTry: number }) {
  const store = useStore();
  useTick(1000);
  const now = Date.now();
  return (
    <div class="gone" role="alert">
      <p>
        <b>The server has not answered since {time(new Date(since).toISOString(), now)}</b>
        <span class="numbers" aria-hidden="true"> ({coarseSeconds((now - since) / 1000)})</span>: {message}. What is shown is from then.
      </p>
      <span class="numbers" aria-hidden="true">{nextTry > now ? `trying again in ${coarseSeconds((nextTry - now) / 1000)}` : 'trying now'}</span>
      <button type="button" onClick={() => store.retryNow()}>Try now</button>
    </div>
  );
}
