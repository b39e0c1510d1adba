// The volume as far as it is: three planes through its middle, while frames still arrive.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Grid, JobDetail, Preview } from '../api/types.ts';
import { ofAllFrames, rangeOf, samplesOf } from '../lib/preview.ts';
import { useAsked } from '../state/hooks.ts';
import { Arm } from '../ui/arm.tsx';
import { Empty } from '../ui/bits.tsx';
import { planeOf } from '../viewer/geometry.ts';
import { PRESETS, type Window, applyTable, fillLookupTable, fullWindow } from '../viewer/window_level.ts';

// The service makes five in a second; what has not changed is not sent again.
const PREVIEW_MS = 500;
// Beside the presets: from the least value to the greatest.
const FULL = 'full';

export function PreviewPanes({ job }: { job: JobDetail }) {
  const { data } = useAsked<Preview>(job.has_preview ? `jobs/${encodeURIComponent(job.job_id)}/preview` : null, {}, PREVIEW_MS);
  const [chosen, setChosen] = useState<string>(PRESETS[0]!.id);
  const all = job.progress.frames_total;
  const planes = useMemo(() => data?.planes.map((plane) => ({ ...plane, samples: ofAllFrames(samplesOf(plane.hounsfield_base64), data.frames_backprojected, all) })) ?? [], [data, all]);
  const { center, width } = useMemo(() => windowOf(chosen, planes.map(({ samples }) => samples)), [chosen, planes]);
  const table = useMemo(() => {
    const filled = new Uint32Array(65536);
    fillLookupTable(filled, { center, width }, false);
    return filled;
  }, [center, width]);
  return (
    <section class="card" aria-labelledby="preview">
      <header>
        <h2 id="preview">Preview</h2>
        {job.state === 'receiving' && <Arm job={job} />}
        {data && <span class="quiet numbers">made of {data.frames_backprojected} of {all} frames{data.frames_backprojected < all && ', brightened accordingly'}</span>}
        <label class="inline">
          <span class="quiet">Window</span>
          <select value={chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
            {PRESETS.map(({ id, name }) => <option key={id} value={id}>{name}</option>)}
            <option value={FULL}>Full range</option>
          </select>
        </label>
      </header>
      {!data && <Empty>{job.state === 'refining' ? 'There is no preview yet; how far the refinement is stands above.' : 'The first preview comes when frames have been back-projected.'}</Empty>}
      <div class="previews">{planes.map((plane) => <PreviewPlane key={plane.orientation} plane={plane} grid={job.grid} table={table} />)}</div>
    </section>
  );
}

function windowOf(chosen: string, planes: readonly Int16Array[]): Window {
  const preset = PRESETS.find(({ id }) => id === chosen);
  if (preset) return preset.window;
  const { least, greatest } = rangeOf(planes);
  return fullWindow(least, greatest);
}

type Plane = Preview['planes'][number] & { samples: Int16Array };

function PreviewPlane({ plane, grid, table }: { plane: Plane; grid: Grid; table: Uint32Array }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  // The same side of the patient is on the left as in the viewer, in whatever position he lies.
  const { name, flipX, flipY, edge } = planeOf(grid, plane.orientation);
  // Square pixels: the longer side of a voxel is drawn as several.
  const finest = Math.min(plane.column_spacing_mm, plane.row_spacing_mm);
  const columns = Math.round((plane.columns * plane.column_spacing_mm) / finest);
  const rows = Math.round((plane.rows * plane.row_spacing_mm) / finest);
  useEffect(() => {
    const source = new OffscreenCanvas(plane.columns, plane.rows);
    const image = new ImageData(plane.columns, plane.rows);
    applyTable(plane.samples, table, new Uint32Array(image.data.buffer));
    source.getContext('2d')!.putImageData(image, 0, 0);
    canvas.current!.getContext('2d', { alpha: false })!.drawImage(source, 0, 0, columns, rows);
  }, [plane, table]);
  return (
    <figure>
      <div class="pane">
        <canvas
          ref={canvas} width={columns} height={rows} class={`${flipX ? 'flip-x' : ''} ${flipY ? 'flip-y' : ''}`}
          role="img" aria-label={`${name} preview`}
        />
        <span class="edge left" aria-hidden="true">{edge.left}</span>
        <span class="edge right" aria-hidden="true">{edge.right}</span>
        <span class="edge top" aria-hidden="true">{edge.top}</span>
        <span class="edge bottom" aria-hidden="true">{edge.bottom}</span>
      </div>
      <figcaption class="quiet">{name}</figcaption>
    </figure>
  );
}
