// All jobs, newest first, by state, station, protocol or accession number.
import { useEffect, useState } from 'preact/hooks';
import type { JobPage } from '../api/types.ts';
import { go, href } from '../lib/router.ts';
import { useAsked, useStore } from '../state/hooks.ts';
import { JobTable } from './job_table.tsx';

const STATES: [string, string][] = [
  ['', 'All'], ['active', 'Active'], ['completed', 'Completed'], ['failed', 'Failed'], ['cancelled', 'Cancelled'],
];
const FIELDS: [string, string][] = [['station_name', 'Room'], ['protocol', 'Protocol'], ['accession_number', 'Accession number']];
const PAGE = 50;
const JOBS_MS = 5_000;

// A filter to be typed. What is being typed stays, however often the jobs beside it are drawn anew, until it is taken.
function Words({ label, value, onChange }: { label: string; value: string; onChange: (to: string) => void }) {
  const [typed, setTyped] = useState<string | null>(null);
  useEffect(() => setTyped(null), [value]);
  const take = (to: string) => {
    setTyped(to);
    onChange(to);
  };
  return (
    <label class="inline">
      <span class="quiet">{label}</span>
      <input
        type="search" value={typed ?? value} size={14} onInput={(event) => setTyped(event.currentTarget.value)}
        onChange={(event) => take(event.currentTarget.value.trim())}
      />
    </label>
  );
}

export function Jobs({ query }: { query: URLSearchParams }) {
  const store = useStore();
  // Tokens of the pages before this one.
  const [before, setBefore] = useState<string[]>([]);
  const value = (name: string) => query.get(name) ?? '';
  const filter = Object.fromEntries([...FIELDS.map(([name]) => name), 'state'].map((name) => [name, value(name)]));
  const { data, error } = useAsked<JobPage>('jobs', { ...filter, page_size: PAGE, page_token: before.at(-1) }, JOBS_MS);

  const change = (name: string, to: string) => {
    setBefore([]);
    go(href(['jobs'], { ...filter, [name]: to }));
  };
  // What events told since is newer than the page that was asked for.
  const jobs = (data?.jobs ?? []).map((job) => store.jobs.get(job.job_id) ?? job);
  return (
    <section class="card" aria-labelledby="jobs">
      <header>
        <h1 id="jobs">Jobs</h1>
        <form class="filters" onSubmit={(event) => event.preventDefault()}>
          <label class="inline">
            <span class="quiet">State</span>
            <select value={value('state')} onChange={(event) => change('state', event.currentTarget.value)}>
              {STATES.map(([state, name]) => <option key={state} value={state}>{name}</option>)}
            </select>
          </label>
          {FIELDS.map(([name, label]) => (
            <Words key={name} label={label} value={value(name)} onChange={(to) => change(name, to)} />
          ))}
        </form>
      </header>
      {error && <p class="problem" role="alert">{error}</p>}
      {data && <JobTable jobs={jobs} now={store.now()} />}
      {!data && !error && <p class="quiet">Loading</p>}
      <footer class="actions">
        <button type="button" disabled={before.length === 0} onClick={() => setBefore(before.slice(0, -1))}>Newer</button>
        <button
          type="button" disabled={!data?.next_page_token}
          onClick={() => data?.next_page_token && setBefore([...before, data.next_page_token])}
        >Older</button>
      </footer>
    </section>
  );
}
