// The node: whether it takes acquisitions and why not, its devices, queue and spool; drain and resume.
import { useState } from 'preact/hooks';
import type { Device, Queue, Status } from '../api/types.ts';
import { placeOf } from '../lib/docs.ts';
import { activeOf, bytes, coarseSeconds, fullTime, relative, seconds } from '../lib/format.ts';
import { finishOf } from '../lib/progress.ts';
import { jobHref, rowLink } from '../lib/router.ts';
import { useAsked, useStore, useTick } from '../state/hooks.ts';
import { Chip, ConsoleWait, Empty, Fact, Facts, Gauge, JobProgressBar, Name, StateChip } from '../ui/bits.tsx';
import { Confirm } from '../ui/dialog.tsx';
import { DocsLink } from '../ui/docs_link.tsx';
import { Term } from '../ui/term.tsx';
import { DeviceList } from './devices.tsx';

export function Node() {
  const store = useStore();
  useTick(1000);
  const [asking, setAsking] = useState<'drain' | 'resume' | null>(null);
  const devices = useAsked<{ devices: Device[] }>('devices', {}, 3_000, true);
  const queue = useAsked<Queue>('queue', {}, 2_000, true);
  const { status } = store;
  if (!status) return <p class="quiet">Loading</p>;
  const now = store.now();
  return (
    <div class="node">
      <section class="card" aria-labelledby="node">
        <header>
          <h1 id="node">{status.server}</h1>
          <Readiness status={status} />
          {store.may('operator') && (status.draining
            ? <button type="button" class="primary" onClick={() => setAsking('resume')}>Resume</button>
            : <button type="button" onClick={() => setAsking('drain')}>Drain</button>)}
        </header>
        {status.reasons.length > 0 && (
          <ul class="reasons">
            {status.reasons.map((r) => (
              <li key={r.component + r.message}><b>{r.component}</b>: {r.message} <DocsLink to={placeOf(r, status)} /></li>
            ))}
          </ul>
        )}
        <Facts>
          <Fact name="Version">{status.version} <DocsLink to="index">Documentation</DocsLink></Fact>
          <Fact name="Backend">{status.backend}</Fact>
          <Fact name="Running for"><span title={fullTime(status.start_time)}>{coarseSeconds((now - Date.parse(status.start_time)) / 1000)}</span></Fact>
          <Fact name="Active jobs">{queue.data && activeOf(queue.data)}</Fact>
          {status.draining && <Fact name="Drained">{relative(status.draining.since, now)}{status.draining.by && ` by ${status.draining.by}`}</Fact>}
        </Facts>
        <Spool spool={status.spool} />
      </section>
      <section class="card" aria-labelledby="devices">
        <header><h2 id="devices">Devices</h2></header>
        {devices.error && <p class="problem">{devices.error}</p>}
        {devices.data && <DeviceList devices={devices.data.devices} />}
      </section>
      <section class="card" aria-labelledby="queue">
        <header><h2 id="queue">Queue</h2><span class="quiet">served first at the top, by <Term name="Class">class</Term></span></header>
        {queue.error && <p class="problem">{queue.error}</p>}
        <QueueTable queue={queue.data} now={now} gone={store.gone} />
      </section>
      {asking === 'drain' && <Drain onClose={() => setAsking(null)} />}
      {asking === 'resume' && (
        <Confirm
          title="Resume this node?" action="Resume" onClose={() => setAsking(null)}
          onConfirm={async () => {
            store.takeStatus(await store.api.post<Status>('node:resume'));
            store.say('The node accepts acquisitions again.');
          }}
        >
          <p>It accepts new acquisitions again at once.</p>
        </Confirm>
      )}
    </div>
  );
}

export function Readiness({ status }: { status: Status }) {
  if (status.draining) return <Chip kind="warning" text="Drained" title={status.draining.reason} />;
  return status.ready
    ? <Chip kind="ok" text="Ready" />
    : <Chip kind="bad" text="Not ready" title={status.reasons.map((r) => r.message).join('; ')} />;
}

function Spool({ spool }: { spool: Status['spool'] }) {
  const kept = spool.used_bytes - spool.reclaimable_bytes;
  return (
    <>
      <Gauge
        label={<><Term name="Spool" />, frames that are needed</>} name="Spool, frames that are needed" used={kept} limit={spool.capacity_bytes}
        text={`${bytes(kept)} of ${bytes(spool.capacity_bytes)}`}
      />
      <p class="quiet numbers">
        besides {bytes(spool.reclaimable_bytes)} of ended jobs, which newer ones may have; last sync took {seconds(spool.last_sync_seconds)}
      </p>
    </>
  );
}

function QueueTable({ queue, now, gone }: { queue: Queue | null; now: number; gone: boolean }) {
  if (!queue || queue.jobs.length === 0) return <Empty>Nothing waits.</Empty>;
  return (
    <div class="scroll">
      <table class="list" aria-labelledby="queue">
        <thead>
          <tr>
            <th scope="col" class="number">Place</th><th scope="col">Room</th><th scope="col">Class</th><th scope="col">State</th>
            <th scope="col">Progress</th><th scope="col" class="number">Deadline</th><th scope="col" class="number">Finish</th>
          </tr>
        </thead>
        <tbody>
          {queue.jobs.map((job, i) => (
            <tr key={job.job_id} class="link" onClick={rowLink(jobHref(job.job_id))}>
              <td class="number" data-label="Place">{i + 1}</td>
              <th scope="row" data-label="Room"><a href={jobHref(job.job_id)}><span><Name text={job.station_name || job.job_id} /></span></a></th>
              <td data-label="Class">{job.job_class}</td>
              <td data-label="State"><StateChip job={job} /></td>
              <td data-label="Progress"><JobProgressBar job={job} /><ConsoleWait job={job} now={now} /></td>
              <td class="number" data-label="Deadline">{relative(job.deadline, now)}</td>
              <td class="number" data-label="Finish">{finishOf(job, now, gone).replace('finishes ', '') || '–'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const REASON_LENGTH = 200;

function Drain({ onClose }: { onClose: () => void }) {
  const store = useStore();
  const [reason, setReason] = useState('');
  return (
    <Confirm
      title="Drain this node?" action="Drain" dangerous onClose={onClose}
      onConfirm={async () => {
        store.takeStatus(await store.api.post<Status>('node:drain', { reason }));
        store.say('The node is drained: it refuses new acquisitions.');
      }}
    >
      <p>From now on it refuses new acquisitions and refinements, before an exposure. Active jobs go on to their end.</p>
      <label>
        Reason, which refused consoles show
        <input
          type="text" data-first value={reason} maxLength={REASON_LENGTH}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </label>
    </Confirm>
  );
}
