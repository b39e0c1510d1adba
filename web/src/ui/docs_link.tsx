// A way from what is wrong to what to do about it. In a tab of its own: what is live stays where it is.
import type { ComponentChildren } from 'preact';
import { DOCS, type DocsPlace } from '../lib/docs.ts';

export function DocsLink({ to, children }: { to: DocsPlace; children?: ComponentChildren }) {
  return <DocsAt place={DOCS[to]}>{children}</DocsAt>;
}

export function DocsAt({ place, children = 'What to do' }: { place: string; children?: ComponentChildren }) {
  return <a class="docs" href={place} target="_blank" rel="noopener">{children}<span class="hidden"> (opens a new tab)</span></a>;
}
