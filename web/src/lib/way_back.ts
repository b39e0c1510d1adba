// Where somebody was before the identity provider's page took the place of this one. The address that it sends him back to is always the
// same, so that nobody can be led elsewhere.
const KEY = 'isocenter.way-back';

export function rememberPlace(hash: string): void {
  try {
    sessionStorage.setItem(KEY, hash);
  } catch {
    // Without storage the way back leads to the overview.
  }
}

// Once; empty: nothing was remembered.
export function rememberedPlace(): string {
  try {
    const hash = sessionStorage.getItem(KEY) ?? '';
    sessionStorage.removeItem(KEY);
    return hash;
  } catch {
    return '';
  }
}
