// DICOM destinations and what is on its way to them.
import { useState } from 'preact/hooks';
import type { Destination, Transfer, Transfers as Answer, TransferState } from '../api/types.ts';
import { coarseSeconds, count, relative, time } from '../lib/format.ts';
import { go, href, jobHref } from '../lib/router.ts';
import { useAsked, useStore, useTick } from '../state/hooks.ts';
import { Chip, Empty } from '../ui/bits.tsx';
import { Confirm } from '../ui/dialog.tsx';

const STATES: [TransferState | '', string][] = [
  ['', 'All'], ['queued', 'Waiting'], ['sending', 'Sending'], ['sent', 'Sent'], ['committed', 'Committed'], ['failed', 'Failed'],
];
const KINDS: Record<TransferState, string> = {
  queued: 'waiting', sending: 'receiving', sent: 'ok', committed: 'ok', failed: 'bad',
};
const TRANSFERS_MS = 3_000;

export function Transfers({ query }: { query: URLSearchParams }) {
  const filter = { destination: query.get('destination') ?? '', state: query.get('state') ?? '' };
  const [before, setBefore] = useState<string[]>([]);
  const { data, error } = useAsked<Answer>('transfers', { ...filter, page_size: 50, page_token: before.at(-1) }, TRANSFERS_MS);
  const change = (name: string, to: string) => {
    setBefore([]);
    go(href(['dicom'], { ...filter, [name]: to }));
  };
  return (
    <section class="card" aria-labelledby="dicom">
      <header>
        <h1 id="dicom">DICOM destinations</h1>
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
      {data && !data.enabled && <Empty>No destination is configured. The PACS finds results by C-FIND and pulls them by C-MOVE or C-GET.</Empty>}
      {data?.enabled && (
        <>
          <div class="rooms">{data.destinations.map((d) => <DestinationCard key={d.name} destination={d} />)}</div>
          <TransferTable transfers={data.transfers} />
          <footer class="actions">
            <button type="button" disabled={before.length === 0} onClick={() => setBefore(before.slice(0, -1))}>Newer</button>
            <button
              type="button" disabled={!data.next_page_token}
              onClick={() => data.next_page_token && setBefore([...before, data.next_page_token])}
            >Older</button>
          </footer>
        </>
      )}
    </section>
  );
}

function DestinationCard({ destination: d }: { destination: Destination }) {
  const state = d.failed > 0 ? 'bad' : d.queued + d.sending > 0 ? 'receiving' : 'ok';
  const text = { bad: `${d.failed} failed`, receiving: 'Sending', ok: 'Nothing waits' }[state]!;
  return (
    <article class="room card" aria-label={`Destination ${d.name}`}>
      <header><h3>{d.name}</h3><Chip kind={state} text={text} /></header>
      <p class="numbers split">
        <span>{count(d.queued)} waiting</span><span>{count(d.sending)} sending</span><span>{count(d.failed)} failed</span>
      </p>
      <p class="quiet numbers">{d.queued + d.sending > 0 ? `the oldest waits for ${coarseSeconds(d.oldest_seconds)}` : ' '}</p>
    </article>
  );
}

export function TransferTable({ transfers }: { transfers: Transfer[] }) {
  const store = useStore();
  useTick(1000);
  const [retried, setRetried] = useState<Transfer | null>(null);
  const now = store.now();
  if (transfers.length === 0) return <Empty>Nothing was sent.</Empty>;
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Queued</th><th scope="col">Job</th><th scope="col">Destination</th><th scope="col">State</th>
            <th scope="col" class="number">Instances</th><th scope="col" class="number">Attempts</th><th scope="col">Message</th><th scope="col" />
          </tr>
        </thead>
        <tbody>
          {transfers.map((t) => (
            <tr key={t.transfer_id} data-transfer={t.transfer_id}>
              <td class="numbers">{time(t.create_time, now)}</td>
              <th scope="row"><a href={jobHref(t.job_id)} class="id">{t.job_id}</a></th>
              <td>{t.destination}</td>
              <td><Chip kind={KINDS[t.state] ?? 'waiting'} text={STATES.find(([s]) => s === t.state)?.[1] ?? t.state} /></td>
              <td class="number">{count(t.instances_sent)} / {count(t.instances_total)}</td>
              <td class="number">{count(t.attempts)}</td>
              <td class="message">{t.message}{t.next_attempt_time && <span class="quiet"> next attempt {relative(t.next_attempt_time, now)}</span>}</td>
              <td>
                {store.may('operator') && mayRetry(t) && (
                  <button type="button" class="small" onClick={() => setRetried(t)}>Retry</button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {retried && (
        <Confirm
          title="Send again now?" action="Retry" onClose={() => setRetried(null)}
          onConfirm={async () => {
            await store.api.post(`transfers/${encodeURIComponent(retried.transfer_id)}:retry`);
            store.refresh();
          }}
        >
          <p>Job {retried.job_id} is sent to {retried.destination} without waiting for the next attempt.</p>
        </Confirm>
      )}
    </div>
  );
}

// As the server does: what has failed, or waits for its next attempt.
function mayRetry(t: Transfer): boolean {
  return t.state === 'failed' || (t.state === 'queued' && t.attempts > 0);
}
