// One job: where it is, its volume, its timeline, everything that is known of it.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type Job as JobMessage, type JobDetail, type Trace, type Transfers, isActive } from '../api/types.ts';
import { Convergence } from '../charts/convergence.tsx';
import { TimelineChart } from '../charts/timeline_chart.tsx';
import { jobTitle } from '../lib/announcements.ts';
import { algorithmName, count, fullTime, seconds, time, waitLeft, words } from '../lib/format.ts';
import { finishOf } from '../lib/progress.ts';
import { deliveriesOf } from '../lib/deliveries.ts';
import { doneText } from '../lib/relations.ts';
import { go, href } from '../lib/router.ts';
import { useAsked, useStore, useTick, useTitle } from '../state/hooks.ts';
import type { Store } from '../state/store.ts';
import { useTransfers } from '../state/transfers.ts';
import { Chip, Empty, JobNamed, JobProgressBar, LocalTimes, Name, StateChip, Time } from '../ui/bits.tsx';
import { Confirm } from '../ui/dialog.tsx';
import { DocsLink } from '../ui/docs_link.tsx';
import { Term } from '../ui/term.tsx';
import { Viewer } from '../viewer/viewer.tsx';
import { JobActions } from './job_actions.tsx';
import { JobFacts, Timings } from './job_facts.tsx';
import { PreviewPanes } from './preview.tsx';
import { TransferTable } from './transfers.tsx';
import { Doubts, WarningList } from './warning_list.tsx';

const TABS = [
  { id: 'volume', name: 'Volume' },
  { id: 'timeline', name: 'Timeline' },
  { id: 'details', name: 'Details' },
  { id: 'dicom', name: 'DICOM' },
] as const;
type Tab = (typeof TABS)[number]['id'];
const ACTIVE_MS = 2_000;

export function Job({ jobId, query }: { jobId: string; query: URLSearchParams }) {
  const store = useStore();
  useTick(1000);
  const live = store.jobs.get(jobId);
  const path = `jobs/${encodeURIComponent(jobId)}`;
  // The state is part of the question, so that an end is noticed at once.
  const { data, error } = useAsked<JobDetail>(path, {}, live && !isActive(live) ? 0 : ACTIVE_MS, true);
  const stale = live && data && live.state !== data.state;
  const latest = useAsked<JobDetail>(stale ? path : null, {}, 0);
  const job = stale ? latest.data ?? data : data;
  useTitle(job ? jobTitle(live ?? job) : jobId);
  if (store.removed.has(jobId)) return <NoJob jobId={jobId}><p class="notice" role="status">Job {jobId} was deleted, and its volume with it. <a href="#/jobs">All jobs</a></p></NoJob>;
  if (!job) return <NoJob jobId={jobId}>{error ? <p class="problem" role="alert">{error}. <a href="#/jobs">All jobs</a></p> : <p class="quiet">Loading</p>}</NoJob>;
  const shown: JobDetail = live ? { ...job, ...live } : job;
  const usual: Tab = shown.has_volume || isActive(shown) ? 'volume' : 'details';
  const tab = TABS.find((t) => t.id === query.get('tab'))?.id ?? usual;
  return (
    <div class="job">
      <Heading job={shown} store={store} />
      {shown.awaits_console_until_time !== null
        ? <BrokenStream jobId={shown.job_id} until={shown.awaits_console_until_time} now={store.now()} gone={store.gone} />
        : store.isStalled(shown) && <p class="notice" role="alert">No frames come any more, though the console is connected. <DocsLink to="jobFailed" /></p>}
      {shown.error && <Ending error={shown.error} failed={shown.state === 'failed'} />}
      <nav class="tabs" aria-label="Parts of this job">
        {TABS.map(({ id, name }) => (
          <a key={id} href={href(['jobs', jobId], { tab: id })} aria-current={id === tab ? 'page' : undefined}>
            {name}{id === 'details' && shown.warning_count > 0 && <>{' '}<span class="badge">{shown.warning_count}<span class="hidden"> {shown.warning_count === 1 ? 'warning' : 'warnings'}</span></span></>}
          </a>
        ))}
      </nav>
      {tab === 'volume' && <VolumeTab job={shown} beside={query.get('beside')} />}
      {tab === 'timeline' && <TimelineTab job={shown} />}
      {tab === 'details' && <DetailsTab job={shown} now={store.now()} />}
      {tab === 'dicom' && <DicomTab jobId={jobId} />}
    </div>
  );
}

// The countdown is not read out anew each second, and not there while nobody knows.
function BrokenStream({ jobId, until, now, gone }: { jobId: string; until: string; now: number; gone: boolean }) {
  return (
    <div class="notice">
      <p role="alert">
        <b>The connection to the console is broken: the patient stays.</b> Until {time(until, now)} the scan waits for the console, which goes on by itself when it is connected again.
        Without it the job fails then, or is completed where its protocol allows for the frames that are missing. <DocsLink to="atTheArm" />
      </p>
      <details><summary>From the command line</summary><code>isocenter stream <span class="whole-word">--resume {jobId}</span></code></details>
      {!gone && <p class="numbers quiet">{waitLeft(until, now)}</p>}
    </div>
  );
}

function NoJob({ jobId, children }: { jobId: string; children: ComponentChildren }) {
  return <><h1 class="hidden">Job {jobId}</h1>{children}</>;
}

// Words first: the code is what support asks for. A cancelled job's says what its state says.
function Ending({ error, failed }: { error: NonNullable<JobMessage['error']>; failed: boolean }) {
  return (
    <div class={failed ? 'problem' : 'notice'}>
      <p>{error.message} {failed && <DocsLink to="jobFailed" />}</p>
      {failed && <details class="quiet"><summary>For support</summary>Code <span class="id">{error.code}</span></details>}
    </div>
  );
}

function Heading({ job, store }: { job: JobDetail; store: Store }) {
  const [asking, setAsking] = useState<'cancel' | 'delete' | null>(null);
  const path = `jobs/${encodeURIComponent(job.job_id)}`;
  const finish = finishOf(job, store.now(), store.gone);
  return (
    <header class="job-heading">
      <div>
        <h1><Name text={job.station_name || 'No station name'} /> <span class="quiet"><Name text={job.protocol} /></span></h1>
        <p class="numbers quiet"><span class="job-id"><span class="id">{job.job_id}</span> · </span><Time at={job.create_time} now={store.now()} /><span class="on-paper"> ({fullTime(job.create_time)})</span> · {job.job_class}{job.accession_number && <span class="accession"> · accession no. {job.accession_number}</span>}{job.refines_job_id && ` · ${doneText(job)}`}</p>
      </div>
      <div class="job-state">
        <StateChip job={job} />
        {isActive(job) && <JobProgressBar job={job} />}
        {isActive(job) && finish && <span class="numbers">{finish}</span>}
        {job.warning_count > 0 && <a class="warned" href={href(['jobs', job.job_id], { tab: 'details' })}>{count(job.warning_count)} {job.warning_count === 1 ? 'warning' : 'warnings'}</a>}
        {job.result?.seconds_after_last_frame != null && <span class="numbers after-last">{seconds(job.result.seconds_after_last_frame)} <span class="quiet">after the last frame</span></span>}
        {job.has_volume && <Deliveries jobId={job.job_id} />}
      </div>
      <div class="actions">
        <JobActions job={job} />
        {isActive(job) && store.may('console') && <button type="button" onClick={() => setAsking('cancel')}>Cancel job</button>}
        {!isActive(job) && store.may('administrator') && <button type="button" onClick={() => setAsking('delete')}>Delete job</button>}
      </div>
      {asking === 'cancel' && (
        <Confirm
          title="Cancel this job?" action="Cancel job" dangerous onClose={() => setAsking(null)}
          onConfirm={async () => {
            store.takeJob(await store.api.post<JobMessage>(`${path}:cancel`));
            store.refresh();
          }}
        >
          <JobNamed job={job} now={store.now()} />
          <p>
            {job.state === 'receiving'
              ? 'The console is told to stop sending. The exposure so far gives no volume.'
              : 'Its computing stops, and it gives no volume.'} This cannot be taken back.
          </p>
        </Confirm>
      )}
      {asking === 'delete' && (
        <Confirm
          title="Delete this job?" action="Delete job" dangerous onClose={() => setAsking(null)}
          onConfirm={async () => {
            await store.api.remove(path);
            store.say(`Job ${job.job_id} is deleted.`);
            store.refresh();
            go(href(['jobs']));
          }}
        >
          <JobNamed job={job} now={store.now()} />
          <p>Its volume and its DICOM objects are removed from this server. This cannot be taken back.</p>
        </Confirm>
      )}
    </header>
  );
}

// What the tab DICOM has, in a word, on every tab.
function Deliveries({ jobId }: { jobId: string }) {
  const transfers = useTransfers({ job_id: jobId }, ACTIVE_MS);
  return <>{deliveriesOf(transfers).map(({ kind, text }) => <a key={kind} class="delivery" href={href(['jobs', jobId], { tab: 'dicom' })}><Chip kind={kind} text={text} /></a>)}</>;
}

function VolumeTab({ job, beside }: { job: JobDetail; beside: string | null }) {
  if (job.has_volume) return <><Doubts warnings={job.warnings} /><Viewer job={job} grid={job.grid} beside={beside} /></>;
  if (isActive(job)) return <PreviewPanes job={job} />;
  return <Empty>This job has no volume: it {job.state === 'cancelled' ? 'was cancelled' : 'failed'} before one was complete.</Empty>;
}

function noTimeline(job: JobDetail): string {
  if (isActive(job)) return 'The timeline is there when the volume is complete.';
  if (job.state === 'completed') return 'There is no timeline: this volume was made of stored ones, without a device.';
  return `There is no timeline: the job ${job.state === 'cancelled' ? 'was cancelled' : 'failed'} before its volume was complete.`;
}

function TimelineTab({ job }: { job: JobDetail }) {
  const refined = (job.result?.timings_seconds.refine ?? 0) > 0;
  const { data, error } = useAsked<Trace>(job.has_trace ? `jobs/${encodeURIComponent(job.job_id)}/trace` : null, {}, 0);
  return (
    <>
      <section class="card" aria-labelledby="trace">
        <header><h2 id="trace">Devices</h2>{data && <span class="quiet">all that ran on them{refined && ', the refinement’s projections too'}</span>}</header>
        {error && <p class="problem">{error}</p>}
        {!job.has_trace && <Empty>{noTimeline(job)}</Empty>}
        {data && <TimelineChart trace={data} />}
      </section>
      {job.result && <section class="card" aria-labelledby="stages"><header><h2 id="stages">Stages</h2><span class="quiet">of the job, which overlap{refined && '; the refinement’s projections count as refine only'}</span></header><Timings result={job.result} /></section>}
      {job.refinement && !job.refinement.second_pass && (!job.refinement.phase || job.progress.iterations_total > 0) && (
        <section class="card" aria-labelledby="convergence">
          <header><h2 id="convergence">Convergence</h2><Term name="Residual">residual</Term>{job.refinement.iterations.some(({ objective }) => objective !== null) && <Term name="Objective">objective</Term>}<span class="quiet">{algorithmName(job.refinement.algorithm)}, {words(job.refinement.projector)}</span></header>
          {job.refinement.iterations.length > 0 ? <Convergence iterations={job.refinement.iterations} /> : <Empty>No iteration is complete.</Empty>}
        </section>
      )}
    </>
  );
}

function DetailsTab({ job, now }: { job: JobDetail; now: number }) {
  return (
    <>
      <section class="card" aria-labelledby="warnings">
        <header><h2 id="warnings">Warnings</h2>{job.warnings.length > 0 && <DocsLink to="warnings">What they mean</DocsLink>}</header>
        {job.warnings.length === 0 && <Empty>None.</Empty>}
        <WarningList warnings={job.warnings} />
        {job.findings.length > 0 && <Findings findings={job.findings} />}
      </section>
      <JobFacts job={job} now={now} />
    </>
  );
}

// What nobody is warned of, and who looks closely wants to know.
function Findings({ findings }: { findings: string[] }) {
  return (
    <>
      <h3 id="findings">Findings</h3>
      <ul class="findings" aria-labelledby="findings">{findings.map((finding) => <li key={finding}>{finding}</li>)}</ul>
    </>
  );
}

function DicomTab({ jobId }: { jobId: string }) {
  const { data, error } = useAsked<Transfers>('transfers', { job_id: jobId }, ACTIVE_MS);
  return (
    <section class="card" aria-labelledby="sends">
      <header><h2 id="sends">Destinations of this volume</h2><LocalTimes /></header>
      {error && <p class="problem">{error}</p>}
      {data && !data.enabled && <Empty>No destination is configured. <DocsLink to="destinations">How to have results sent</DocsLink></Empty>}
      {data?.enabled && <TransferTable transfers={data.transfers} labelledBy="sends" />}
    </section>
  );
}
