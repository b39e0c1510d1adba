// The way in for people: a token that the administrator gave them.
import { useState } from 'preact/hooks';
import { messageOf } from '../api/client.ts';
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
  return (
    <main class="sign-in card" id="main" tabIndex={-1}>
      <h1>Isocenter</h1>
      {store.sessionEnded && <p class="notice" role="status">Your session has ended. Sign in again to go on where you were.</p>}
      {store.session?.sign_in === 'token' ? (
        <form onSubmit={submit}>
          <label>
            Access token
            <input
              type="password" name="token" value={token} autoComplete="current-password" autoFocus required
              onInput={(event) => setToken(event.currentTarget.value)}
            />
          </label>
          {error && <p class="problem" role="alert">{error}</p>}
          <button type="submit" class="primary" disabled={busy || token.trim() === ''}>{busy ? 'Signing in' : 'Sign in'}</button>
          <p class="quiet">Your administrator gives you a token; it says <DocsLink to="signIn">what you may do</DocsLink> here.</p>
        </form>
      ) : (
        <p>This server knows people by their client certificates, and this browser showed none that it knows. Install yours in the browser and load the page again. <DocsLink to="signIn">Who may do what</DocsLink></p>
      )}
    </main>
  );
}
