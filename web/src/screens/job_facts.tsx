// Parameters and result of a job, as lists.
import type { JobDetail, JobResult } from '../api/types.ts';
import { algorithmName, count, fullTime, gups, millimetres, seconds, significant, withUnit, words } from '../lib/format.ts';
import { framesLost } from '../lib/progress.ts';
import { jobHref } from '../lib/router.ts';
import { againstText, phaseText, relatedName } from '../lib/relations.ts';
import { Bar, Fact, Facts, Name } from '../ui/bits.tsx';
import { Term } from '../ui/term.tsx';

type Timing = keyof JobResult['timings_seconds'];
const STAGES: Timing[] = ['upload', 'preprocess', 'filter', 'backproject', 'refine', 'hounsfield', 'download', 'export', 'acquisition', 'total'];

export function JobFacts({ job, now }: { job: JobDetail; now: number }) {
  const { acquisition: acquired } = job;
  return (
    <div class="columns equal">
      <section class="card" aria-labelledby="acquisition">
        <header><h2 id="acquisition">Acquisition</h2></header>
        <Facts>
          <Fact name="Job"><span class="id">{job.job_id}</span></Fact>
          <Fact name="Room"><Name text={job.station_name || '–'} /></Fact>
          <Fact name="Protocol">{job.protocol}</Fact>
          <Fact name={<Term name="Class" />}>{job.job_class}</Fact>
          <Fact name="Begun">{fullTime(job.create_time)}</Fact>
          <Fact name="Ended">{fullTime(job.end_time)}</Fact>
          <Fact name="Deadline">{fullTime(job.deadline)}</Fact>
          <Fact name="Frames">{count(acquired.frames)}{job.state === 'cancelled' && `, of which ${count(job.progress.frames_received)} came`}</Fact>
          <Fact name="Arc">{acquired.arc_deg.toFixed(1)}°</Fact>
          <Fact name="Source to isocentre">{millimetres(acquired.source_to_isocenter_mm)}</Fact>
          <Fact name="Source to detector">{millimetres(acquired.source_to_detector_mm)}</Fact>
          {job.phase_cycle && <Fact name="Phases told">{job.phase_cycle === 'unknown' ? 'of a cycle' : `of the ${job.phase_cycle} cycle`}</Fact>}
          <Fact name="Tube voltage">{withUnit(acquired.tube_voltage_kv, 'kV')}</Fact>
          <Fact name="Body part">{acquired.body_part_examined ?? '–'}</Fact>
          <Fact name="Series description">{acquired.series_description ?? '–'}</Fact>
          <Fact name="Filter">{acquired.filter_description ?? '–'}</Fact>
          <Fact name="Calibration">
            {calibrationText(job)}
          </Fact>
          <Fact name="Frames lost">{count(framesLost(job))}</Fact>
        </Facts>
      </section>
      <section class="card" aria-labelledby="result">
        <header><h2 id="result">{job.has_volume ? 'Volume' : 'Planned volume'}</h2></header>
        <Facts>
          <Fact name="Voxels">{job.grid.nx} × {job.grid.ny} × {job.grid.nz}</Fact>
          <Fact name="Spacing">{job.grid.spacing_mm.map((v) => v.toFixed(3)).join(' × ')} mm</Fact>
          <Fact name="First voxel">{job.grid.origin_mm.map((v) => v.toFixed(2).replace('-', '−')).join(', ')} mm</Fact>
          {job.refinement && <RefinementFacts refinement={job.refinement} />}
          {job.result && <ResultFacts result={job.result} />}
          {job.pair_id && <Fact name="Pair"><span class="id">{job.pair_id}</span> {job.pair_role}</Fact>}
          {job.refines_job_id && !job.related.some((r) => r.job_id === job.refines_job_id) && <Fact name="Refines"><a class="id" href={jobHref(job.refines_job_id)}>{job.refines_job_id}</a></Fact>}
          {job.related.map((r) => (
            <Fact key={r.job_id} name={relatedName(r, job.related, false, now)}><a class="id" href={jobHref(r.job_id)}>{r.job_id}</a> {r.state}</Fact>
          ))}
        </Facts>
      </section>
      <section class="card" aria-labelledby="dicom-ids">
        <header><h2 id="dicom-ids">DICOM</h2></header>
        <Facts>
          <Fact name="Accession number">{job.accession_number || '–'}</Fact>
          <Fact name="Study"><span class="id">{job.study_instance_uid || '–'}</span></Fact>
          <Fact name="Series"><span class="id">{job.result?.series_instance_uid ?? '–'}</span></Fact>
          <Fact name="Frame of reference"><span class="id">{job.result?.frame_of_reference_uid ?? '–'}</span></Fact>
          <Fact name="Instances">{count(job.result?.instance_count)}</Fact>
        </Facts>
      </section>
    </div>
  );
}

// A job without a set says why, as a valid one may be there.
export function calibrationText({ acquisition: { calibration }, protocol, warnings }: Pick<JobDetail, 'acquisition' | 'protocol' | 'warnings'>): string {
  if (calibration) return `${calibration.name}${calibration.verified ? ' (verified)' : ''}${calibration.outside_validity ? ' (outside its validity)' : ''}`;
  if (warnings.some(({ kind }) => kind === 'calibration')) return 'none: no set fits, as the warning says';
  return `none: protocol ${protocol} takes no set, or the frames came corrected`;
}

function RefinementFacts({ refinement }: { refinement: NonNullable<JobDetail['refinement']> }) {
  const last = refinement.iterations.at(-1);
  const { second_pass: second, phase } = refinement;
  if (phase) {
    return (
      <>
        <Fact name="Phase">{phaseText(phase)} of the cycle, width {Number((100 * phase.width).toFixed(1))} %</Fact>
        <Fact name="Frames of it">{count(phase.frames)}, largest gap {significant(phase.largest_gap_deg)} degrees of the arc</Fact>
        {refinement.iterations.length > 0 && <Fact name="Algorithm">{algorithmName(refinement.algorithm)}, {words(refinement.projector)}</Fact>}
      </>
    );
  }
  if (second) {
    return (
      <>
        <Fact name={<Term name="Second pass" />}>{againstText(second)}</Fact>
        {second.reference_job_id && <Fact name="Beside the volume of"><span class="id">{second.reference_job_id}</span></Fact>}
      </>
    );
  }
  return (
    <>
      <Fact name="Algorithm">{algorithmName(refinement.algorithm)}, {words(refinement.projector)}</Fact>
      <Fact name="Iterations">{count(refinement.iterations.length)}{last && ` in ${seconds(last.seconds)}`}</Fact>
      {last && <Fact name={<>Relative <Term name="Residual">residual</Term></>}>{significant(last.relative_residual)}</Fact>}
    </>
  );
}

// Refinements and subtractions receive no frames: what is measured while frames come is not there, rather than unknown.
function ResultFacts({ result }: { result: JobResult }) {
  return (
    <>
      <Fact name="Backend">{result.backend}</Fact>
      {result.kernel_gups !== null && <Fact name={<>Speed, kernel, in <Term name="GUPS" /></>}>{gups(result.kernel_gups)}</Fact>}
      {result.whole_gups !== null && <Fact name="Speed, whole">{gups(result.whole_gups)}</Fact>}
      {result.seconds_after_last_frame !== null && <Fact name="After the last frame">{seconds(result.seconds_after_last_frame)}</Fact>}
      {result.seconds_to_stored !== null && <Fact name="Last frame to stored">{seconds(result.seconds_to_stored)}</Fact>}
    </>
  );
}

// How long each stage was at work; stages overlap.
export function Timings({ result }: { result: JobResult }) {
  const timings = result.timings_seconds;
  const longest = Math.max(1e-9, ...Object.values(timings));
  return (
    <table class="compact bars" aria-label="How long each stage was at work">
      <tbody>
        {STAGES.filter((name) => timings[name] > 0).map((name) => (
          <tr key={name}>
            <th scope="row">{words(name)}</th>
            <td class="measure"><Bar part={timings[name] / longest} label={words(name)} text={seconds(timings[name])} /></td>
            <td class="number">{seconds(timings[name])}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
