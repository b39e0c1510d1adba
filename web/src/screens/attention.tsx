// What an operator should not have to look for on other screens: scans that were refused, volumes that may be wrong or do not reach their
// destinations, tests that were not passed, calibrations that end.
import { useMemo } from 'preact/hooks';
import type { CalibrationSet, Destination, History, Job, QualityResult, Refusal } from '../api/types.ts';
import { endingSets, validity } from '../lib/calibration_sets.ts';
import { isStuck } from '../lib/destinations.ts';
import { placeOfDoubts } from '../lib/docs.ts';
import { figureName } from '../lib/figures.ts';
import { coarseSeconds, count, jobName, plural, significant } from '../lib/format.ts';
import { failedOf, levelOf, seriesOf } from '../lib/quality_results.ts';
import { doubtfulScans, refusedLately } from '../lib/rooms.ts';
import { href, jobHref } from '../lib/router.ts';
import { doubtsOf } from '../lib/warnings.ts';
import { useAsked, useRest, useStore } from '../state/hooks.ts';
import { Time } from '../ui/bits.tsx';
import { DocsAt, DocsLink } from '../ui/docs_link.tsx';

const TRANSFERS_MS = 5_000;
const QUALITY_MS = 60_000;
const CALIBRATIONS_MS = 60_000;
const REFUSALS_MS = 5_000;
// So many volumes that may be wrong have a line of their own.
const MOST_DOUBTFUL = 3;

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
  const refused = refusedLately(history?.last_refusals ?? [], jobs, store.now());
  const doubtful = doubtfulScans(jobs, store.now());
  const more = doubtful.length - MOST_DOUBTFUL;
  if (refused.length + doubtful.length + held.length + failed.length + ending.length === 0) return null;
  return (
    <section class="attention" aria-labelledby="attention">
      <h2 id="attention">Needs attention</h2>
      <ul>
        {refused.map((refusal) => <li key={refusal.station_name} class="problem"><Refused refusal={refusal} now={store.now()} /></li>)}
        {doubtful.slice(0, MOST_DOUBTFUL).map((job) => <li key={job.job_id} class="problem"><DoubtfulScan job={job} now={store.now()} /></li>)}
        {more > 0 && <li class="problem"><a href={href(['jobs'], { state: 'completed' })}>{plural(more, 'more volume', 'more volumes')}</a> may be wrong</li>}
        {held.map((d) => <li key={d.name} class={d.failed > 0 ? 'problem' : 'notice'}><Held destination={d} /></li>)}
        {failed.map((result) => <li key={result.id} class="problem"><Failed result={result} /></li>)}
        {ending.map((set) => <Ending key={set.name} set={set} now={store.now()} />)}
      </ul>
    </section>
  );
}

function Refused({ refusal: r, now }: { refusal: Refusal; now: number }) {
  return <>An acquisition of {r.station_name ?? 'a room that had not said its name'} was refused, <Time at={r.time} now={now} />: {r.message || 'its console was told why'} <DocsLink to="refusing" /></>;
}

function DoubtfulScan({ job, now }: { job: Job; now: number }) {
  return <>The volume of <a href={jobHref(job.job_id)}>{jobName(job, now)}</a>{job.accession_number && ` (accession no. ${job.accession_number})`} may be wrong: {doubtsOf(job)} <DocsAt place={placeOfDoubts(job)} /></>;
}

function Held({ destination: d }: { destination: Destination }) {
  const parts = [
    isStuck(d) && `${count(d.queued)} instances wait, the oldest for ${coarseSeconds(d.oldest_seconds)}`,
    d.failed > 0 && `${count(d.failed)} instances failed`,
  ].filter(Boolean).join('; ');
  return <><a href={href(['dicom'], { destination: d.name })}>DICOM destination {d.name}</a>: {parts}{d.reason && ` (${d.reason})`}</>;
}

// A set that another one follows is no matter; one that nobody needs any more is withdrawn.
function Ending({ set, now }: { set: CalibrationSet; now: number }) {
  const { kind, text } = validity(set, now);
  return (
    <li class={kind === 'bad' ? 'problem' : 'notice'}>
      <a href={href(['quality'], { set: set.name })}>Calibration set {set.name}</a> of {set.station_name}: {text.toLowerCase()}, <Time at={set.valid_until} now={now} />, and no other follows it <DocsLink to="calibrationEnds">What scans get then</DocsLink>
    </li>
  );
}

// One figure is enough to know what kind of thing it is; the screen has them all.
function Failed({ result }: { result: QualityResult }) {
  const now = useStore().now();
  const wrong = result.verdicts.filter((verdict) => !verdict.passed);
  const first = wrong.find((verdict) => levelOf(verdict) === 'not passed') ?? wrong[0];
  return (
    <>
      <a href={href(['quality'], { station: result.station_name, protocol: result.protocol })}>Test of {result.station_name}, {result.protocol}</a> was not passed, <Time at={result.record_time} now={now} />
      {first?.not_comparable && `: ${figureName(first.name)} is not comparable: ${first.not_comparable}`}
      {first && !first.not_comparable && `: ${figureName(first.name)} is ${first.value === null ? 'not measured' : significant(first.value)}, its baseline ${significant(first.baseline)} ±${significant(first.tolerance, 2)}`}
      {wrong.length > 1 && `, and ${wrong.length - 1} more`}
    </>
  );
}
