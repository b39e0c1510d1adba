// Rooms at a glance: what each does now, else how its last job went.
import { type Job, type Room, isActive } from '../api/types.ts';
import { count, finish, framesPerSecond, gups, seconds } from '../lib/format.ts';
import { jobHref } from '../lib/router.ts';
import type { Store } from '../state/store.ts';
import { Chip, ConsoleWait, JobProgressBar, Name, StateChip } from '../ui/bits.tsx';

// More rooms than this do not fit as cards above what is active; idle ones are then lines.
const MOST_CARDS = 12;

export function Rooms({ rooms, store }: { rooms: Room[]; store: Store }) {
  const known = rooms.map((room) => ({ room, job: newest(room, store) }));
  const crowded = known.length > MOST_CARDS;
  const cards = known.filter(({ job }) => !crowded || isActive(job) || job.state === 'failed');
  const lines = known.filter((each) => !cards.includes(each));
  return (
    <>
      <div class="rooms">{cards.map(({ room, job }) => <RoomCard key={room.station_name} room={room} job={job} store={store} />)}</div>
      {lines.length > 0 && (
        <ul class="idle-rooms" aria-label="Idle rooms">
          {lines.map(({ room, job }) => (
            <li key={room.station_name} class="split">
              <a href={jobHref(job.job_id)} title={`${room.station_name}: last job`}><Name text={room.station_name} /></a>
              <Day room={room} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function RoomCard({ room, job, store }: { room: Room; job: Job; store: Store }) {
  const active = isActive(job);
  const broken = job.awaits_console_until_time !== null;
  const stalled = broken || store.isStalled(job);
  const state = active ? (stalled ? 'stalled' : job.state === 'receiving' ? 'scanning' : 'computing') : 'idle';
  return (
    <article class={`room card ${state}`} aria-label={`Room ${room.station_name}`}>
      <header>
        <h3><Name text={room.station_name} /></h3>
        <Chip kind={state} text={{ scanning: 'Scanning', stalled: broken ? 'No console' : 'No frames', computing: 'Computing', idle: 'Idle' }[state]} />
      </header>
      {active && (
        <>
          <JobProgressBar job={job} />
          <ConsoleWait job={job} now={store.now()} />
          <p class="numbers split">
            <span>{job.state === 'receiving' && !stalled ? framesPerSecond(job.frames_per_second) : ''}</span>
            <span>{finish(job.predicted_finish_time, store.now())}</span>
          </p>
        </>
      )}
      {!active && <LastJob job={job} />}
      <footer class="split quiet numbers">
        <a href={jobHref(job.job_id)} aria-label={active ? undefined : `Last job of ${room.station_name}`}>{active ? <Name text={job.protocol} /> : 'Last job'}</a>
        <Day room={room} />
      </footer>
    </article>
  );
}

function Day({ room }: { room: Room }) {
  return <span class="day">24 h: {count(room.completed_24h)} done{room.failed_24h > 0 && <>, <b class="bad">{count(room.failed_24h)} failed</b></>}</span>;
}

// The room was asked for some seconds ago; of its jobs, events have told since.
function newest(room: Room, store: Store): Job {
  const own = [...store.jobs.values()].filter((job) => job.station_name === room.station_name);
  const active = own.filter(isActive).sort((a, b) => Number(b.state === 'receiving') - Number(a.state === 'receiving'))[0];
  if (active) return active;
  return store.jobs.get(room.last_job.job_id) ?? room.last_job;
}

// Of scans what matters in the room; refinements and subtractions have neither figure.
function LastJob({ job }: { job: Job }) {
  if (job.state !== 'completed') return <p class="two-lines" title={job.error?.message}><StateChip state={job.state} /> {job.error?.message}</p>;
  const { seconds_after_last_frame: after, whole_gups: whole } = job.result ?? {};
  return (
    <p class="numbers split">
      <span>{after == null ? <StateChip state={job.state} /> : `${seconds(after)} after last frame`}</span>
      {whole != null && <span>{gups(whole)}</span>}
    </p>
  );
}
