// Small parts that several screens are made of.
import type { ComponentChildren } from 'preact';
import type { Job, JobState } from '../api/types.ts';
import { stageOf } from '../lib/progress.ts';
import { words } from '../lib/format.ts';

const STATE_NAMES: Record<JobState, string> = {
  receiving: 'Receiving', reconstructing: 'Reconstructing', refining: 'Refining', exporting: 'Storing',
  completed: 'Completed', failed: 'Failed', cancelled: 'Cancelled',
};
const SIGNS: Record<string, string> = { completed: '✓', failed: '✕', cancelled: '–', warning: '!', ok: '✓', bad: '✕' };

export function StateChip({ state }: { state: JobState }) {
  return <Chip kind={state} text={STATE_NAMES[state] ?? words(state)} />;
}

// A word with a sign and a colour, none of which is needed to understand it.
export function Chip({ kind, text, title }: { kind: string; text: string; title?: string }) {
  return (
    <span class={`chip ${kind}`} title={title}>
      <span class="sign" aria-hidden="true">{SIGNS[kind] ?? '●'}</span>{text}
    </span>
  );
}

export function JobProgressBar({ job }: { job: Job }) {
  const { name, done, total, fraction } = stageOf(job);
  return (
    <div class="progress">
      <progress max={1} value={fraction} aria-label={name} />
      <span class="numbers quiet">{total > 0 ? `${done} / ${total} ${name}` : name}</span>
    </div>
  );
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return <div class="fact"><dt>{name}</dt><dd>{children}</dd></div>;
}

export function Facts({ children }: { children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>;
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="quiet empty">{children}</p>;
}

// A label on the left, a bar and its numbers.
export function Gauge({ label, used, limit, text }: { label: string; used: number; limit: number; text: string }) {
  return (
    <div class="gauge">
      <span class="quiet">{label}</span>
      <meter min={0} max={Math.max(limit, 1)} value={Math.min(used, limit)} aria-label={label} />
      <span class="numbers">{text}</span>
    </div>
  );
}
