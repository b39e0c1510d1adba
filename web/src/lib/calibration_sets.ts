// Until when rooms have what their frames are corrected with.
import type { CalibrationSet } from '../api/types.ts';
import { plural } from './format.ts';

const DAY_MS = 86_400_000;
// As long as it takes to find an hour with a free room, and a phantom.
const SOON_DAYS = 14;
// An acquisition of another tube voltage gets another set (docs/calibration.md).
const SAME_KV = 1;

// Whether acquisitions of `now` may be corrected with it.
export function validity(set: CalibrationSet, now: number): { kind: string; text: string } {
  if (set.withdraw_time) return { kind: 'waiting', text: 'Withdrawn' };
  if (now < Date.parse(set.valid_from)) return { kind: 'waiting', text: 'Not yet valid' };
  const days = (Date.parse(set.valid_until) - now) / DAY_MS;
  if (days <= 0) return { kind: 'bad', text: 'Expired' };
  if (days <= SOON_DAYS) return { kind: 'warning', text: `Expires in ${plural(Math.ceil(days), 'day', 'days')}` };
  return { kind: 'ok', text: 'Valid' };
}

const hasMatrices = (set: CalibrationSet) => set.geometry_frames > 0;

// Whether acquisitions that get `set` may get `other` as well.
function serves(other: CalibrationSet, set: CalibrationSet): boolean {
  const sameDetector = (['station_name', 'detector_mode', 'columns', 'rows'] as const).every((name) => other[name] === set[name]);
  const sameVoltage = other.tube_voltage_kv === null || (set.tube_voltage_kv !== null && Math.abs(other.tube_voltage_kv - set.tube_voltage_kv) <= SAME_KV);
  return sameDetector && sameVoltage && hasMatrices(other) === hasMatrices(set);
}

// Sets that have expired, or soon do, and that no other one follows without a gap; of those for the same acquisitions the one that lasts
// longest. The first to expire first.
export function endingSets(sets: CalibrationSet[], now: number): CalibrationSet[] {
  const kept = sets.filter((set) => set.withdraw_time === null);
  const until = (set: CalibrationSet) => Date.parse(set.valid_until);
  const ends = (set: CalibrationSet) => until(set) - now <= SOON_DAYS * DAY_MS;
  const follows = (other: CalibrationSet, set: CalibrationSet) =>
    serves(other, set) && until(other) > until(set) && (ends(other) || Date.parse(other.valid_from) <= Math.max(now, until(set)));
  return kept
    .filter((set) => ends(set) && !kept.some((other) => follows(other, set)))
    .sort((a, b) => until(a) - until(b));
}
