// As the system has it unless the user chose otherwise.
export type Theme = 'dark' | 'light' | 'system';

const KEY = 'isocenter.theme';
const bright = matchMedia('(prefers-color-scheme: light)');
const listeners = new Set<() => void>();

export function chosenTheme(): Theme {
  const stored = read();
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

export function chooseTheme(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Without storage it holds until the page is closed.
  }
  apply(theme);
}

// Calls when colours have changed: what is drawn on a canvas has to be drawn again.
export function onThemeChange(call: () => void): () => void {
  listeners.add(call);
  return () => listeners.delete(call);
}

export function startTheme(): void {
  apply(chosenTheme());
  bright.addEventListener('change', () => apply(chosenTheme()));
}

function read(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function apply(theme: Theme): void {
  const shown = theme === 'system' ? (bright.matches ? 'light' : 'dark') : theme;
  document.documentElement.dataset['theme'] = shown;
  for (const call of listeners) call();
}

// A colour of the style sheet, for canvases.
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
