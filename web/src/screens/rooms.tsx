// Rooms at a glance: what each does now, else how its last job went.
import { type Job, type Room, isActive } from '../api/types.ts';
import { count, framesPerSecond, time } from '../lib/format.ts';
import { finishOf, rateOf } from '../lib/progress.ts';
import { brokenOff, shownOf } from '../lib/rooms.ts';
import { jobHref } from '../lib/router.ts';
import type { Store } from '../state/store.ts';
import { Chip, ConsoleWait, Doubtful, JobProgressBar, Name, StateChip, Time, Warnings } from '../ui/bits.tsx';

// More rooms than this do not fit as cards above what is active; idle ones are then lines.
const MOST_CARDS = 12;

export function Rooms({ rooms, store }: { rooms: Room[]; store: Store }) {
  const known = rooms.map((room) => {
    const own = jobsOf(room, store);
    const job = shownOf(own)!;
    return { room, job, broken: brokenOff(own, job, store.now()) };
  });
  const crowded = known.length > MOST_CARDS;
  const cards = known.filter(({ job, broken }) => !crowded || isActive(job) || job.state === 'failed' || broken.length > 0);
  const lines = known.filter((each) => !cards.includes(each));
  return (
    <>
      <div class="rooms">{cards.map(({ room, job, broken }) => <RoomCard key={room.station_name} room={room} job={job} hidden={broken} store={store} />)}</div>
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

function RoomCard({ room, job, hidden, store }: { room: Room; job: Job; hidden: Job[]; store: Store }) {
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
          <Doubtful job={job} />
          <p class="numbers split">
            <span>{job.state === 'receiving' && !stalled ? framesPerSecond(rateOf(job)) : ''}</span>
            <span>{finishOf(job, store.now(), store.gone)}</span>
          </p>
        </>
      )}
      {!active && <LastJob job={job} now={store.now()} />}
      <BrokenOff jobs={hidden} now={store.now()} />
      <footer class="split quiet numbers">
        <a href={jobHref(job.job_id)} aria-label={active ? `${job.protocol}, the job of ${room.station_name}` : `Last job of ${room.station_name}`}>{active ? <Name text={job.protocol} /> : 'Last job'}</a>
        <Day room={room} />
      </footer>
    </article>
  );
}

function Day({ room }: { room: Room }) {
  return <span class="day">24 h: {count(room.completed_24h)} done{room.failed_24h > 0 && <>, <b class="bad">{count(room.failed_24h)} failed</b></>}</span>;
}

// The room was asked for some seconds ago; of its jobs, events have told since.
function jobsOf(room: Room, store: Store): Job[] {
  const own = [...store.jobs.values()].filter((job) => job.station_name === room.station_name);
  return store.jobs.has(room.last_job.job_id) ? own : [...own, room.last_job];
}

// What became of scans that the card would not tell of: a later job has its place.
function BrokenOff({ jobs, now }: { jobs: Job[]; now: number }) {
  const [last] = jobs;
  if (!last) return null;
  const more = jobs.length - 1;
  return (
    <div class="broken-off">
      <p class="two-lines" title={last.error?.message}>
        <a href={jobHref(last.job_id)}>Scan of {time(last.create_time, now)}</a>: {last.awaits_console_until_time === null && <StateChip job={last} />}{last.error?.message}
      </p>
      <ConsoleWait job={last} now={now} />
      {more > 0 && <p class="quiet">and {more} more before it</p>}
    </div>
  );
}

// What matters in the room: how it went, of what it is warned, whose it is and of when.
function LastJob({ job, now }: { job: Job; now: number }) {
  return (
    <div class="last-job">
      <p class="numbers split">
        <span><StateChip job={job} /><Warnings job={job} /></span>
        <Time at={job.create_time} now={now} />
      </p>
      {job.state !== 'completed' && job.error && <p class="two-lines" title={job.error.message}>{job.error.message}</p>}
      {job.accession_number && <p class="quiet">accession no. {job.accession_number}</p>}
    </div>
  );
}
