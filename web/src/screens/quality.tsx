// Image quality as physicists measured it: the last test of each room and protocol, and how its figures went.
import { useState } from 'preact/hooks';
import type { QualityResult, QualityVerdict } from '../api/types.ts';
import { figureName, figureTerm } from '../lib/figures.ts';
import { count, plural, significant } from '../lib/format.ts';
import { conditionsText, isUncorrected, levelOf, levelsText, reasonsOf, seriesOf } from '../lib/quality_results.ts';
import { jobHref } from '../lib/router.ts';
import { useAsked } from '../state/hooks.ts';
import { Chip, Empty, LocalTimes, Time } from '../ui/bits.tsx';
import { DocsLink } from '../ui/docs_link.tsx';
import { Term } from '../ui/term.tsx';

interface Answer {
  results: QualityResult[];
  truncated: boolean;
}

const ASK_MS = 30_000;

// `only`: of which room and protocol; where they are null, of all.
export function Quality({ only }: { only: { station: string | null; protocol: string | null } }) {
  const { station, protocol } = only;
  const { data, error } = useAsked<Answer>('quality', { limit: 1000, station: station ?? undefined, protocol: protocol ?? undefined }, ASK_MS);
  return (
    <section class="card" aria-labelledby="quality">
      <header><h1 id="quality">Image quality</h1>{data && data.results.length > 0 && <DocsLink to="figures">What the figures are</DocsLink>}{data && data.results.length > 0 && <LocalTimes />}{(station || protocol) && <a href="#/quality">All rooms</a>}</header>
      {error && <p class="problem" role="alert">{error}</p>}
      {data?.results.length === 0 && (
        <Empty>No test has been recorded. <code>isocenter qa --job JOB --record</code> measures a scan of a phantom. <DocsLink to="quality">How</DocsLink></Empty>
      )}
      {data && seriesOf(data.results).map((results) => <Series key={results[0]!.station_name + '/' + results[0]!.protocol} results={results} />)}
      {data?.truncated && <p class="quiet">Older results are not shown; <code>isocenter quality list</code> has them.</p>}
    </section>
  );
}

function Series({ results }: { results: QualityResult[] }) {
  const newest = results[0]!;
  const [all, setAll] = useState(false);
  const every = namesOf(newest);
  const few = tellingNames(newest);
  const names = all ? every : few;
  const title = `${newest.station_name}, ${newest.protocol}`;
  return (
    <section class="series" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <VerdictChip result={newest} />
        <Origin newest={newest} tests={results.length} />
        <Comments result={newest} />
        {few.length < every.length && <button type="button" class="small" aria-pressed={all} onClick={() => setAll(!all)}>All {count(every.length)} figures</button>}
      </header>
      <table class="list" aria-label={title}>
        <thead>
          <tr><th scope="col">Figure</th><th scope="col" class="number">Value</th><th scope="col" class="number">Baseline</th>
            <th scope="col" class="number">Tolerance</th><th scope="col">Verdict</th><th scope="col">Tests, oldest first</th></tr>
        </thead>
        <tbody>{names.map((name) => <Row key={name} name={name} results={results} />)}</tbody>
      </table>
      <NotJudged result={newest} />
    </section>
  );
}

// Which scan it was, and how it was made.
function Origin({ newest, tests }: { newest: QualityResult; tests: number }) {
  const { conditions } = newest;
  const made = conditions ? conditionsText(conditions) : '';
  return (
    <span class="quiet">
      {conditions?.acquired_time && <>scanned <Time at={conditions.acquired_time} now={Date.now()} />, recorded </>}<Time at={newest.record_time} now={Date.now()} />
      {newest.phantom && `, phantom ${newest.phantom}`}{made && `, ${made}`}
      {newest.job_id && <>, <a href={jobHref(newest.job_id)}>{newest.job_id}</a></>}, {plural(tests, 'test', 'tests')}
    </span>
  );
}

// What is to be known before the figures are believed.
function Comments({ result }: { result: QualityResult }) {
  return (
    <>
      {isUncorrected(result) && <span class="notice">The frames were not corrected (no calibration set): Hounsfield units, uniformity and noise are those of raw counts, and say nothing of scans that are corrected</span>}
      {result.changed_conditions.length > 0 && <span class="notice">Other conditions than the baseline’s: {result.changed_conditions.join('; ')}</span>}
      {result.untold_conditions.length > 0 && <span class="quiet">known of one of this scan and the baseline at most, so not compared: {result.untold_conditions.join(', ')}</span>}
      {result.same_scan_id && <span class="quiet">the scan of {result.same_scan_id} again</span>}
    </>
  );
}

function NotJudged({ result }: { result: QualityResult }) {
  const unjudged = result.not_judged.length;
  if (unjudged === 0) return null;
  return (
    <details class="not-judged">
      <summary>{unjudged === 1 ? '1 figure is' : `${count(unjudged)} figures are`} not judged{result.baseline && ' by this baseline'}: why</summary>
      <ul>{reasonsOf(result.not_judged).map(({ why, names }) => <li key={why}><b>{names.map(figureName).join('; ')}</b>: {why}</li>)}</ul>
    </details>
  );
}

// What is looked at first, of what there is.
const FIRST = ['noise_hu', 'water_hu', 'cupping_hu', 'non_uniformity_hu', 'mtf50_edge_per_mm', 'detectability_5mm', 'distance_error_mm'];

function namesOf(result: QualityResult): string[] {
  return [...new Set([...Object.keys(result.measures), ...result.verdicts.map((verdict) => verdict.name)])];
}

// Those that are not within their tolerance; else those that are looked at first, and where there are none of these, all.
export function tellingNames(result: QualityResult): string[] {
  const names = namesOf(result);
  const telling = result.verdicts.filter((verdict) => levelOf(verdict) !== 'within').map((verdict) => verdict.name);
  const first = names.filter((name) => FIRST.includes(name));
  return [telling, first].find((chosen) => chosen.length > 0) ?? names;
}

function VerdictChip({ result }: { result: QualityResult }) {
  if (result.baseline) return <Chip kind="ok" text="Baseline" />;
  if (result.passed === null) return <Chip kind="waiting" text="No baseline" />;
  const levels = levelsText(result.verdicts);
  if (!result.passed) return <Chip kind="bad" text={levels} />;
  return levels ? <Chip kind="warning" text={`Passed, ${levels}`} /> : <Chip kind="ok" text="Passed" />;
}

function Row({ name, results }: { name: string; results: QualityResult[] }) {
  const verdict = results[0]!.verdicts.find((each) => each.name === name);
  const notJudged = results[0]!.not_judged.some((each) => each.name === name);
  const term = figureTerm(name);
  return (
    <tr>
      <th scope="row" data-label="Figure">{term ? <Term name={term}>{figureName(name)}</Term> : figureName(name)}</th>
      <td class="number" data-label="Value">{significant(results[0]!.measures[name])}</td>
      <td class="number" data-label="Baseline">{verdict ? significant(verdict.baseline) : results[0]!.baseline ? 'this test' : '–'}</td>
      <td class="number" data-label="Tolerance">{verdict ? `±${significant(verdict.tolerance, 2)}` : '–'}</td>
      <td data-label="Verdict">{verdict ? <Level verdict={verdict} /> : (notJudged ? 'not judged' : '–')}</td>
      <td data-label="Tests"><Trend name={name} values={results.map((each) => each.measures[name]).reverse()} verdict={verdict} /></td>
    </tr>
  );
}

// Two thirds of a tolerance are passed, and a reason to test again.
function Level({ verdict }: { verdict: QualityVerdict }) {
  const level = levelOf(verdict);
  if (level === 'within') return <>passed</>;
  return level === 'watch' ? <Chip kind="warning" text="passed, watch" title="Beyond two thirds of the tolerance: test again, and look for a cause at the next service" /> : <Chip kind="bad" text={level} />;
}

const WIDTH = 180;
const HEIGHT = 28;

// A line of the values between the bounds of the baseline's tolerance.
function Trend({ name, values, verdict }: { name: string; values: (number | undefined)[]; verdict: QualityVerdict | undefined }) {
  const known = values.filter((value): value is number => value !== undefined);
  if (known.length < 2) return null;
  const bounds = verdict ? [verdict.baseline - verdict.tolerance, verdict.baseline + verdict.tolerance] : [];
  const low = Math.min(...known, ...bounds);
  const high = Math.max(...known, ...bounds);
  const y = (value: number) => HEIGHT - 2 - ((value - low) / (high - low || 1)) * (HEIGHT - 4);
  const x = (index: number) => 2 + (index / (values.length - 1)) * (WIDTH - 4);
  const points = values.flatMap((value, i) => (value === undefined ? [] : [`${x(i).toFixed(1)},${y(value).toFixed(1)}`]));
  return (
    <svg width={WIDTH} height={HEIGHT} role="img" aria-label={`${figureName(name)}: from ${significant(known[0])} to ${significant(known.at(-1))}`}>
      {bounds.map((bound) => <line key={bound} x1={0} x2={WIDTH} y1={y(bound)} y2={y(bound)} stroke="currentColor" stroke-opacity="0.35" stroke-dasharray="3 3" />)}
      <polyline points={points.join(' ')} fill="none" stroke="currentColor" stroke-width="1.5" />
    </svg>
  );
}
