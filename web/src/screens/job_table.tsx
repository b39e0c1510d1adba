// Jobs as a table.
import type { ComponentChildren } from 'preact';
import { type Job, isActive } from '../api/types.ts';
import { coarseSeconds, gups, jobName, seconds } from '../lib/format.ts';
import { doneText } from '../lib/relations.ts';
import { jobHref, rowLink } from '../lib/router.ts';
import { ConsoleWait, Doubtful, Empty, JobProgressBar, Name, StateChip, Time, Warnings } from '../ui/bits.tsx';

interface Props {
  jobs: Job[];
  now: number;
  // The heading that says which jobs they are.
  labelledBy: string;
  // What is said where there are none.
  none: ComponentChildren;
  // With a column of accession numbers.
  accessions?: boolean;
}

export function JobTable({ jobs, now, labelledBy, none, accessions = false }: Props) {
  if (jobs.length === 0) return <Empty>{none}</Empty>;
  return (
    <div class="scroll">
      <table class="list jobs" aria-labelledby={labelledBy}>
        <thead>
          <tr>
            <th scope="col">Begun</th><th scope="col">Room</th><th scope="col">Protocol</th><th scope="col">State</th>
            {accessions && <th scope="col" title="The order of the information system; lists have no patients">Accession no.</th>}
            <th scope="col" class="number">After last frame</th><th scope="col" class="number" title="Speed of the device alone, in 10⁹ voxel updates in a second (GUPS)">Kernel</th>
            <th scope="col" class="number" title="Speed with all that is around the device, in 10⁹ voxel updates in a second (GUPS)">Whole</th><th scope="col" class="number">Took</th>
          </tr>
        </thead>
        <tbody>{jobs.map((job) => <Row key={job.job_id} job={job} now={now} accessions={accessions} />)}</tbody>
      </table>
    </div>
  );
}

function Row({ job, now, accessions }: { job: Job; now: number; accessions: boolean }) {
  const end = job.end_time ? Date.parse(job.end_time) : now;
  const kind = kindOf(job);
  return (
    <tr data-job={job.job_id} class="link" onClick={rowLink(jobHref(job.job_id))}>
      <th scope="row" class="numbers" data-label="Begun"><a href={jobHref(job.job_id)} aria-label={jobName(job, now)}><Time at={job.create_time} now={now} /></a></th>
      <td class="name" data-label="Room"><Name text={job.station_name || '–'} /></td>
      <td class="name" data-label="Protocol"><Name text={job.protocol} />{kind && <span class="quiet"> · {kind}</span>}</td>
      <td data-label="State">
        {isActive(job) ? <><JobProgressBar job={job} /><Doubtful job={job} /></> : <StateChip job={job} />}
        <ConsoleWait job={job} now={now} />
        {job.refines_job_id && job.state === 'completed' && <span class="quiet">{doneText(job)}</span>}
        <Warnings job={job} />
        {job.error && <p class="quiet two-lines why" title={job.error.message}>{job.error.message}</p>}
      </td>
      {accessions && <td class="accession" data-label="Accession no.">{job.accession_number}</td>}
      <Measured label="After last frame" text={seconds(job.result?.seconds_after_last_frame)} />
      <Measured label="Kernel" text={gups(job.result?.kernel_gups)} />
      <Measured label="Whole" text={gups(job.result?.whole_gups)} />
      <td class="number" data-label={isActive(job) ? 'Runs for' : 'Took'}>{coarseSeconds((end - Date.parse(job.create_time)) / 1000)}</td>
    </tr>
  );
}

// Where a row is a card of lines, what was not measured has none.
function Measured({ label, text }: { label: string; text: string }) {
  return <td class={`number ${text === '–' ? 'unknown' : ''}`} data-label={label}>{text}</td>;
}

// What a job is besides a scan; what is measured while frames come does not apply to these.
function kindOf(job: Job): string {
  if (job.refines_job_id) return 'refinement';
  return job.pair_role === 'none' ? '' : job.pair_role;
}
