// What an operator looks at all day: rooms, active jobs, devices, throughput.
import { useEffect, useState } from 'preact/hooks';
import { messageOf } from '../api/client.ts';
import type { Device, Job, Queue, Room } from '../api/types.ts';
import { dicomText, echoCommand, parts, reached, serverFlags } from '../lib/addresses.ts';
import { activeOf, coarseSeconds, count, time } from '../lib/format.ts';
import { finishOf, finishTime, rateOf } from '../lib/progress.ts';
import { go, jobHref, rowLink } from '../lib/router.ts';
import { useAsked, useRest, useStore, useTick } from '../state/hooks.ts';
import type { Store } from '../state/store.ts';
import { ConsoleWait, Empty, JobProgressBar, LocalTimes, Name, StateChip, Warnings } from '../ui/bits.tsx';
import { CopyButton } from '../ui/copy_button.tsx';
import { DocsLink } from '../ui/docs_link.tsx';
import { later } from '../ui/later.tsx';
import { Term } from '../ui/term.tsx';
import { Attention } from './attention.tsx';
import { DeviceList } from './devices.tsx';
import { JobTable } from './job_table.tsx';
import { Nodes } from './nodes.tsx';
import { Rooms } from './rooms.tsx';

// Plots take longest to read and to draw, and are looked at last.
const charts = () => import('../charts/history.tsx');
export const HistoryPlots = later(() => charts().then(({ HistoryPlots: part }) => part));

const ROOMS_MS = 3_000;
const QUEUE_MS = 2_000;
const DEVICES_MS = 3_000;

export function Overview() {
  const store = useStore();
  useTick(1000);
  const rooms = useAsked<{ rooms: Room[] }>('rooms', {}, ROOMS_MS, true);
  const queue = useAsked<Queue>('queue', {}, QUEUE_MS, true);
  const devices = useAsked<{ devices: Device[] }>('devices', {}, DEVICES_MS, true);
  // The first screen is there: of all an answer or why there is none, and whether events arrive.
  const told = [rooms, queue, devices].every(({ data, error }) => data !== null || error !== null);
  const rests = useRest(told && store.knowsJobs && store.link.kind !== 'connecting');
  // Drawn last, but fetched now: a server that goes away meanwhile would leave a hole until the page is loaded anew.
  useEffect(() => { charts().catch(() => {}); }, []);
  return (
    <div class="overview">
      <h1 class="hidden">Overview</h1>
      <Attention />
      <section aria-labelledby="rooms">
        <h2 id="rooms">Rooms</h2>
        {rooms.error && !rooms.data && <p class="problem">{rooms.error}</p>}
        {rooms.data?.rooms.length === 0 && (
          <FirstScan store={store} />
        )}
        {rooms.data && <Rooms rooms={rooms.data.rooms} store={store} />}
      </section>
      <div class="columns">
        <section class="card" aria-labelledby="active">
          <header>
            <h2 id="active">Active jobs</h2>
            <span class="numbers quiet">
              {queue.data && <>{activeOf(queue.data)}, {count(queue.data.queue_chunks)} <Term name="Chunk">{queue.data.queue_chunks === 1 ? 'chunk' : 'chunks'}</Term> {queue.data.queue_chunks === 1 ? 'waits' : 'wait'}</>}
            </span>
          </header>
          {store.knowsJobs ? <ActiveTable jobs={inOrder(queue.data, store)} now={store.now()} gone={store.gone} /> : <p class="quiet">Loading</p>}
        </section>
        <section class="card" aria-labelledby="devices">
          <header><h2 id="devices">Devices</h2><Term name="GUPS">speed in GUPS</Term></header>
          {devices.error && !devices.data && <p class="problem">{devices.error}</p>}
          {devices.data && <DeviceList devices={devices.data.devices} brief />}
        </section>
      </div>
      <Nodes />
      <section class="card" aria-labelledby="recent">
        <header><h2 id="recent">Last jobs</h2><LocalTimes /><a href="#/jobs">All jobs</a></header>
        {store.knowsJobs ? <JobTable jobs={store.ended().slice(0, 10)} now={store.now()} labelledBy="recent" none="No job has ended yet." /> : <p class="quiet">Loading</p>}
      </section>
      {rests && <HistoryPlots />}
    </div>
  );
}

// The first visit: what to type to see a volume here.
function FirstScan({ store }: { store: Store }) {
  // Who had to show a token here has to there.
  const byToken = store.session?.via === 'token';
  const { status } = store;
  if (!status) return <p class="quiet">Loading</p>;
  const flags = serverFlags(status.addresses, location.hostname, byToken);
  const commands = `isocenter simulate --phantom head --out head\nisocenter stream head --fps 30 ${flags}`;
  const echo = echoCommand(status.addresses, location.hostname);
  const itself = reached(parts(status.addresses.grpc.address).host, location.hostname).fromItsMachineOnly;
  return (
    <section class="card" aria-labelledby="first">
      <header><h3 id="first">No room has sent an acquisition yet</h3></header>
      {status.simulated_scans_enabled && store.may('console') && <Simulate store={store} />}
      <p>A simulated head scan, typed where the command isocenter is, becomes the first volume here:</p>
      <Commands label="Commands" text={commands} />
      {itself && <p class="quiet">This service takes scans from its own machine only (it listens on {status.addresses.grpc.address}): type them there, or have <span class="id">grpc_address</span> of the configuration name an address that consoles reach.</p>}
      {status.addresses.grpc.tls && <p class="quiet">CA.pem is the certificate of the authority that signed this service's.</p>}
      {byToken && <p class="quiet">TOKEN is a file with a token on its first line: yours, where your role may send scans, or a console's.</p>}
      <p class="quiet"><DocsLink to="firstScan">How a console sends one</DocsLink></p>
      {echo && (
        <>
          <p>The PACS pulls volumes from {dicomText(status.addresses, location.hostname)}. Whether it is reached:</p>
          <Commands label="Command of the PACS" text={echo} />
        </>
      )}
    </section>
  );
}

// In a narrow window lines break between words only, not within the hyphens of flags.
function Commands({ label, text }: { label: string; text: string }) {
  return (
    <>
      <pre tabIndex={0} role="group" aria-label={label}>{text.split(/([ \n])/).map((word, i) => (word.trim() ? <span class="word" key={i}>{word}</span> : word))}</pre>
      <p class="copy"><CopyButton text={text} /></p>
    </>
  );
}

// A scan without a console, where the operator of the service allows it.
function Simulate({ store }: { store: Store }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const start = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const job = await store.api.post<Job>('simulations');
      store.takeJob(job);
      go(jobHref(job.job_id));
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  return (
    <>
      <p>This node may simulate one: a head phantom, 160 frames in 8 seconds, and its volume soon after.</p>
      <p class="first-step"><button type="button" class="primary" disabled={busy} onClick={() => void start()}>{busy ? 'Starting' : 'Start a simulated scan'}</button></p>
      {problem && <p class="problem" role="alert">{problem}</p>}
    </>
  );
}

// Active jobs as the queue orders them, with what events told since.
function inOrder(queue: Queue | null, store: Store): Job[] {
  const order = new Map((queue?.jobs ?? []).map((job, i) => [job.job_id, i]));
  const place = (job: Job) => order.get(job.job_id) ?? order.size;
  return store.active().sort((a, b) => place(a) - place(b) || (a.create_time < b.create_time ? -1 : 1));
}

function ActiveTable({ jobs, now, gone }: { jobs: Job[]; now: number; gone: boolean }) {
  if (jobs.length === 0) return <Empty>Nothing to do.</Empty>;
  return (
    <div class="scroll">
      <table class="list" aria-labelledby="active">
        <thead>
          <tr>
            <th scope="col">Room</th><th scope="col">State</th><th scope="col">Class</th><th scope="col">Progress</th>
            <th scope="col" class="number">Frames/s</th><th scope="col" class="number">Finish</th><th scope="col" class="number">Runs for</th>
          </tr>
        </thead>
        <tbody>
          {jobs.map((job) => (
            <tr key={job.job_id} data-job={job.job_id} class="link" onClick={rowLink(jobHref(job.job_id))}>
              <th scope="row" class="name" data-label="Room"><a href={jobHref(job.job_id)}><span><Name text={job.station_name || job.job_id} /></span></a><br /><span class="quiet"><Name text={job.protocol} /></span></th>
              <td data-label="State"><StateChip job={job} /><Warnings job={job} /></td>
              <td data-label="Class">{job.job_class}</td>
              <td data-label="Progress"><JobProgressBar job={job} /><ConsoleWait job={job} now={now} /></td>
              <td class="number" data-label="Frames/s">{rateOf(job)?.toFixed(1) ?? '–'}</td>
              <td class="number" data-label="Finish" title={finishOf(job, now, gone) && time(finishTime(job, now), now)}>{finishOf(job, now, gone).replace('finishes ', '') || '–'}</td>
              <td class="number" data-label="Runs for">{coarseSeconds((now - Date.parse(job.create_time)) / 1000)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
