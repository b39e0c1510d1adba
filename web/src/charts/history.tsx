// Throughput over time, as the server sampled it.
import { useState } from 'preact/hooks';
import type { History } from '../api/types.ts';
import { count, framesPerSecond, gups, seconds, withUnit } from '../lib/format.ts';
import { useAsked, useStore } from '../state/hooks.ts';
import { Time } from '../ui/bits.tsx';
import { DocsLink } from '../ui/docs_link.tsx';
import { Plot } from './plot.tsx';

const SPANS = [
  { seconds: 900, name: '15 min' },
  { seconds: 3600, name: '1 h' },
  { seconds: 6 * 3600, name: '6 h' },
  { seconds: 24 * 3600, name: '24 h' },
];
const POINTS = 360;
const REFUSALS = 3;
// The server takes a sample every 10 s.
const SAMPLE_MS = 10_000;

export function HistoryPlots() {
  const [span, setSpan] = useState(3600);
  // After rooms, jobs and devices, which are read first: plots take longest to draw.
  const { status } = useStore();
  const { data, error } = useAsked<History>(status ? 'history' : null, { seconds: span, points: POINTS }, SAMPLE_MS, true);
  return (
    <section class="card" aria-labelledby="throughput">
      <header>
        <h2 id="throughput">Throughput</h2>
        <Begun span={span} />
        <div class="group" role="group" aria-label="Time span">
          {SPANS.map((s) => (
            <button
              type="button" key={s.seconds} class="small" aria-pressed={span === s.seconds} onClick={() => setSpan(s.seconds)}
            >{s.name}</button>
          ))}
        </div>
      </header>
      {error && <p class="problem">{error}</p>}
      {data && <Refused history={data} />}
      {data && data.time.length > 0 && <Plots history={data} span={span} />}
      {data?.time.length === 0 && <p class="quiet">No sample yet; the server takes one every 10 s.</p>}
      {!data && !error && <p class="quiet">Loading</p>}
    </section>
  );
}

// Why plots begin later than was asked for: samples are of this process only.
function Begun({ span }: { span: number }) {
  const store = useStore();
  const begun = store.status?.start_time;
  if (!begun || store.now() - Date.parse(begun) > span * 1000) return null;
  return <span class="quiet">since <Time at={begun} now={store.now()} />, when the service began</span>;
}

// Said in words: in a plot, one refusal within a day is a line of one pixel.
function Refused({ history }: { history: History }) {
  const store = useStore();
  const refused = history.refused.reduce<number>((sum, n) => sum + (n ?? 0), 0);
  if (refused === 0) return null;
  return (
    <div class="notice">
      <p>
        {refused === 1 ? 'One acquisition was' : `${count(refused)} acquisitions were`} refused in this time{refused > REFUSALS && `; the last ${REFUSALS}:`} <DocsLink to="refusing" />
      </p>
      <ul aria-label="Last refusals">
        {history.last_refusals.slice(0, Math.min(refused, REFUSALS)).map((r) => (
          <li key={r.time}>
            <Time at={r.time} now={store.now()} /> {r.station_name && <b>{r.station_name}: </b>}{r.message || 'its console was told why'} <span class="quiet">{r.code}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Plots({ history: h, span }: { history: History; span: number }) {
  return (
    <div class="plots">
      <Plot
        title="Frames received" time span={span} step={h.step_seconds} x={h.time} y={[h.frames_per_second]} format={framesPerSecond}
        series={[{ name: 'frames/s', colour: 'series-1' }]}
      />
      <Plot
        title="Pixels received" time span={span} step={h.step_seconds} x={h.time} y={[h.megabytes_per_second]} format={(v) => withUnit(v, 'MB/s')}
        series={[{ name: 'MB/s', colour: 'series-1' }]}
      />
      <Plot
        title="Speed" time span={span} step={h.step_seconds} x={h.time} y={[h.kernel_gups, h.whole_gups]} format={gups}
        series={[
          { name: 'kernel', colour: 'series-1', points: true },
          { name: 'whole', colour: 'series-2', dashed: true, points: true },
        ]}
      />
      <Plot
        title="After the last frame" time span={span} step={h.step_seconds} x={h.time} y={[h.seconds_after_last_frame]} format={seconds}
        series={[{ name: 'longest', colour: 'series-3', points: true }]}
      />
      <Plot
        title="Active jobs, waiting chunks" time span={span} step={h.step_seconds} x={h.time} y={[h.active_jobs, h.queue_chunks]} format={count}
        series={[{ name: 'jobs', colour: 'series-1' }, { name: 'chunks', colour: 'series-2', dashed: true }]}
      />
      <Plot
        title="Jobs ended" time span={span} step={h.step_seconds} x={h.time} y={[h.completed_jobs, h.failed_jobs, h.refused]} format={count}
        series={[
          { name: 'completed', colour: 'series-1' }, { name: 'failed', colour: 'series-3', dashed: true },
          { name: 'refused', colour: 'series-2', dashed: true },
        ]}
      />
    </div>
  );
}
