// Where the page is, in the part of the address after '#': it works below any path of any proxy and is never sent to a server.
import { useEffect, useState } from 'preact/hooks';

export interface Route {
  path: string[];
  query: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  return {
    path: path.split('/').filter(Boolean).map(decoded),
    query: new URLSearchParams(query),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function href(path: string[], query: Record<string, string | undefined> = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) parameters.set(name, value);
  const text = parameters.toString();
  return `#/${path.map(encodeURIComponent).join('/')}${text ? `?${text}` : ''}`;
}

export const jobHref = (jobId: string) => href(['jobs', jobId]);

export function go(to: string): void {
  location.hash = to;
}

// In place of where the page is: the way back leads to what was before.
export function goInstead(to: string): void {
  location.replace(to);
}

// A whole row of a table leads where its link does, but for its own buttons and for text that is being selected.
export function rowLink(to: string): (event: MouseEvent) => void {
  return (event) => {
    if ((event.target as HTMLElement).closest('a, button, dialog') || String(getSelection())) return;
    if (event.ctrlKey || event.metaKey) window.open(to);
    else go(to);
  };
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const changed = () => setRoute(parseRoute(location.hash));
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return route;
}
