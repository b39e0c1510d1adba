// What tests of phantoms say of rooms, and what detectors are corrected with.
import { Calibrations } from './calibrations.tsx';
import { Quality } from './quality.tsx';

export function QualityScreen({ query }: { query: URLSearchParams }) {
  return <div class="quality"><Quality only={{ station: query.get('station'), protocol: query.get('protocol') }} /><Calibrations chosen={query.get('set')} /></div>;
}
