// What related jobs are called.
import type { JobDetail, RelatedJob, Relation } from '../api/types.ts';
import { algorithmName, plural, time } from './format.ts';

export const RELATIONS: Record<Relation, string> = {
  fdk: 'FDK', refined: 'Refined', mask: 'Mask', fill: 'Fill', subtraction: 'Subtracted',
};

type Refined = Pick<RelatedJob, 'job_id' | 'protocol' | 'create_time' | 'refinement'>;

// What a refinement is called beside others: algorithm and iterations, and when it was begun where there are several.
export function refinedName(job: Refined, several: boolean, now: number): string {
  const { algorithm, iterations } = job.refinement ?? { algorithm: '', iterations: 0 };
  const how = iterations > 0 ? `${algorithmName(algorithm)}, ${plural(iterations, 'iteration', 'iterations')}` : job.protocol;
  return `${RELATIONS.refined}: ${how}${several ? `, ${time(job.create_time, now)}` : ''}`;
}

// Of a name, what fits into the corner of a picture: of refinements that are told apart by their time, that.
export function shortName(name: string): string {
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
  const refinement = job.refinement && { algorithm: job.refinement.algorithm, iterations: job.progress.iterations_done };
  return { job_id: job.job_id, protocol: job.protocol, create_time: job.create_time, refinement };
}
