// What an operator looks at all day: rooms, active jobs, devices, throughput.
import type { Device, Job, Queue, Room } from '../api/types.ts';
import { isActive } from '../api/types.ts';
import { HistoryPlots } from '../charts/history.tsx';
import { coarseSeconds, count, finish, framesPerSecond, gups, seconds, time } from '../lib/format.ts';
import { jobHref } from '../lib/router.ts';
import { useAsked, useStore, useTick } from '../state/hooks.ts';
import type { Store } from '../state/store.ts';
import { Chip, Empty, JobProgressBar, StateChip } from '../ui/bits.tsx';
import { DeviceList } from './devices.tsx';
import { JobTable } from './job_table.tsx';

const ROOMS_MS = 3_000;
const QUEUE_MS = 2_000;
const DEVICES_MS = 3_000;

export function Overview() {
  const store = useStore();
  useTick(1000);
  const rooms = useAsked<{ rooms: Room[] }>('rooms', {}, ROOMS_MS);
  const queue = useAsked<Queue>('queue', {}, QUEUE_MS);
  const devices = useAsked<{ devices: Device[] }>('devices', {}, DEVICES_MS);
  return (
    <div class="overview">
      <section aria-labelledby="rooms">
        <h2 id="rooms">Rooms</h2>
        {rooms.error && !rooms.data && <p class="problem">{rooms.error}</p>}
        {rooms.data?.rooms.length === 0 && <Empty>No room has sent an acquisition yet.</Empty>}
        <div class="rooms">
          {rooms.data?.rooms.map((room) => <RoomCard key={room.station_name} room={room} store={store} />)}
        </div>
      </section>
      <div class="columns">
        <section class="card" aria-labelledby="active">
          <header>
            <h2 id="active">Active jobs</h2>
            <span class="numbers quiet">
              {store.status ? `${count(store.status.active_jobs)} of at most ${count(store.status.max_active_jobs)}, `
                + `${count(store.status.queue_chunks)} chunks wait` : ''}
            </span>
          </header>
          <ActiveTable jobs={inOrder(queue.data, store)} now={store.now()} />
        </section>
        <section class="card" aria-labelledby="devices">
          <header><h2 id="devices">Devices</h2></header>
          {devices.error && !devices.data && <p class="problem">{devices.error}</p>}
          <DeviceList devices={devices.data?.devices ?? []} brief />
        </section>
      </div>
      <HistoryPlots />
      <section class="card" aria-labelledby="recent">
        <header><h2 id="recent">Last jobs</h2><a href="#/jobs">All jobs</a></header>
        <JobTable jobs={store.ended().slice(0, 10)} now={store.now()} />
      </section>
    </div>
  );
}

// Active jobs as the queue orders them, with what events told since.
function inOrder(queue: Queue | null, store: Store): Job[] {
  const order = new Map((queue?.jobs ?? []).map((job, i) => [job.job_id, i]));
  const place = (job: Job) => order.get(job.job_id) ?? order.size;
  return store.active().sort((a, b) => place(a) - place(b) || (a.create_time < b.create_time ? -1 : 1));
}

function RoomCard({ room, store }: { room: Room; store: Store }) {
  const job = newest(room, store);
  const active = job !== null && isActive(job);
  // The room was asked for some seconds ago; of its jobs, events have told since.
  const state = active ? (job.state === 'receiving' ? 'scanning' : 'computing') : job === null ? room.state : 'idle';
  const fps = active ? job.frames_per_second : room.frames_per_second;
  return (
    <article class={`room card ${state}`} aria-label={`Room ${room.station_name || 'without a name'}`}>
      <header>
        <h3>{room.station_name || 'No station name'}</h3>
        <Chip kind={state} text={{ scanning: 'Scanning', computing: 'Computing', idle: 'Idle' }[state]} />
      </header>
      {job && active && (
        <>
          <JobProgressBar job={job} />
          <p class="numbers split">
            <span>{job.state === 'receiving' ? framesPerSecond(fps) : ''}</span>
            <span>{finish(job.predicted_finish_time, store.now())}</span>
          </p>
        </>
      )}
      {job && !active && <LastJob job={job} />}
      <footer class="split quiet numbers">
        <span>{job ? <a href={jobHref(job.job_id)}>{active ? job.protocol : 'Last job'}</a> : 'No job yet'}</span>
        <span>24 h: {count(room.completed_24h)} done{room.failed_24h > 0 && <>, <b class="bad">{count(room.failed_24h)} failed</b></>}</span>
      </footer>
    </article>
  );
}

function newest(room: Room, store: Store): Job | null {
  const own = [...store.jobs.values()].filter((job) => job.station_name === room.station_name);
  const active = own.filter(isActive).sort((a, b) => Number(b.state === 'receiving') - Number(a.state === 'receiving'))[0];
  if (active) return active;
  const last = room.last_job;
  return last ? store.jobs.get(last.job_id) ?? last : null;
}

function LastJob({ job }: { job: Job }) {
  if (job.state !== 'completed') return <p class="two-lines" title={job.error?.message}><StateChip state={job.state} /> {job.error?.message}</p>;
  return (
    <p class="numbers split">
      <span>{seconds(job.result?.seconds_after_last_frame)} after last frame</span>
      <span>{gups(job.result?.whole_gups)}</span>
    </p>
  );
}

function ActiveTable({ jobs, now }: { jobs: Job[]; now: number }) {
  if (jobs.length === 0) return <Empty>Nothing to do.</Empty>;
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Room</th><th scope="col">State</th><th scope="col">Class</th><th scope="col">Progress</th>
            <th scope="col" class="number">Frames/s</th><th scope="col" class="number">Finish</th><th scope="col" class="number">Runs for</th>
          </tr>
        </thead>
        <tbody>
          {jobs.map((job) => (
            <tr key={job.job_id} data-job={job.job_id}>
              <th scope="row"><a href={jobHref(job.job_id)}>{job.station_name || job.job_id}</a><br /><span class="quiet">{job.protocol}</span></th>
              <td><StateChip state={job.state} />{job.warning_count > 0 && <Chip kind="warning" text={`${job.warning_count}`} title="Warnings" />}</td>
              <td>{job.job_class}</td>
              <td><JobProgressBar job={job} /></td>
              <td class="number">{job.frames_per_second === null ? '–' : job.frames_per_second.toFixed(1)}</td>
              <td class="number" title={time(job.predicted_finish_time, now)}>{finish(job.predicted_finish_time, now).replace('finishes ', '') || '–'}</td>
              <td class="number">{coarseSeconds((now - Date.parse(job.create_time)) / 1000)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
