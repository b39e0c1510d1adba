// Small parts that several screens are made of.
import { type ComponentChildren, Fragment } from 'preact';
import type { Job, JobState } from '../api/types.ts';
import { doubtsOf, warnedOf } from '../lib/warnings.ts';
import { stageOf } from '../lib/progress.ts';
import { useStore } from '../state/hooks.ts';
import { fullTime, jobName, plural, time, utcOffset, waitLeft, words } from '../lib/format.ts';

const STATE_NAMES: Record<JobState, string> = {
  receiving: 'Receiving', reconstructing: 'Reconstructing', refining: 'Refining', exporting: 'Storing',
  completed: 'Completed', failed: 'Failed', cancelled: 'Cancelled',
};
const SIGNS: Record<string, string> = { stalled: '!', doubtful: '!', completed: '✓', failed: '✕', cancelled: '–', warning: '!', ok: '✓', bad: '✕' };

// A volume that may be wrong does not look like a good one, nor a scan without its console like one that goes on.
export function StateChip({ job }: { job: Pick<Job, 'state' | 'warning_kinds'> & Partial<Pick<Job, 'awaits_console_until_time'>> }) {
  if (job.awaits_console_until_time) return <Chip kind="stalled" text="No console" />;
  const doubts = doubtsOf(job);
  const name = STATE_NAMES[job.state] ?? words(job.state);
  return doubts ? <Chip kind="doubtful" text={`${name}, may be wrong`} title={doubts} /> : <Chip kind={job.state} text={name} />;
}

// The same where something else tells the state.
export function Doubtful({ job }: { job: Pick<Job, 'state' | 'warning_kinds'> }) {
  const doubts = doubtsOf(job);
  return doubts ? <Chip kind="doubtful" text="may be wrong" title={doubts} /> : null;
}

// A word with a sign and a colour, none of which is needed to understand it.
export function Chip({ kind, text, title }: { kind: string; text: string; title?: string }) {
  return (
    <span class={`chip ${kind}`} title={title}>
      <span class="sign" aria-hidden="true">{SIGNS[kind] ?? '●'}</span>{text}
    </span>
  );
}

// Of what a job is warned; nothing where it is not.
export function Warnings({ job }: { job: Pick<Job, 'warning_count' | 'warning_kinds'> }) {
  if (job.warning_count === 0) return null;
  return (
    <span class="chip warning" title={plural(job.warning_count, 'warning', 'warnings')}>
      <span class="sign" aria-hidden="true">!</span><span class="hidden">{job.warning_count === 1 ? 'warning: ' : 'warnings: '}</span>{warnedOf(job)}
    </span>
  );
}

// In lists; the job's own screen says what may be done. Nothing counts down while nobody knows.
export function ConsoleWait({ job, now }: { job: Job; now: number }) {
  const { gone } = useStore();
  const until = job.awaits_console_until_time;
  if (until === null) return null;
  return <span class="console-wait" title={fullTime(until)}><Chip kind="stalled" text={`Waits for its console until ${time(until, now)}${gone ? '' : `, ${waitLeft(until, now)}`}`} /></span>;
}

export function JobProgressBar({ job }: { job: Job }) {
  const { name, done, total, fraction } = stageOf(job);
  return (
    <div class="progress">
      <progress max={1} value={fraction} aria-label={name} aria-valuetext={total > 0 ? `${done} of ${total}` : undefined} />
      <span class="numbers quiet">{total > 0 ? `${done} / ${total} ${name}` : name}</span>
    </div>
  );
}

// A time of day; its date and what it is from UTC, where one asks.
export function Time({ at, now }: { at: string | null; now: number }) {
  return at ? <time dateTime={at} title={fullTime(at)}>{time(at, now)}</time> : <>–</>;
}

// A name as programs write it, which may be broken behind its signs rather than anywhere, and in whatever direction it is written leaves
// that of the words around it alone.
export function Name({ text }: { text: string }) {
  const parts = text.split(/(?<=[_.\-/])(?=[^_.\-/])/);
  return <bdi>{parts.map((part, i) => (i === 0 ? part : <Fragment key={i}><wbr />{part}</Fragment>))}</bdi>;
}

// Which job a question is about: "Angio-1, head_soft, 09:30:05", its id, and the order, by which the information system knows whose it is.
export function JobNamed({ job, now }: { job: Job; now: number }) {
  return <p><b>{jobName(job, now)}</b> <span class="quiet id">{job.job_id}</span>{job.accession_number && <><br />Accession number <b>{job.accession_number}</b></>}</p>;
}

// Said once beside tables of times.
export function LocalTimes() {
  return <span class="quiet">local time, {utcOffset(new Date())}</span>;
}

export function Fact({ name, children }: { name: ComponentChildren; children: ComponentChildren }) {
  return <div class="fact"><dt>{name}</dt><dd>{children}</dd></div>;
}

export function Facts({ children }: { children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>;
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="quiet empty">{children}</p>;
}

// A label on the left, a bar, which is called `name`, and its numbers.
export function Gauge({ label, name, used, limit, text }: { label: ComponentChildren; name: string; used: number; limit: number; text: string }) {
  return (
    <div class="gauge">
      <span class="quiet">{label}</span>
      <Bar part={limit > 0 ? used / limit : 0} label={name} text={text} />
      <span class="numbers">{text}</span>
    </div>
  );
}

// How much of something, 0 to 1; `text` in words.
export function Bar({ part, label, text }: { part: number; label: string; text: string }) {
  const percent = Math.round(100 * Math.min(1, Math.max(0, part)));
  return (
    <span class="level" role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={percent} aria-valuetext={text}>
      <span style={{ width: `${percent}%` }} />
    </span>
  );
}
