// What tests of phantoms say of rooms, and what detectors are corrected with.
import { Calibrations } from './calibrations.tsx';
import { Quality } from './quality.tsx';

export function QualityScreen() {
  return <div class="quality"><Quality /><Calibrations /></div>;
}
