// Keys that work on every screen, unless somebody types or a dialog is open.
import { go } from './router.ts';

const PAGES: Record<string, string> = { o: '#/', j: '#/jobs', d: '#/dicom', q: '#/quality', n: '#/node' };
// `g`, then a letter within this time, goes to a page.
const SEQUENCE_MS = 1_500;

// Whether keys belong to what has the focus.
export function isTyping(target: HTMLElement): boolean {
  return target.matches('input:not([type=checkbox], [type=range]), select, textarea');
}

export function pageKeys(actions: { help: () => void; theme: () => void }): () => void {
  let goUntil = 0;
  const pressed = (event: KeyboardEvent) => {
    const target = event.target as HTMLElement;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(target) || target.closest('dialog')) return;
    const page = PAGES[event.key];
    if (page !== undefined && event.timeStamp < goUntil) {
      goUntil = 0;
      go(page);
    } else if (event.key === 'g') {
      goUntil = event.timeStamp + SEQUENCE_MS;
      return;
    } else if (event.key === '?') {
      actions.help();
    } else if (event.key === 't') {
      actions.theme();
    } else {
      return;
    }
    event.preventDefault();
  };
  addEventListener('keydown', pressed);
  return () => removeEventListener('keydown', pressed);
}
