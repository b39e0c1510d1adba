// Where the focus goes when what had it is gone: never to the top of the page, where who works with keys, or hears the page, has to begin anew.
const HEADINGS = 'h1, h2, h3';
const PARTS = 'section, article, header.job-heading, dialog, main';
// A list that is slower than this is read from its top.
const PATIENCE_MS = 5_000;

// The heading of the nearest part of the page that is still there, of what was around the focus, from within.
function remaining(around: Element[]): HTMLElement | null {
  const part = around.find((element) => element.isConnected && element.matches(PARTS)) ?? document.querySelector('main');
  return part?.querySelector<HTMLElement>(HEADINGS) ?? (part as HTMLElement | null);
}

function focus(element: HTMLElement): void {
  if (element.tabIndex < 0 && !element.hasAttribute('tabindex')) element.tabIndex = -1;
  element.focus({ preventScroll: true });
}

// From now on: an element that is taken away while it has the focus leaves it to the heading of what was around it.
export function keepFocus(): void {
  let last: Element | null = null;
  let around: Element[] = [];
  document.addEventListener('focusin', (event) => {
    last = event.target as Element;
    around = [];
    for (let element = last.parentElement; element; element = element.parentElement) around.push(element);
  });
  new MutationObserver(() => {
    if (!last || last.isConnected || document.activeElement !== document.body) return;
    last = null;
    const next = remaining(around);
    if (next) focus(next);
  }).observe(document.documentElement, { childList: true, subtree: true });
}

// The row that leads to `link`, as soon as the list is there: who comes back goes on where he left it. Not where the focus went elsewhere.
export function focusRow(link: string): () => void {
  const main = document.getElementById('main');
  const find = () => {
    const row = main?.querySelector<HTMLElement>(`tr a[href="${CSS.escape(link)}"]`);
    if (document.activeElement !== main) stop();
    if (!row) return;
    stop();
    row.focus();
  };
  const observer = new MutationObserver(find);
  const timer = setTimeout(() => stop(), PATIENCE_MS);
  const stop = () => {
    observer.disconnect();
    clearTimeout(timer);
  };
  if (main) observer.observe(main, { childList: true, subtree: true });
  find();
  return stop;
}
