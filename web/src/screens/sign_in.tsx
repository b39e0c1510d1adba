// The ways in for people: the hospital's identity provider, or a token that the administrator gave them.
import { useEffect, useRef, useState } from 'preact/hooks';
import { messageOf } from '../api/client.ts';
import { rememberPlace } from '../lib/way_back.ts';
import { useStore } from '../state/hooks.ts';
import { DocsLink } from '../ui/docs_link.tsx';

export function SignIn() {
  const store = useStore();
  const [token, setToken] = useState('');
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      store.takeSession(await store.api.signIn(token.trim()));
    } catch (problem) {
      setError(messageOf(problem));
    }
    setBusy(false);
  };
  const main = useRef<HTMLElement>(null);
  // Also when a session has ended, where something else had the focus.
  useEffect(() => main.current?.querySelector<HTMLElement>('[data-first]')?.focus(), []);
  const provider = store.session?.provider ?? null;
  const byToken = store.session?.sign_in === 'token';
  return (
    <main class="sign-in card" id="main" tabIndex={-1} ref={main}>
      <h1>Isocenter</h1>
      {store.sessionEnded && <p class="notice" role="status">Your session has ended. Sign in again to go on where you were.</p>}
      {provider && <ByProvider name={provider} />}
      {byToken && (
        <form onSubmit={submit}>
          <label>
            {provider ? 'Or an access token' : 'Access token'}
            <input
              type="password" name="token" data-first={!provider} value={token} autoComplete="current-password" required
              onInput={(event) => setToken(event.currentTarget.value)}
            />
          </label>
          {error && <p class="problem" role="alert">{error}</p>}
          <button type="submit" class={provider ? '' : 'primary'} disabled={busy || token.trim() === ''}>{busy ? 'Signing in' : 'Sign in'}</button>
          <p class="quiet">Your administrator gives you a token; it says <DocsLink to="signIn">what you may do</DocsLink> here.</p>
        </form>
      )}
      {!provider && !byToken && (
        <p>This server knows people by their client certificates, and this browser showed none that it knows. Install yours in the browser and load the page again. <DocsLink to="signIn">Who may do what</DocsLink></p>
      )}
    </main>
  );
}

// The provider's own page takes the place of this one, and leads back.
function ByProvider({ name }: { name: string }) {
  const [gone, setGone] = useState(false);
  const leave = () => {
    setGone(true);
    rememberPlace(location.hash);
    location.assign('api/v1/session/provider');
  };
  return (
    <div class="by-provider">
      <button type="button" class="primary" data-first disabled={gone} onClick={leave}>Sign in with {name}</button>
      <p class="quiet">Your groups there say <DocsLink to="signIn">what you may do</DocsLink> here.</p>
    </div>
  );
}
