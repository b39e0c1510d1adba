// Figures of how good a calibration was, as `isocenter calibrate` names them: "detector: defective pixels".
import { count, significant } from './format.ts';

export interface SetFigure {
  name: string;
  value: number;
  unit: string | null;
}

const FEW = 2;
// What says whether a set is good, rather than how much went into it.
const TELLING = /residual|error|rms|left/i;

// Those that tell most; in the order in which they came.
export function keyFigures(figures: SetFigure[]): SetFigure[] {
  const telling = figures.filter(({ name }) => TELLING.test(name));
  const chosen = new Set([...telling, ...figures].slice(0, FEW));
  return figures.filter((each) => chosen.has(each));
}

// Counts are whole: "frames 50", "residual 0.400 %".
export function figure({ name, value, unit }: SetFigure): string {
  const text = Number.isInteger(value) ? `${value < 0 ? '−' : ''}${count(Math.abs(value))}` : significant(value);
  return `${name} ${text}${unit ? ` ${unit}` : ''}`;
}
