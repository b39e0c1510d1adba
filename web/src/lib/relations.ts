// What related jobs are called.
import type { Relation } from '../api/types.ts';

export const RELATIONS: Record<Relation, string> = {
  fdk: 'FDK', refined: 'Refined', mask: 'Mask', fill: 'Fill', subtraction: 'Subtracted',
};
