// All jobs, newest first, by state, room, protocol and day, or by a part of what is shown of them.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Filters, Job, JobPage } from '../api/types.ts';
import { dayOf, hasText, idsOfDay, isOfDay } from '../lib/days.ts';
import { filterWords } from '../lib/filter_words.ts';
import { go, goInstead, href } from '../lib/router.ts';
import { useAsked, useStore } from '../state/hooks.ts';
import { LocalTimes } from '../ui/bits.tsx';
import { Pager } from '../ui/pager.tsx';
import { Term } from '../ui/term.tsx';
import { JobTable } from './job_table.tsx';
import { SendMany } from './send_many.tsx';

const STATES: [string, string][] = [
  ['', 'All'], ['active', 'Active'], ['completed', 'Completed'], ['failed', 'Failed'], ['cancelled', 'Cancelled'],
];
const stateName = (state: string) => (state && STATES.find(([id]) => id === state)?.[1]) || state;
const NAMES = ['state', 'station_name', 'protocol', 'day', 'text'];
const PAGE = 50;
// Of a day all are on one page, as many as the service gives at once.
const DAY_PAGE = 1000;
const JOBS_MS = 5_000;
const FILTERS_MS = 30_000;
const LONGEST_TEXT = 64;
const REST_MS = 400;

// A filter to be typed, taken when the typing rests. What is being typed stays, however often the jobs beside it are drawn anew.
// Only the first that is taken is a step of the way back; `onChange` says which.
function Words({ label, value, onChange }: { label: string; value: string; onChange: (to: string, first: boolean) => void }) {
  const [typed, setTyped] = useState<string | null>(null);
  const last = useRef(value);  // that was taken
  const typing = useRef(false);
  const text = typed?.trim() ?? value;
  // Those of the last time it was drawn: what else is filtered may have changed meanwhile.
  const take = useRef(() => {});
  take.current = () => {
    if (text === value) return;
    last.current = text;
    onChange(text, !typing.current);
    typing.current = true;
  };
  const rest = () => {
    take.current();
    typing.current = false;
  };
  useEffect(() => {
    const timer = setTimeout(() => take.current(), REST_MS);
    return () => clearTimeout(timer);
  }, [text]);
  // What came from elsewhere, as by the way back, is shown.
  useEffect(() => {
    if (value !== last.current) setTyped(null);
    last.current = value;
  }, [value]);
  return (
    <label class="inline">
      <span class="quiet">{label}</span>
      <input
        type="search" value={typed ?? value} size={26} maxLength={LONGEST_TEXT} placeholder="Accession no., room, id" title="A part of a room, protocol, accession number or job id"
        onInput={(event) => setTyped(event.currentTarget.value)} onChange={rest} onBlur={rest}
      />
    </label>
  );
}

// A filter of what there is. What is chosen stays among it, as a link may name what has gone.
function Choice({ label, value, names, onChange }: { label: string; value: string; names: string[]; onChange: (to: string) => void }) {
  const offered = value && !names.includes(value) ? [value, ...names] : names;
  return (
    <label class="inline">
      <span class="quiet">{label}</span>
      <select class="names" value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">All</option>
        {offered.map((name) => <option key={name} value={name}>{name}</option>)}
      </select>
    </label>
  );
}

interface Listed {
  // Null until they are known.
  jobs: Job[] | null;
  next: string | null | undefined;
  error: string | null;
}

// A page of the jobs of any day; of one day all. The service does not know local days, but finds parts of ids, which begin with the time.
function useListed(filter: Record<'state' | 'station_name' | 'protocol' | 'text', string>, day: string, token: string | undefined): Listed {
  const range = dayOf(day);
  const [latest, earliest] = range ? idsOfDay(range) : [];
  const { text, ...rest } = filter;
  const first = useAsked<JobPage>('jobs', range ? { ...rest, text: latest, page_size: DAY_PAGE } : { ...filter, page_size: PAGE, page_token: token }, JOBS_MS, true);
  const second = useAsked<JobPage>(earliest ? 'jobs' : null, { ...rest, text: earliest, page_size: DAY_PAGE }, JOBS_MS, true);
  if (!range) return { jobs: first.data?.jobs ?? null, next: first.data?.next_page_token, error: first.error };
  const known = first.data && (!earliest || second.data);
  const jobs = [first, second].flatMap(({ data }) => data?.jobs ?? []);
  return { jobs: known ? jobs.filter((job) => isOfDay(job, range) && hasText(job, text)) : null, next: null, error: first.error ?? second.error };
}

export function Jobs({ query }: { query: URLSearchParams }) {
  const store = useStore();
  // Tokens of the pages before this one.
  const [before, setBefore] = useState<string[]>([]);
  const [sending, setSending] = useState(false);
  // On a telephone the jobs come first: filters are behind a button that says which there are. Wider windows do not have it.
  const [open, setOpen] = useState(false);
  const value = (name: string) => query.get(name) ?? '';
  const filter = Object.fromEntries(NAMES.map((name) => [name, value(name)]));
  // Typed as what is looked for, a date is a day.
  const isDay = dayOf(value('text')) !== null;
  const day = isDay ? value('text') : value('day');
  const text = isDay ? '' : value('text');
  const { data: names } = useAsked<Filters>('filters', {}, FILTERS_MS);
  const chosen = { station_name: value('station_name'), protocol: value('protocol'), text };
  const { jobs: listed, next, error } = useListed({ state: value('state'), ...chosen }, day, before.at(-1));

  const change = (name: string, to: string, step = true) => {
    setBefore([]);
    (step ? go : goInstead)(href(['jobs'], { ...filter, [name]: to }));
  };
  // A year that is being typed is of no day yet; a day that was typed as what is looked for moves to its own place.
  const changeDay = (to: string) => {
    if (to !== '' && to < '1900') return;
    setBefore([]);
    go(href(['jobs'], { ...filter, day: to, text }));
  };
  // What events told since is newer than the page that was asked for.
  const jobs = (listed ?? []).map((job) => store.jobs.get(job.job_id) ?? job);
  return (
    <section class="card" aria-labelledby="jobs">
      <header>
        <h1 id="jobs">Jobs</h1>
        <LocalTimes />
        <Term name="GUPS">speeds in GUPS</Term>
        <button type="button" class="small unfold" aria-expanded={open} aria-controls="job-filters" onClick={() => setOpen(!open)}>
          Filters: {filterWords({ state: stateName(value('state')), ...chosen, day })} <span aria-hidden="true">{open ? '▴' : '▾'}</span>
        </button>
        <form id="job-filters" class={`filters foldable ${open ? 'open' : ''}`} onSubmit={(event) => event.preventDefault()}>
          <label class="inline">
            <span class="quiet">State</span>
            <select value={value('state')} onChange={(event) => change('state', event.currentTarget.value)}>
              {STATES.map(([state, name]) => <option key={state} value={state}>{name}</option>)}
            </select>
          </label>
          <Choice label="Room" value={value('station_name')} names={names?.station_names ?? []} onChange={(to) => change('station_name', to)} />
          <Choice label="Protocol" value={value('protocol')} names={names?.protocols ?? []} onChange={(to) => change('protocol', to)} />
          <label class="inline">
            <span class="quiet">Day</span>
            <input type="date" value={day} title="Begun on this day, local time" onChange={(event) => changeDay(event.currentTarget.value)} />
          </label>
          <Words label="Find" value={value('text')} onChange={(to, first) => change('text', to, first)} />
        </form>
        {store.may('operator') && store.status?.transfers_enabled && (
          <button type="button" class="small" title="All that is found, or of a day, to a destination that has lost it" onClick={() => setSending(true)}>Send these</button>
        )}
      </header>
      {error && <p class="problem" role="alert">{error}</p>}
      {listed && <JobTable jobs={jobs} accessions now={store.now()} labelledBy="jobs" none={NAMES.some(value) ? <>No job is like that. <a href={href(['jobs'])}>All jobs</a></> : <>There is no job yet. <a href="#/">How the first one comes</a></>} />}
      {!listed && !error && <p class="quiet">Loading</p>}
      <Pager before={before} next={next} go={setBefore} />
      {sending && <SendMany filter={chosen} day={day} onClose={() => setSending(false)} />}
    </section>
  );
}
