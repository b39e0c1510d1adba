// How far the arm has turned: the way that it goes, and what of it is behind it.
import type { JobDetail } from '../api/types.ts';

const RADIUS = 16;

export function Arm({ job: { acquisition, progress: p } }: { job: JobDetail }) {
  const arc = Math.abs(acquisition?.arc_deg ?? 0);
  if (arc === 0 || p.frames_total === 0) return null;
  const part = Math.min(1, (p.frames_received + p.frames_lost) / p.frames_total);
  const text = `${Math.round(part * arc)}° of ${Math.round(arc)}°`;
  const path = arcPath(Math.min(arc, 359.9));
  return (
    <span class="arm" role="meter" aria-label="Arm" aria-valuemin={0} aria-valuemax={Math.round(arc)} aria-valuenow={Math.round(part * arc)} aria-valuetext={text}>
      <svg viewBox="-20 -20 40 40" aria-hidden="true">
        <path class="way" d={path} pathLength={1} />
        <path class="done" d={path} pathLength={1} stroke-dasharray={`${part} 2`} />
      </svg>
      <span class="numbers" aria-hidden="true">Arm at {text}</span>
    </span>
  );
}

// Open at the bottom, where the table is.
function arcPath(arc: number): string {
  const at = (degrees: number) => {
    const angle = (degrees * Math.PI) / 180;
    return `${(RADIUS * Math.sin(angle)).toFixed(2)} ${(-RADIUS * Math.cos(angle)).toFixed(2)}`;
  };
  return `M ${at(-arc / 2)} A ${RADIUS} ${RADIUS} 0 ${arc > 180 ? 1 : 0} 1 ${at(arc / 2)}`;
}
