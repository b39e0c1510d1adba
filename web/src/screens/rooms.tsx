// Rooms at a glance: what each does now, else how its last job went.
import { type Job, type Room, type Transfer, isActive } from '../api/types.ts';
import { deliveriesOf } from '../lib/deliveries.ts';
import { count, framesPerSecond, time } from '../lib/format.ts';
import { finishOf, rateOf } from '../lib/progress.ts';
import { brokenOff, shownOf } from '../lib/rooms.ts';
import { jobHref } from '../lib/router.ts';
import type { Store } from '../state/store.ts';
import { useTransfers } from '../state/transfers.ts';
import { Chip, ConsoleWait, Doubtful, JobProgressBar, Name, StateChip, Time, Warnings } from '../ui/bits.tsx';

// More rooms than this do not fit as cards above what is active; idle ones are then lines.
const MOST_CARDS = 12;
const TRANSFERS_MS = 5_000;

export function Rooms({ rooms, store }: { rooms: Room[]; store: Store }) {
  const known = rooms.map((room) => {
    const own = jobsOf(room, store);
    const job = shownOf(own)!;
    return { room, job, broken: brokenOff(own, job, store.now()) };
  });
  // Of the last volumes: who waits beside the patient waits for one of these.
  const transfers = useTransfers({ page_size: 50 }, TRANSFERS_MS);
  const crowded = known.length > MOST_CARDS;
  const cards = known.filter(({ job, broken }) => !crowded || isActive(job) || job.state === 'failed' || broken.length > 0);
  const lines = known.filter((each) => !cards.includes(each));
  return (
    <>
      <div class="rooms">{cards.map(({ room, job, broken }) => <RoomCard key={room.station_name} room={room} job={job} hidden={broken} sends={transfers.filter((sent) => sent.job_id === job.job_id)} store={store} />)}</div>
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

interface CardProps {
  room: Room;
  job: Job;
  hidden: Job[];
  // Of the job's volume.
  sends: Transfer[];
  store: Store;
}

function RoomCard({ room, job, hidden, sends, store }: CardProps) {
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
          <Order job={job} />
          {!broken && (
            <p class="numbers split">
              <span>{job.state === 'receiving' && !stalled ? framesPerSecond(rateOf(job)) : ''}</span>
              <span>{finishOf(job, store.now(), store.gone)}</span>
            </p>
          )}
        </>
      )}
      {!active && <LastJob job={job} sends={sends} now={store.now()} />}
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
      <p><a href={jobHref(last.job_id)}>Scan of {time(last.create_time, now)}</a>{last.accession_number && ` (accession no. ${last.accession_number})`}</p>
      {last.awaits_console_until_time === null && <p class="two-lines" title={last.error?.message}><StateChip job={last} />{last.error?.message}</p>}
      <ConsoleWait job={last} now={now} />
      {more > 0 && <p class="quiet">and {more} more before it</p>}
    </div>
  );
}

// By which the information system knows whose it is.
function Order({ job }: { job: Job }) {
  return job.accession_number ? <p class="quiet">accession no. {job.accession_number}</p> : null;
}

// What matters in the room: how it went, of what it is warned, where its volume is, whose it is and of when.
function LastJob({ job, sends, now }: { job: Job; sends: Transfer[]; now: number }) {
  return (
    <div class="last-job">
      <p class="numbers split"><StateChip job={job} /><Time at={job.create_time} now={now} /></p>
      {job.warning_count > 0 && <p><Warnings job={job} /></p>}
      {job.state !== 'completed' && job.error && <p class="two-lines" title={job.error.message}>{job.error.message}</p>}
      {sends.length > 0 && <p>{deliveriesOf(sends).map(({ kind, text }) => <Chip key={kind} kind={kind} text={text} />)}</p>}
      <Order job={job} />
    </div>
  );
}
