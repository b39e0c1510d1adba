// What related jobs are called.
import type { Job, JobDetail, Phase, RelatedJob, Relation, SecondPass } from '../api/types.ts';
import { algorithmName, plural, time } from './format.ts';

export const RELATIONS: Record<Relation, string> = {
  fdk: 'FDK', refined: 'Refined', mask: 'Mask', fill: 'Fill', subtraction: 'Subtracted',
};

type Refined = Pick<RelatedJob, 'job_id' | 'protocol' | 'create_time' | 'refinement'>;

// "against scatter and metal": what a second pass takes off.
export function againstText(pass: SecondPass): string {
  const all = [pass.scatter && 'scatter', pass.metal && 'metal', pass.bone && 'bone', pass.cone_beam && 'cone beam', pass.motion && 'motion', pass.self_calibrate && 'a detector elsewhere', pass.complete_rows && 'cut rows'];
  return `against ${all.filter(Boolean).join(' and ')}`;
}

// "phase 25 %" of the cycle.
export function phaseText({ phase }: Pick<Phase, 'phase'>): string {
  return `phase ${Number((100 * phase).toFixed(1))} %`;
}

// What a refinement does or did: "phase 25 %, 5 iterations", "second pass against metal".
export function doneText({ phase, second_pass: pass, progress }: Pick<Job, 'phase' | 'second_pass' | 'progress'>): string {
  const iterations = progress.iterations_total > 0 ? plural(progress.iterations_done, 'iteration', 'iterations') : '';
  if (phase) return [phaseText(phase), iterations].filter(Boolean).join(', ');
  return iterations || `second pass${pass ? ` ${againstText(pass)}` : ''}`;
}

function howMade(job: Refined): string {
  const phase = job.refinement?.phase;
  if (phase) return `${phaseText(phase)}, ${howIterated(job) || RELATIONS.fdk}`;
  if (job.refinement?.second_pass) return againstText(job.refinement.second_pass);
  return howIterated(job) || job.protocol;
}

// Empty where there is no iteration.
function howIterated({ refinement }: Refined): string {
  if (!refinement || refinement.iterations === 0) return '';
  return `${algorithmName(refinement.algorithm)}, ${plural(refinement.iterations, 'iteration', 'iterations')}`;
}

// What a refinement is called beside others: algorithm and iterations, or what a second pass is against, and when it was begun where there are several.
export function refinedName(job: Refined, several: boolean, now: number): string {
  return `${RELATIONS.refined}: ${howMade(job)}${several ? `, ${time(job.create_time, now)}` : ''}`;
}

// Of a name, what fits into the corner of a picture: of refinements that are told apart by their time, that; of second passes what they
// are against, of phases the phase.
export function shortName(name: string): string {
  const phase = /^\w+: p(hase [^,]+)/.exec(name);
  if (phase) return `P${phase[1]!}`;
  const against = /^\w+: against (.)(.*)$/.exec(name);
  if (against) return `${against[1]!.toUpperCase()}${against[2]}`;
  const parts = name.split(', ');
  return parts.length > 2 ? `${RELATIONS.refined}, ${parts.at(-1)}` : name;
}

// The relation, with the protocol where several have the same; `besides`: the job itself is a refinement, too.
export function relatedName(related: RelatedJob, all: RelatedJob[], besides: boolean, now: number): string {
  const several = all.filter((r) => r.relation === related.relation).length > 1;
  if (related.relation === 'refined') return refinedName(related, several || besides, now);
  const name = RELATIONS[related.relation] ?? related.relation;
  return several ? `${name} (${related.protocol})` : name;
}

// A refinement as those see it that are related to it.
export function asRelated(job: JobDetail): Refined {
  const refinement = job.refinement && {
    algorithm: job.refinement.algorithm, iterations: job.progress.iterations_done, second_pass: job.refinement.second_pass,
    phase: job.refinement.phase ?? null,
  };
  return { job_id: job.job_id, protocol: job.protocol, create_time: job.create_time, refinement };
}
