// One plane of one volume: draws it, and turns mouse, fingers and keys into movements of the model.
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { Axis } from '../api/types.ts';
import { hounsfield, millimetres } from '../lib/format.ts';
import { shortName } from '../lib/relations.ts';
import { PlaneImage, drawImage, showsBlocks } from './draw.ts';
import { type Pane as Size, worldMm } from './geometry.ts';
import { Gesture } from './gesture.ts';
import type { Shown, ViewerModel } from './model.ts';
import { Overlay } from './overlay.tsx';
import { ScaleBar } from './scale_bar.tsx';
import { type SliceLoader, keyOf } from './slice_loader.ts';
import { levelFor, sliceId } from './wishes.ts';

interface Props {
  model: ViewerModel;
  loader: SliceLoader;
  shown: Shown;
  axis: Axis;
  // Tells the size of the pane, in pixels of the screen.
  onSize: (axis: Axis, size: Size) => void;
  onMaximise: (axis: Axis) => void;
}

const PAGE = 10;

export function Pane({ model, loader, shown, axis, onSize, onMaximise }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const image = useRef<PlaneImage | null>(null);
  const painted = useRef('');
  const plane = model.planes[axis];
  const slice = model.sliceOf(axis);
  const seen = bestSlice(model, loader, shown, axis, sizeOf(canvas.current));

  useLayoutEffect(() => {
    const resized = () => {
      const [element, holder] = [canvas.current!, box.current!];
      const ratio = devicePixelRatio || 1;
      const width = Math.max(1, Math.round(holder.clientWidth * ratio));
      const height = Math.max(1, Math.round(holder.clientHeight * ratio));
      if (element.width === width && element.height === height) return;
      element.width = width;
      element.height = height;
      onSize(axis, { width, height });
    };
    resized();
    const observer = new ResizeObserver(resized);
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, [axis]);

  // Only what has changed: of three planes, two stay as they are while one is gone through.
  useLayoutEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const size = sizeOf(element);
    const view = model.views[axis];
    const window = model.windowOf(shown.relation);
    const found = bestSlice(model, loader, shown, axis, size);
    const quick = model.moving && model.scrolled.axis === axis;
    const key = JSON.stringify([found && keyOf(found.id), view, size, window, model.inverted, quick]);
    if (key === painted.current) return;
    painted.current = key;
    const context = element.getContext('2d', { alpha: false })!;
    context.fillStyle = '#000';
    context.fillRect(0, 0, size.width, size.height);
    image.current ??= new PlaneImage();
    if (!found) return;
    const picture = image.current.of(found.id, found.slice, window, model.inverted);
    drawImage(context, model, axis, view, size, picture, found.id.level, quick, devicePixelRatio || 1);
  });

  useEffect(() => {
    const element = canvas.current!;
    const gesture = new Gesture({ model, axis, relation: shown.relation, size: () => sizeOf(element) });
    return gesture.attach(element, box.current!);
  }, [model, axis, shown.relation]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (!handleKey(event, model, axis, sizeOf(canvas.current), onMaximise)) return;
    event.preventDefault();
    event.stopPropagation();
  };

  const window = model.windowOf(shown.relation);
  const blocks = showsBlocks(plane, model.views[axis], sizeOf(canvas.current), devicePixelRatio || 1);
  const value = readout(model, loader, shown, axis);
  const waiting = waitingText(model, loader, shown, axis, seen !== null, sizeOf(canvas.current));
  return (
    <div class="plane">
      <div
        class="pane" ref={box} tabIndex={0} role="slider" data-axis={axis} data-job={shown.jobId} data-tool={model.tool}
        data-level={seen?.id.level} data-lengths={lengthsOf(model, axis)}
        aria-label={`${plane.name} plane, ${shown.name}`} aria-orientation="vertical"
        aria-valuemin={1} aria-valuemax={plane.slices} aria-valuenow={slice + 1}
        aria-valuetext={inWords(model, axis, value) + (blocks ? ', each voxel a block' : '')}
        onKeyDown={onKeyDown} onDblClick={() => onMaximise(axis)}
      >
        <canvas ref={canvas} />
        <Overlay model={model} axis={axis} size={sizeOf(canvas.current)} ratio={devicePixelRatio || 1} />
        <span class="at top left"><span class="whole" title={shown.name}>{shortName(shown.name)}</span><span class="quiet">{plane.name}</span></span>
        <span class="at top right quiet" aria-hidden="true">{`C ${window.center}`}<br />{`W ${window.width}`}{blocks && <><br />voxels as blocks</>}</span>
        <span class="at bottom left">
          {slice + 1}<span class="quiet"> / {plane.slices}</span><br />
          <span class="quiet">{millimetres(sliceMm(model, axis))}</span>
        </span>
        <ScaleBar plane={plane} view={model.views[axis]} pane={sizeOf(canvas.current)} />
        <span class="at bottom right hu" aria-hidden="true">{value}</span>
        <span class="edge left" aria-hidden="true">{plane.edge.left}</span>
        <span class="edge right" aria-hidden="true">{plane.edge.right}</span>
        <span class="edge top" aria-hidden="true">{plane.edge.top}</span>
        <span class="edge bottom" aria-hidden="true">{plane.edge.bottom}</span>
        {waiting && <span class="waiting" role="status">{waiting}</span>}
      </div>
      <SliceSlider model={model} axis={axis} name={shown.name} />
    </div>
  );
}

// Where fingers are at work: they have no wheel. Elsewhere it is not there (style/viewer.css).
function SliceSlider({ model, axis, name }: { model: ViewerModel; axis: Axis; name: string }) {
  const plane = model.planes[axis];
  const slice = model.sliceOf(axis);
  return (
    <label class="slice">
      <span>{plane.name}</span>
      <input
        type="range" min={1} max={plane.slices} value={slice + 1} aria-label={`${plane.name} slice, ${name}`}
        aria-valuetext={`slice ${slice + 1} of ${plane.slices}`}
        onInput={(event) => model.showSlice(axis, event.currentTarget.valueAsNumber - 1)}
      />
    </label>
  );
}

// What stands in the corners, for who hears it: "slice 48 of 96, −1.0 mm, 69 HU at the cross hair, distance 30.0 mm".
function inWords(model: ViewerModel, axis: Axis, value: string): string {
  const slice = `slice ${model.sliceOf(axis) + 1} of ${model.planes[axis].slices}`;
  const lengths = lengthsOf(model, axis).split(' ').filter(Boolean).map((length) => `distance ${length} mm`);
  return [slice, millimetres(sliceMm(model, axis)), value && `${value} at the ${model.pointer?.axis === axis ? 'pointer' : 'cross hair'}`, ...lengths].filter(Boolean).join(', ');
}

// Distances on this slice, mm.
function lengthsOf(model: ViewerModel, axis: Axis): string {
  const here = model.measures.filter((m) => m.axis === axis && m.slice === model.sliceOf(axis));
  return here.map((m) => model.lengthMm(m).toFixed(1)).join(' ');
}

function sizeOf(canvas: HTMLCanvasElement | null): Size {
  return { width: canvas?.width ?? 1, height: canvas?.height ?? 1 };
}

// What is there of the plane: the wanted level, else a coarser one, else a finer one.
function bestSlice(model: ViewerModel, loader: SliceLoader, shown: Shown, axis: Axis, size: Size) {
  const { volume } = shown;
  if (!volume) return null;
  const wanted = levelFor(volume, model, axis, size) ?? 0;
  const levels = volume.levels.map((l) => l.level);
  const order = [...levels.filter((l) => l >= wanted), ...levels.filter((l) => l < wanted).reverse()];
  for (const level of order) {
    const id = sliceId(volume, axis, level, model.sliceOf(axis));
    const slice = loader.get(id);
    if (slice) return { id, slice };
  }
  return null;
}

function sliceMm(model: ViewerModel, axis: Axis): number {
  return worldMm(model.grid, model.cursor)[model.planes[axis].normal]!;
}

// Hounsfield units below the pointer, or at the cross hair where no pointer is on this plane; from the volume itself.
function readout(model: ViewerModel, loader: SliceLoader, shown: Shown, axis: Axis): string {
  if (!shown.volume) return '';
  const plane = model.planes[axis];
  const at = model.pointer?.axis === axis
    ? model.pointer
    : { column: model.cursor[plane.across]!, row: model.cursor[plane.down]! };
  const column = Math.round(at.column);
  const row = Math.round(at.row);
  if (column < 0 || row < 0 || column >= plane.columns || row >= plane.rows) return '';
  const exact = loader.get(sliceId(shown.volume, axis, 0, model.sliceOf(axis)));
  return exact ? hounsfield(exact.samples[row * exact.columns + column]) : '';
}

function waitingText(model: ViewerModel, loader: SliceLoader, shown: Shown, axis: Axis, seen: boolean, size: Size): string | null {
  if (shown.error) return shown.error;
  if (seen) return null;
  if (!shown.volume) return 'Loading';
  const level = levelFor(shown.volume, model, axis, size);
  if (level === null) return 'The server is preparing this plane';
  return loader.failure(sliceId(shown.volume, axis, level, model.sliceOf(axis))) ?? 'Loading';
}

function handleKey(event: KeyboardEvent, model: ViewerModel, axis: Axis, size: Size, onMaximise: (axis: Axis) => void): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const plane = model.planes[axis];
  const middle = { x: size.width / 2, y: size.height / 2 };
  const step = event.shiftKey ? size.width / 10 : 0;
  const nudge = (columns: number, rows: number) => model.pick(axis,
    Math.round(model.cursor[plane.across]!) + columns * (plane.flipX ? -1 : 1),
    Math.round(model.cursor[plane.down]!) + rows * (plane.flipY ? -1 : 1));
  switch (event.key) {
    case 'ArrowUp': if (step) model.panBy(axis, size, 0, step); else model.scroll(axis, 1); return true;
    case 'ArrowDown': if (step) model.panBy(axis, size, 0, -step); else model.scroll(axis, -1); return true;
    case 'ArrowLeft': if (step) model.panBy(axis, size, step, 0); else nudge(-1, 0); return true;
    case 'ArrowRight': if (step) model.panBy(axis, size, -step, 0); else nudge(1, 0); return true;
    case ',': nudge(0, -1); return true;
    case '.': nudge(0, 1); return true;
    case 'PageUp': model.scroll(axis, PAGE); return true;
    case 'PageDown': model.scroll(axis, -PAGE); return true;
    case 'Home': model.showSlice(axis, 0); return true;
    case 'End': model.showSlice(axis, plane.slices - 1); return true;
    case '+': case '=': model.zoomAt(axis, size, middle.x, middle.y, 1.25); return true;
    case '-': model.zoomAt(axis, size, middle.x, middle.y, 0.8); return true;
    case 'Enter': onMaximise(axis); return true;
    case ' ': model.toggleMeasure(axis); return true;
    default: return false;
  }
}
