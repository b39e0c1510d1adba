// DICOM destinations and what is on its way to them.
import { useEffect, useState } from 'preact/hooks';
import { messageOf } from '../api/client.ts';
import { type Destination, type Transfer, type Transfers as Answer, type TransferState, placeOf } from '../api/types.ts';
import { isStuck } from '../lib/destinations.ts';
import { type Addresses, dicomText } from '../lib/addresses.ts';
import { coarseSeconds, count, plural, words } from '../lib/format.ts';
import { refusalsOf } from '../lib/refusals.ts';
import { go, href, jobHref, rowLink } from '../lib/router.ts';
import { useAsked, useStore, useTick } from '../state/hooks.ts';
import { Chip, Doubtful, Empty, LocalTimes, Name, Time } from '../ui/bits.tsx';
import { Confirm } from '../ui/dialog.tsx';
import { DocsLink } from '../ui/docs_link.tsx';
import { Pager } from '../ui/pager.tsx';
import { Term } from '../ui/term.tsx';

const STATES: [TransferState | '', string][] = [
  ['', 'All'], ['queued', 'Waiting'], ['sending', 'Sending'], ['sent', 'Sent'], ['committed', 'Committed'], ['failed', 'Failed'],
  ['skipped', 'Skipped'],
];
const KINDS: Record<TransferState, string> = {
  queued: 'waiting', sending: 'receiving', sent: 'ok', committed: 'ok', failed: 'bad', skipped: 'cancelled',
};
const TRANSFERS_MS = 3_000;

export function Transfers({ query }: { query: URLSearchParams }) {
  const filter = { destination: query.get('destination') ?? '', state: query.get('state') ?? '' };
  const store = useStore();
  const [before, setBefore] = useState<string[]>([]);
  const [retry, setRetry] = useState<Retry | null>(null);
  const { data, error } = useAsked<Answer>('transfers', { ...filter, page_size: 50, page_token: before.at(-1) }, TRANSFERS_MS);
  const change = (name: string, to: string) => {
    setBefore([]);
    go(href(['dicom'], { ...filter, [name]: to }));
  };
  return (
    <section class="card" aria-labelledby="dicom">
      <header>
        <h1 id="dicom">DICOM destinations</h1>
        {data?.enabled && <LocalTimes />}
        {data?.enabled && (
          <form class="filters" onSubmit={(event) => event.preventDefault()}>
            <label class="inline">
              <span class="quiet">Destination</span>
              <select value={filter.destination} onChange={(event) => change('destination', event.currentTarget.value)}>
                <option value="">All</option>
                {data.destinations.map((d) => <option key={d.name} value={d.name}>{d.name}</option>)}
              </select>
            </label>
            <label class="inline">
              <span class="quiet">State</span>
              <select value={filter.state} onChange={(event) => change('state', event.currentTarget.value)}>
                {STATES.map(([state, name]) => <option key={state} value={state}>{name}</option>)}
              </select>
            </label>
          </form>
        )}
      </header>
      {error && <p class="problem" role="alert">{error}</p>}
      {store.status && <OwnNode addresses={store.status.addresses} />}
      {data && !data.enabled && <Empty>No destination is configured. The PACS finds results by C-FIND and pulls them by C-MOVE or C-GET. <DocsLink to="destinations">How to have results sent</DocsLink></Empty>}
      {data?.enabled && (
        <>
          <div class="rooms">{data.destinations.map((d) => (
            <DestinationCard
              key={d.name} destination={d} stuck={isStuck(d)} mayChange={store.may('operator')} onRetry={() => setRetry({ destination: d.name })}
            />
          ))}</div>
          {retry && <ConfirmRetry retry={retry} onClose={() => setRetry(null)} />}
          <TransferTable transfers={data.transfers} labelledBy="dicom" />
          <Pager before={before} next={data.next_page_token} go={setBefore} />
        </>
      )}
    </section>
  );
}

// What a PACS is to be told of this node.
function OwnNode({ addresses }: { addresses: Addresses }) {
  const text = dicomText(addresses, location.hostname);
  return <p class="quiet own-node">{text ? <>This node: <span class="id">{text}</span></> : 'This node takes no DICOM associations: dicom_node of the configuration is disabled.'}</p>;
}

interface CardProps {
  destination: Destination;
  stuck: boolean;
  mayChange: boolean;
  onRetry: () => void;
}

function DestinationCard({ destination: d, stuck, mayChange, onRetry }: CardProps) {
  const state = d.failed > 0 ? 'bad' : d.sending > 0 ? 'receiving' : stuck ? 'warning' : d.queued > 0 ? 'waiting' : 'ok';
  const text = { bad: 'Failures', receiving: 'Sending', warning: 'Stuck', waiting: 'Waiting', ok: 'Nothing waits' }[state];
  return (
    <article class={`room card destination-${state}`} aria-label={`Destination ${d.name}`}>
      <header><h2><Name text={d.name} /></h2><Chip kind={state} text={text} /></header>
      <p class="quiet place">{placeOf(d)}</p>
      <p class="numbers split">
        <span>{count(d.queued)} waiting</span><span>{count(d.sending)} sending</span>
        <span class={d.failed > 0 ? 'bad' : ''}>{count(d.failed)} failed</span>
      </p>
      {d.reason && <Waiting destination={d} mayChange={mayChange} />}
      <footer class="split quiet numbers">
        <span><Term name="Instance">instances</Term>{d.oldest_seconds !== null && `, oldest: ${coarseSeconds(d.oldest_seconds)}`}</span>
        {d.failed > 0 ? <DocsLink to="sendFailed" /> : stuck && <DocsLink to="destinationStuck" />}
        {mayChange && d.failed > 0 && <button type="button" class="small" onClick={onRetry}>Retry failed</button>}
      </footer>
    </article>
  );
}

// Why nothing is sent, when it is tried again, and a way not to wait for that.
function Waiting({ destination: d, mayChange }: { destination: Destination; mayChange: boolean }) {
  const store = useStore();
  useTick(1000);
  const [problem, setProblem] = useState<string | null>(null);
  const [asked, setAsked] = useState(false);
  const next = d.next_try_time === null ? 0 : (Date.parse(d.next_try_time) - store.now()) / 1000;
  const tryNow = async () => {
    try {
      await store.api.post('transfers:try_now', { destination: d.name });
      setProblem(null);
      setAsked(true);
      store.refresh();
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  // Until an attempt has been made since.
  useEffect(() => setAsked(false), [d.attempts]);
  return (
    <div class="notice">
      <p>{d.reason}</p>
      <p class="split numbers">
        <span class="quiet">{plural(d.attempts, 'attempt', 'attempts')} to reach it; next {next > 0 ? `in ${coarseSeconds(next)}` : 'now'}</span>
        {mayChange && <button type="button" class="small" onClick={() => void tryNow()}>Try now</button>}
      </p>
      <p role="status">{asked && `${d.name} is being tried.`}</p>
      {problem && <p role="alert">{problem}</p>}
    </div>
  );
}

// What to send again: of one job, or everything that failed for a destination.
interface Retry {
  destination: string;
  job_id?: string;
}

function ConfirmRetry({ retry, onClose }: { retry: Retry; onClose: () => void }) {
  const store = useStore();
  return (
    <Confirm
      title="Send again?" action="Retry" onClose={onClose}
      onConfirm={async () => {
        await store.api.post('transfers:retry', retry);
        store.say(`What failed is in the queue of ${retry.destination} again.`);
        store.refresh();
      }}
    >
      <p>
        {retry.job_id ? `What failed of job ${retry.job_id}` : 'Everything that failed'} goes back into the queue
        of {retry.destination}.
      </p>
    </Confirm>
  );
}

// Rooms and times are what people know a job by, and its order; programs go by its id.
function JobName({ transfer: t, now }: { transfer: Transfer; now: number }) {
  const job = useStore().jobs.get(t.job_id);
  const known = t.job_create_time !== null;
  return (
    <>
      <a href={jobHref(t.job_id)}><span>{known ? <><Name text={[t.station_name, t.protocol].filter(Boolean).join(', ')} />, <Time at={t.job_create_time} now={now} /></> : t.job_id}</span></a>
      {job && <> <Doubtful job={job} /></>}
      {t.accession_number && <><br /><span class="accession">accession no. {t.accession_number}</span></>}
      {known && <><br /><span class="quiet id">{t.job_id}</span></>}
    </>
  );
}

export function TransferTable({ transfers, labelledBy }: { transfers: Transfer[]; labelledBy: string }) {
  const store = useStore();
  const [retry, setRetry] = useState<Retry | null>(null);
  const now = store.now();
  if (transfers.length === 0) return <Empty>Nothing was sent.</Empty>;
  return (
    <div class="scroll">
      <table class="list" aria-labelledby={labelledBy}>
        <thead>
          <tr>
            <th scope="col">Queued</th><th scope="col">Job</th><th scope="col">Destination</th><th scope="col">State</th>
            <th scope="col" class="number">Instances</th><th scope="col" class="number" title="How often the destination took the connection and refused an image; attempts to reach it are on its card">Refusals</th><th scope="col">Message</th>
            <th scope="col"><span class="hidden">Actions</span></th>
          </tr>
        </thead>
        <tbody>
          {transfers.map((t) => (
            <tr key={`${t.job_id} ${t.destination}`} data-transfer={`${t.job_id} ${t.destination}`} class="link" onClick={rowLink(jobHref(t.job_id))}>
              <td class="numbers" data-label="Queued"><Time at={t.create_time} now={now} /></td>
              <th scope="row" class="name" data-label="Job"><JobName transfer={t} now={now} /></th>
              <td data-label="Destination">{t.destination}</td>
              <td data-label="State"><Chip kind={KINDS[t.state] ?? 'waiting'} text={STATES.find(([s]) => s === t.state)?.[1] ?? words(t.state)} /></td>
              <td class="number" data-label="Instances">
                {count(t.instances.sent + t.instances.committed)} / {count(t.instances.total)}
                {t.instances.failed > 0 && <b class="bad"> {count(t.instances.failed)} failed</b>}
                {t.instances.skipped > 0 && <span class="quiet"> {count(t.instances.skipped)} skipped</span>}
              </td>
              <td class="number" data-label="Refusals">{refusalsOf(t) > 0 && count(refusalsOf(t))}</td>
              <td class="message" data-label="Message">{t.message}</td>
              <td class="number">
                {store.may('operator') && t.instances.failed > 0 && (
                  <button
                    type="button" class="small" onClick={() => setRetry({ job_id: t.job_id, destination: t.destination })}
                  >Retry</button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {retry && <ConfirmRetry retry={retry} onClose={() => setRetry(null)} />}
    </div>
  );
}
