// The volume as far as it is: three planes through its middle, while frames still arrive.
import { useEffect, useRef } from 'preact/hooks';
import type { JobDetail, Preview } from '../api/types.ts';
import { useAsked } from '../state/hooks.ts';
import type { Store } from '../state/store.ts';
import { Empty, JobProgressBar } from '../ui/bits.tsx';
import { PRESETS, applyTable, fillLookupTable } from '../viewer/window_level.ts';

const PREVIEW_MS = 1_000;
const table = new Uint32Array(65536);
fillLookupTable(table, PRESETS[0]!.window, false);

export function PreviewPanes({ job }: { job: JobDetail; store: Store }) {
  const { data } = useAsked<Preview>(job.has_preview ? `jobs/${encodeURIComponent(job.job_id)}/preview` : null, {}, PREVIEW_MS);
  return (
    <section class="card" aria-labelledby="preview">
      <header>
        <h2 id="preview">Preview</h2>
        {data && <span class="quiet numbers">of {data.frames_backprojected} of {job.progress.frames_total} frames, window {PRESETS[0]!.name.toLowerCase()}</span>}
      </header>
      <JobProgressBar job={job} />
      {!data && <Empty>The first preview comes when frames have been back-projected.</Empty>}
      <div class="previews">{data?.planes.map((plane) => <PreviewPlane key={plane.orientation} plane={plane} />)}</div>
    </section>
  );
}

function PreviewPlane({ plane }: { plane: Preview['planes'][number] }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  // The head is at the top of the screen; rows of these planes run upwards along the body.
  const upwards = plane.orientation !== 'axial';
  useEffect(() => {
    const context = canvas.current!.getContext('2d', { alpha: false })!;
    const image = context.createImageData(plane.columns, plane.rows);
    applyTable(samplesOf(plane.hounsfield_base64), table, new Uint32Array(image.data.buffer));
    context.putImageData(image, 0, 0);
  }, [plane]);
  const width = plane.columns * plane.column_spacing_mm;
  const height = plane.rows * plane.row_spacing_mm;
  return (
    <figure>
      <canvas
        ref={canvas} width={plane.columns} height={plane.rows} class={upwards ? 'upwards' : ''}
        style={{ aspectRatio: `${width} / ${height}` }} role="img" aria-label={`${plane.orientation} preview`}
      />
      <figcaption class="quiet">{plane.orientation}</figcaption>
    </figure>
  );
}

// int16, little-endian.
export function samplesOf(base64: string): Int16Array {
  const text = atob(base64);
  const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
  return new Int16Array(bytes.buffer, 0, bytes.length >> 1);
}
