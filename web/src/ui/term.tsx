// A word that says what it means when it is asked: a button, so that keys and programs that read aloud reach it.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { TERMS, type TermName } from '../lib/terms.ts';

export function Term({ name, children }: { name: TermName; children?: ComponentChildren }) {
  const [open, setOpen] = useState(false);
  const [shift, setShift] = useState(0);
  const id = useId();
  const note = useRef<HTMLSpanElement>(null);
  // Beside the right edge of the window, the note moves to the left until all of it can be read.
  useEffect(() => {
    const box = note.current?.getBoundingClientRect();
    if (open && box) setShift((before) => before + Math.min(0, document.documentElement.clientWidth - 8 - box.right));
    else setShift(0);
  }, [open]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !open) return;
    event.stopPropagation();
    event.preventDefault();
    setOpen(false);
  };
  return (
    <span class="term" onKeyDown={onKeyDown}>
      <button
        type="button" aria-expanded={open} aria-describedby={open ? id : undefined} title="What this means"
        onClick={() => setOpen(!open)} onBlur={() => setOpen(false)}
      >{children ?? name}</button>
      <span class="note" role="status" id={id} ref={note} style={{ left: `${shift}px` }} hidden={!open}>{open ? TERMS[name] : ''}</span>
    </span>
  );
}
