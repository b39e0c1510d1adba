// Whether who uses this browser was signed in when the server last said so: then the page asks for all at once, before it knows that it still is.
const KEY = 'isocenter.signed-in';

export function rememberSignedIn(yes: boolean): void {
  try {
    if (yes) localStorage.setItem(KEY, '1');
    else localStorage.removeItem(KEY);
  } catch {
    // Without storage the page asks for one thing after the other.
  }
}

export function wasSignedIn(): boolean {
  try {
    return localStorage.getItem(KEY) !== null;
  } catch {
    return false;
  }
}
