// Warnings that say the same of other frames, or with other figures, are one with a number.
import type { Job, JobDetail } from '../api/types.ts';
import { words } from './format.ts';

export type Warning = JobDetail['warnings'][number];

// Fewer are read faster one by one.
const ALIKE = 3;

// In the order of the first of each; one that is alone is a group of its own.
export function grouped(warnings: Warning[]): Warning[][] {
  const alike = new Map<string, Warning[]>();
  for (const warning of warnings) {
    const key = `${warning.kind} ${warning.text.replace(/[-−]?\d+(\.\d+)?/g, '#')}`;
    alike.set(key, [...(alike.get(key) ?? []), warning]);
  }
  return [...alike.values()].flatMap((group) => (group.length < ALIKE ? group.map((one) => [one]) : [group]));
}

// Kinds that say of the volume itself that it may be wrong, which is said wherever the job is named; others are of the acquisition's course.
export const OF_THE_VOLUME = new Set(['air_level', 'beyond_calibration', 'calibration', 'cut_object', 'dead_detector', 'dose_unknown', 'implausible_header', 'matrices_misfit', 'repeated_frames', 'saturated_detector', 'unknown_defects']);

export function ofTheVolume(warnings: Warning[]): Warning[] {
  return warnings.filter(({ kind }) => OF_THE_VOLUME.has(kind));
}

// Why the volume that a job has, or is going to have, may be wrong, in words: "air level, saturated detector"; empty where nothing tells against it.
export function doubtsOf({ state, warning_kinds: kinds }: Pick<Job, 'state' | 'warning_kinds'>): string {
  if (state === 'failed' || state === 'cancelled') return '';
  return kinds.filter((kind) => OF_THE_VOLUME.has(kind)).map(words).join(', ');
}

// What a job is warned of, in words: "cut object, frame gap"; how often, where a service tells no kinds.
export function warnedOf({ warning_kinds: kinds, warning_count: warnings }: Pick<Job, 'warning_kinds' | 'warning_count'>): string {
  return kinds.length > 0 ? kinds.map(words).join(', ') : String(warnings);
}

// "frames 17 to 203"; empty where a warning is of no frame.
export function framesOf(group: Warning[]): string {
  const frames = group.map(({ frame_index }) => frame_index);
  if (frames.some((frame) => frame === null)) return '';
  return `frames ${Math.min(...(frames as number[]))} to ${Math.max(...(frames as number[]))}`;
}
