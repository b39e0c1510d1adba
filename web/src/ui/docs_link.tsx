// A way from what is wrong to what to do about it. In a tab of its own: what is live stays where it is.
import type { ComponentChildren } from 'preact';
import { DOCS, type DocsPlace } from '../lib/docs.ts';

export function DocsLink({ to, children = 'What to do' }: { to: DocsPlace; children?: ComponentChildren }) {
  return <a class="docs" href={DOCS[to]} target="_blank" rel="noopener">{children}<span class="hidden"> (opens a new tab)</span></a>;
}
