// Jobs as a table.
import { type Job, isActive } from '../api/types.ts';
import { coarseSeconds, gups, seconds, time } from '../lib/format.ts';
import { jobHref } from '../lib/router.ts';
import { Chip, Empty, JobProgressBar, StateChip } from '../ui/bits.tsx';

export function JobTable({ jobs, now }: { jobs: Job[]; now: number }) {
  if (jobs.length === 0) return <Empty>No jobs.</Empty>;
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Begun</th><th scope="col">Room</th><th scope="col">Protocol</th><th scope="col">State</th>
            <th scope="col" class="number">After last frame</th><th scope="col" class="number">Kernel</th>
            <th scope="col" class="number">Whole</th><th scope="col" class="number">Took</th>
          </tr>
        </thead>
        <tbody>{jobs.map((job) => <Row key={job.job_id} job={job} now={now} />)}</tbody>
      </table>
    </div>
  );
}

function Row({ job, now }: { job: Job; now: number }) {
  const end = job.end_time ? Date.parse(job.end_time) : now;
  return (
    <tr data-job={job.job_id}>
      <th scope="row" class="numbers"><a href={jobHref(job.job_id)}>{time(job.create_time, now)}</a></th>
      <td>{job.station_name || '–'}</td>
      <td>{job.protocol}{job.refines_job_id && <span class="quiet"> · refinement</span>}{job.pair_role !== 'none' && <span class="quiet"> · {job.pair_role}</span>}</td>
      <td title={job.error?.message}>
        {isActive(job) ? <JobProgressBar job={job} /> : <StateChip state={job.state} />}
        {job.warning_count > 0 && <Chip kind="warning" text={`${job.warning_count}`} title="Warnings" />}
      </td>
      <td class="number">{seconds(job.result?.seconds_after_last_frame)}</td>
      <td class="number">{gups(job.result?.kernel_gups)}</td>
      <td class="number">{gups(job.result?.whole_gups)}</td>
      <td class="number">{coarseSeconds((end - Date.parse(job.create_time)) / 1000)}</td>
    </tr>
  );
}
