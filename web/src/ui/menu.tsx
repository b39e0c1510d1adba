// A button that shows links below it. It closes at Escape, when one is followed, and when the focus goes elsewhere.
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';

export function Menu({ name, children }: { name: string; children: ComponentChildren }) {
  const details = useRef<HTMLDetailsElement>(null);
  const close = () => {
    if (details.current) details.current.open = false;
  };
  // What has the focus is hidden with the rest of the links.
  const closeAndStay = () => {
    close();
    details.current?.querySelector('summary')?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && details.current?.open) closeAndStay();
  };
  const onFocusOut = (event: FocusEvent) => {
    if (event.relatedTarget && !details.current?.contains(event.relatedTarget as Node)) close();
  };
  return (
    <details class="menu" ref={details} onKeyDown={onKeyDown} onFocusOut={onFocusOut}>
      <summary>{name}</summary>
      <ul onClick={(event) => (event.target as HTMLElement).closest('a') && closeAndStay()}>{children}</ul>
    </details>
  );
}
