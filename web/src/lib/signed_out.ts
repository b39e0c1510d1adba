// Whether the server last said that who uses this browser is not signed in: then nothing but the session is asked for before somebody is.
const KEY = 'isocenter.signed-out';

export function rememberSignedOut(yes: boolean): void {
  try {
    if (yes) localStorage.setItem(KEY, '1');
    else localStorage.removeItem(KEY);
  } catch {
    // Without storage, requests that are refused are made for nothing.
  }
}

export function wasSignedOut(): boolean {
  try {
    return localStorage.getItem(KEY) !== null;
  } catch {
    return false;
  }
}
