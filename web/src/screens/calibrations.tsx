// What the rooms' frames are corrected with, and until when.
import { useEffect, useRef } from 'preact/hooks';
import type { CalibrationSet } from '../api/types.ts';
import { validity } from '../lib/calibration_sets.ts';
import { words } from '../lib/format.ts';
import { figure, keyFigures } from '../lib/set_figures.ts';
import { useAsked } from '../state/hooks.ts';
import { Chip, Empty, LocalTimes, Time } from '../ui/bits.tsx';
import { DocsLink } from '../ui/docs_link.tsx';

interface Answer {
  calibrations: CalibrationSet[];
  truncated: boolean;
}

const ASK_MS = 60_000;

// `chosen`: the set whose row has the focus, for who comes because of it.
export function Calibrations({ chosen }: { chosen: string | null }) {
  const { data, error } = useAsked<Answer>('calibrations', { limit: 1000, withdrawn: 1 }, ASK_MS);
  return (
    <section class="card" aria-labelledby="calibrations">
      <header><h2 id="calibrations">Calibrations</h2>{data && data.calibrations.length > 0 && <LocalTimes />}</header>
      {error && <p class="problem" role="alert">{error}</p>}
      {data?.calibrations.length === 0 && (
        <Empty>No set is kept: frames are taken as they come. <code>isocenter calibrate</code> makes sets of sweeps and phantoms. <DocsLink to="calibrating">How</DocsLink></Empty>
      )}
      {data && data.calibrations.length > 0 && <Sets sets={data.calibrations} chosen={chosen} />}
      {data && data.calibrations.length > 0 && <p class="quiet">Scans are corrected where their protocol says so (<code>corrections {'{'} calibration {'}'}</code>); the newest valid set that fits is taken. <DocsLink to="calibrationEnds">Which one</DocsLink></p>}
      {data?.truncated && <p class="quiet">Older sets are not shown; <code>isocenter calibrations list</code> has them.</p>}
    </section>
  );
}

function Sets({ sets, chosen }: { sets: CalibrationSet[]; chosen: string | null }) {
  const now = Date.now();
  const row = useRef<HTMLTableCellElement>(null);
  useEffect(() => row.current?.focus(), [chosen]);
  return (
    <div class="scroll" role="region" aria-label="Table of calibrations" tabIndex={0}>
      <table class="list sets" aria-labelledby="calibrations">
        <thead>
          <tr><th scope="col">Room</th><th scope="col">Set</th><th scope="col">For</th><th scope="col">Corrects</th><th scope="col">Validity</th><th scope="col">How good it was</th></tr>
        </thead>
        <tbody>
          {sets.map((set) => (
            <tr key={set.name}>
              <td class="name" data-label="Room"><span class="whole-name">{set.station_name}</span></td>
              <th class="name" scope="row" data-label="Set" title={set.description ?? undefined} {...(set.name === chosen && { ref: row, tabIndex: -1 })}><span class="whole-name">{set.name}</span></th>
              <td data-label="For">{[`${set.columns} × ${set.rows}`, set.detector_mode, set.tube_voltage_kv && `${set.tube_voltage_kv} kV`].filter(Boolean).join(', ')}</td>
              <td data-label="Corrects">{set.parts.map(words).join(', ')}</td>
              <td data-label="Validity"><Chip {...validity(set, now)} /><span class="quiet until">until <Time at={set.valid_until} now={now} /></span><Verified set={set} now={now} /></td>
              <td data-label="How good">{set.quality.length > 0 && <HowGood quality={set.quality} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// Whether a scan of water came out as water. Matrices correct none.
function Verified({ set, now }: { set: CalibrationSet; now: number }) {
  if (set.geometry_frames > 0) return null;
  return <span class="quiet until">{set.verify_time ? <>verified <Time at={set.verify_time} now={now} /></> : 'not verified'}</span>;
}

// Two figures, and all of them where one asks.
function HowGood({ quality }: { quality: CalibrationSet['quality'] }) {
  const few = keyFigures(quality);
  if (few.length === quality.length) return <>{few.map((each) => <span class="figure" key={each.name}>{figure(each)}</span>)}</>;
  return (
    <>
      {few.map((each) => <span class="figure" key={each.name}>{figure(each)}</span>)}
      <details class="figures">
        <summary>All {quality.length} figures</summary>
        <ul>{quality.map((each) => <li key={each.name}>{figure(each)}</li>)}</ul>
      </details>
    </>
  );
}
