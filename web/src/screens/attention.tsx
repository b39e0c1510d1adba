// What an operator should not have to look for on other screens: scans that were refused or failed, volumes that may be wrong or do not reach
// their destinations, tests that were not passed, calibrations that end.
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import type { CalibrationSet, Destination, History, Job, QualityResult, Refusal } from '../api/types.ts';
import { acknowledge, acknowledgedBy, callAgain } from '../lib/acknowledged.ts';
import { endingSets, validity } from '../lib/calibration_sets.ts';
import { isStuck } from '../lib/destinations.ts';
import { placeOfDoubts } from '../lib/docs.ts';
import { figureName } from '../lib/figures.ts';
import { coarseSeconds, count, jobName, plural, significant } from '../lib/format.ts';
import { failedOf, levelOf, seriesOf } from '../lib/quality_results.ts';
import { doubtfulScans, failedScans, refusedLately } from '../lib/rooms.ts';
import { href, jobHref } from '../lib/router.ts';
import { doubtsOf } from '../lib/warnings.ts';
import { useAsked, useRest, useStore } from '../state/hooks.ts';
import { Time } from '../ui/bits.tsx';
import { DocsAt, DocsLink } from '../ui/docs_link.tsx';

const TRANSFERS_MS = 5_000;
const QUALITY_MS = 60_000;
const CALIBRATIONS_MS = 60_000;
const REFUSALS_MS = 5_000;
// So many scans without a volume have a line of their own, and so many volumes that may be wrong.
const MOST_SCANS = 3;

// Nothing where all is well.
export function Attention() {
  const store = useStore();
  const { data: transfers, error } = useAsked<{ destinations: Destination[] }>('transfers', { page_size: 1 }, TRANSFERS_MS, true);
  // A long answer, of what changes once in a day.
  const rests = useRest(transfers !== null || error !== null);
  const { data: quality } = useAsked<{ results: QualityResult[] }>(rests ? 'quality' : null, { limit: 1000 }, QUALITY_MS);
  const held = (transfers?.destinations ?? []).filter((d) => isStuck(d) || d.failed > 0);
  const failed = useMemo(() => seriesOf(quality?.results ?? []).map(failedOf).filter((result) => result !== null), [quality]);
  const { data: calibrations } = useAsked<{ calibrations: CalibrationSet[] }>(rests ? 'calibrations' : null, { limit: 1000 }, CALIBRATIONS_MS);
  const ending = endingSets(calibrations?.calibrations ?? [], store.now());
  // Of the history the last refusals alone.
  const { data: history } = useAsked<History>(rests ? 'history' : null, { seconds: 60, points: 2 }, REFUSALS_MS, true);
  const jobs = [...store.jobs.values()];
  const now = store.now();
  const me = store.session?.name ?? '';
  const since = acknowledgedBy(me, now);
  const isNew = ({ what }: Entry) => what === null || !since.has(what);
  const without = failedScans(jobs, now).map((job) => withoutEntry(job, now));
  const doubtful = doubtfulScans(jobs, now).map((job) => doubtfulEntry(job, now));
  const lasting = [...failed.map((result) => failedEntry(result, now)), ...ending.map((set) => endingEntry(set, now))];
  const calling = [
    ...refusedLately(history?.last_refusals ?? [], jobs, now).map((refusal) => refusedEntry(refusal, now)),
    ...firstOf(without.filter(isNew), 'failed', (more) => `${plural(more, 'more scan has', 'more scans have')} no volume`),
    ...firstOf(doubtful.filter(isNew), 'completed', (more) => `${plural(more, 'more volume', 'more volumes')} may be wrong`),
    ...held.map(heldEntry), ...lasting.filter(isNew),
  ];
  const acknowledged = [...without, ...doubtful, ...lasting].filter((entry) => !isNew(entry));
  if (calling.length + acknowledged.length === 0) return null;
  // What is said draws the page anew.
  const change = (how: typeof acknowledge, { what, name }: Entry, said: string) => {
    how(me, what!, store.now());
    store.say(`${said}: ${name}`);
  };
  return (
    <section class="attention" aria-labelledby="attention">
      <h2 id="attention">{calling.length > 0 ? 'Needs attention' : 'Nothing new needs attention'}</h2>
      <ul>
        {calling.map((entry) => (
          <li key={entry.what ?? entry.name} class={entry.kind}>
            {entry.text}{' '}
            {entry.what !== null && <button type="button" class="small" aria-label={`Acknowledge: ${entry.name}`} title="Calls no more in this browser, for twelve hours or until something new happens to it" onClick={() => change(acknowledge, entry, 'Acknowledged, in this browser only')}>Acknowledge</button>}
          </li>
        ))}
      </ul>
      {acknowledged.length > 0 && (
        <details class="acknowledged">
          <summary>{count(acknowledged.length)} acknowledged, in this browser only</summary>
          <ul>
            {acknowledged.map((entry) => (
              <li key={entry.what}>
                {entry.text} <span class="quiet">Acknowledged <Time at={new Date(since.get(entry.what!)!).toISOString()} now={now} /></span>{' '}
                <button type="button" class="small" aria-label={`Call again: ${entry.name}`} onClick={() => change(callAgain, entry, 'Calls again')}>Call again</button>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

interface Entry {
  // By which it is acknowledged: what has changed is something new. Null for what cannot be: a destination that is stuck again tomorrow could
  // not be told from one that was acknowledged today, and a refusal is over after minutes.
  what: string | null;
  kind: 'problem' | 'notice';
  // For who hears a button alone.
  name: string;
  text: ComponentChildren;
}

// Of many of one kind the first, and how many more there are.
function firstOf(entries: Entry[], state: string, moreText: (more: number) => string): Entry[] {
  const more = entries.length - MOST_SCANS;
  if (more <= 0) return entries;
  const name = moreText(more);
  return [...entries.slice(0, MOST_SCANS), { what: null, kind: 'problem', name, text: <a href={href(['jobs'], { state })}>{name}</a> }];
}

function refusedEntry(r: Refusal, now: number): Entry {
  const text = <>An acquisition of {r.station_name ?? 'a room that had not said its name'} was refused, <Time at={r.time} now={now} />: {r.message || 'its console was told why'} <DocsLink to="refusing" /></>;
  return { what: null, kind: 'problem', name: `refusal of ${r.station_name}`, text };
}

// Whose scan it is, as the information system knows it.
function Scan({ job, now }: { job: Job; now: number }) {
  return <><a href={jobHref(job.job_id)}>{jobName(job, now)}</a>{job.accession_number && ` (accession no. ${job.accession_number})`}</>;
}

function withoutEntry(job: Job, now: number): Entry {
  const text = <>The scan of <Scan job={job} now={now} /> has no volume{job.error && `: ${job.error.message}`} <DocsLink to="failedScan" /></>;
  return { what: `failed ${job.job_id}`, kind: 'problem', name: `failed scan of ${jobName(job, now)}`, text };
}

function doubtfulEntry(job: Job, now: number): Entry {
  const doubts = doubtsOf(job);
  return {
    what: `volume ${job.job_id}: ${doubts}`, kind: 'problem', name: `volume of ${jobName(job, now)}`,
    text: <>The volume of <Scan job={job} now={now} /> may be wrong: {doubts} <DocsAt place={placeOfDoubts(job)} /></>,
  };
}

function heldEntry(d: Destination): Entry {
  const parts = [
    isStuck(d) && `${count(d.queued)} instances wait, the oldest for ${coarseSeconds(d.oldest_seconds)}`,
    d.failed > 0 && `${count(d.failed)} instances failed`,
  ].filter(Boolean).join('; ');
  const text = <><a href={href(['dicom'], { destination: d.name })}>DICOM destination {d.name}</a>: {parts}{d.reason && ` (${d.reason})`} <DocsLink to={d.failed > 0 ? 'sendFailed' : 'destinationStuck'} /></>;
  return { what: null, kind: d.failed > 0 ? 'problem' : 'notice', name: `DICOM destination ${d.name}`, text };
}

// A set that another one follows is no matter; one that nobody needs any more is withdrawn.
function endingEntry(set: CalibrationSet, now: number): Entry {
  const { kind, text } = validity(set, now);
  return {
    what: `set ${set.name}: ${set.valid_until}, ${kind}`, kind: kind === 'bad' ? 'problem' : 'notice', name: `calibration set ${set.name}`,
    text: <><a href={href(['quality'], { set: set.name })}>Calibration set {set.name}</a> of {set.station_name}: {text.toLowerCase()}, <Time at={set.valid_until} now={now} />, and no other follows it <DocsLink to="calibrationEnds">What scans get then</DocsLink></>,
  };
}

// One figure is enough to know what kind of thing it is; the screen has them all.
function failedEntry(result: QualityResult, now: number): Entry {
  const wrong = result.verdicts.filter((verdict) => !verdict.passed);
  const first = wrong.find((verdict) => levelOf(verdict) === 'not passed') ?? wrong[0];
  const text = (
    <>
      <a href={href(['quality'], { station: result.station_name, protocol: result.protocol })}>Test of {result.station_name}, {result.protocol}</a> was not passed, <Time at={result.record_time} now={now} />
      {first?.not_comparable && `: ${figureName(first.name)} is not comparable: ${first.not_comparable}`}
      {first && !first.not_comparable && `: ${figureName(first.name)} is ${first.value === null ? 'not measured' : significant(first.value)}, its baseline ${significant(first.baseline)} ±${significant(first.tolerance, 2)}`}
      {wrong.length > 1 && `, and ${wrong.length - 1} more`}
    </>
  );
  return { what: `test ${result.id}`, kind: 'problem', name: `test of ${result.station_name}, ${result.protocol}`, text };
}
