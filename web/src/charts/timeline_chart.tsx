// A job's timeline, drawn on a canvas: wheel zooms, dragging moves, keys do both.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Trace } from '../api/types.ts';
import { microseconds, percent, seconds, words } from '../lib/format.ts';
import { hasMouse } from '../lib/pointers.ts';
import { scale } from '../lib/scale.ts';
import { colour, onThemeChange } from '../lib/theme.ts';
import { type Lane, type Range, type Timeline, STAGES, boxesOf, shifted, spanAt, tickLabel, tickStep, timelineOf, zoomed } from './timeline.ts';

// In tenths of a rem, as all lengths here.
const LABELS = 150;
const LANE = 26;
const AXIS = 24;

interface Hover {
  x: number;
  y: number;
  text: string;
}

export function TimelineChart({ trace }: { trace: Trace }) {
  const timeline = useMemo(() => timelineOf(trace), [trace]);
  const whole: Range = { begin: 0, end: Math.max(1, timeline.endUs) };
  const [range, setRange] = useState<Range>(whole);
  const [hover, setHover] = useState<Hover | null>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const dragged = useRef<number | null>(null);
  const height = AXIS + timeline.lanes.length * LANE;
  useEffect(() => setRange(whole), [timeline]);

  const paint = () => {
    if (canvas.current) drawTimeline(canvas.current, timeline, range, height);
  };
  useLayoutEffect(paint);
  useEffect(() => {
    const observer = new ResizeObserver(paint);
    observer.observe(canvas.current!.parentElement!);
    const stop = onThemeChange(paint);
    return () => {
      observer.disconnect();
      stop();
    };
  });

  const plotWidth = () => Math.max(1, canvas.current!.clientWidth / scale() - LABELS);
  const placeOf = (event: MouseEvent) => ({ x: event.offsetX / scale(), y: event.offsetY / scale() });
  const timeAt = (x: number) => range.begin + ((x - LABELS) / plotWidth()) * (range.end - range.begin);

  const onWheel = (event: WheelEvent) => {
    event.preventDefault();
    const at = timeAt(Math.max(LABELS, placeOf(event).x));
    setHover(null);
    setRange((r) => zoomed(r, whole, at, Math.exp(event.deltaY / 300)));
  };
  const wheel = useRef(onWheel);
  wheel.current = onWheel;
  // Preact's own listener would be passive, which may not keep the page from scrolling.
  useEffect(() => {
    const element = canvas.current!;
    const listener = (event: WheelEvent) => wheel.current(event);
    element.addEventListener('wheel', listener, { passive: false });
    return () => element.removeEventListener('wheel', listener);
  }, []);

  const onPointerMove = (event: PointerEvent) => {
    const { x, y } = placeOf(event);
    if (dragged.current !== null) {
      const by = ((dragged.current - x) / plotWidth()) * (range.end - range.begin);
      dragged.current = x;
      setRange((r) => shifted(r, whole, by));
      return;
    }
    const lane = timeline.lanes[Math.floor((y - AXIS) / LANE)];
    const slack = (3 / plotWidth()) * (range.end - range.begin);
    const span = lane && x >= LABELS ? spanAt(lane, timeAt(x), slack) : null;
    setHover(span && {
      x, y,
      text: `${words(span.stage)}${span.index === null ? '' : ` ${span.index}`}: ${microseconds(span.end - span.begin)}, `
        + `from ${microseconds(span.begin)}`,
    });
  };

  // About the middle of what is shown.
  const zoom = (factor: number) => setRange((r) => zoomed(r, whole, (r.begin + r.end) / 2, factor));

  const onKeyDown = (event: KeyboardEvent) => {
    const length = range.end - range.begin;
    if (event.key === '+' || event.key === '=') zoom(0.5);
    else if (event.key === '-') zoom(2);
    else if (event.key === 'ArrowLeft') setRange(shifted(range, whole, -length / 5));
    else if (event.key === 'ArrowRight') setRange(shifted(range, whole, length / 5));
    else if (event.key === 'Home' || event.key === 'r') setRange(whole);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <figure class="timeline">
      <div class="chart-tools">
        {hasMouse() && <span class="quiet">Wheel or + − to zoom, drag or arrow keys to move</span>}
        <output class="numbers quiet">{microseconds(range.begin)} – {microseconds(range.end)}</output>
        <button type="button" class="small" aria-label="Zoom in" onClick={() => zoom(0.5)}>+</button>
        <button type="button" class="small" aria-label="Zoom out" onClick={() => zoom(2)}>−</button>
        <button type="button" class="small" onClick={() => setRange(whole)}>Whole job</button>
      </div>
      <div class="canvas-box" style={{ height: `${height / 10}rem` }}>
        <canvas
          ref={canvas} tabIndex={0} role="img" data-begin={Math.round(range.begin)} data-end={Math.round(range.end)}
          aria-label={`Timeline of ${timeline.lanes.length} lanes over ${microseconds(timeline.endUs)}; the table below has the sums`}
          onKeyDown={onKeyDown} onDblClick={() => setRange(whole)} onPointerMove={onPointerMove}
          onPointerLeave={() => setHover(null)}
          onPointerDown={(event) => {
            dragged.current = placeOf(event).x;
            setHover(null);
            event.currentTarget.setPointerCapture(event.pointerId);
          }}
          onPointerUp={() => { dragged.current = null; }}
        />
        {hover && <span class="tip numbers" style={tipPlace(hover, canvas.current!)}>{hover.text}</span>}
      </div>
      <BusyTable timeline={timeline} />
    </figure>
  );
}

function tipPlace({ x, y }: Hover, canvas: HTMLCanvasElement) {
  const width = canvas.clientWidth / scale();
  const top = `${(y + 12) / 10}rem`;
  return x > width / 2 ? { right: `${(width - x + 12) / 10}rem`, top } : { left: `${(x + 12) / 10}rem`, top };
}

function BusyTable({ timeline }: { timeline: Timeline }) {
  return (
    <table class="compact">
      <thead>
        <tr><th scope="col">Stage</th><th scope="col" class="number">At work</th><th scope="col" class="number">Of all devices’ time</th><th scope="col" class="number">Calls</th></tr>
      </thead>
      <tbody>
        {timeline.busy.map(({ stage, us, spans }) => (
          <tr key={stage}>
            <th scope="row"><span class={`swatch stage-${known(stage)}`} />{words(stage)}</th>
            <td class="number">{us < 1e6 ? microseconds(us) : seconds(us / 1e6)}</td>
            <td class="number">{percent(us, timeline.endUs * timeline.devices)}</td>
            <td class="number">{spans}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function known(stage: string): string {
  return (STAGES as readonly string[]).includes(stage) ? stage : 'other';
}

function drawTimeline(canvas: HTMLCanvasElement, timeline: Timeline, range: Range, height: number): void {
  const ratio = (devicePixelRatio || 1) * scale();
  const width = canvas.clientWidth / scale();
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  const context = canvas.getContext('2d')!;
  context.scale(ratio, ratio);
  context.font = '12px system-ui, sans-serif';
  context.textBaseline = 'middle';
  const plot = Math.max(1, width - LABELS);
  drawAxis(context, range, plot, height);
  let device = '';
  timeline.lanes.forEach((lane: Lane, i: number) => {
    const top = AXIS + i * LANE;
    context.fillStyle = colour('text-quiet');
    if (lane.device !== device) {
      context.fillStyle = colour('text');
      device = lane.device;
      context.fillText(device, 4, top + LANE / 2, 70);
      context.fillStyle = colour('text-quiet');
    }
    context.fillText(lane.name, 78, top + LANE / 2, LABELS - 84);
    for (const box of boxesOf(lane, range, plot)) {
      const x = Math.max(LABELS, LABELS + box.x);
      const right = Math.min(width, LABELS + box.x + box.width);
      if (right <= x) continue;
      context.fillStyle = colour(`stage-${known(box.stage)}`);
      context.fillRect(x, top + 4, right - x, LANE - 8);
    }
  });
}

function drawAxis(context: CanvasRenderingContext2D, range: Range, plot: number, height: number): void {
  const step = tickStep(range.end - range.begin, plot / 110);
  context.strokeStyle = colour('line');
  context.fillStyle = colour('text-quiet');
  context.lineWidth = 1;
  for (let at = Math.ceil(range.begin / step) * step; at <= range.end; at += step) {
    const x = Math.round(LABELS + ((at - range.begin) / (range.end - range.begin)) * plot) + 0.5;
    context.beginPath();
    context.moveTo(x, AXIS - 4);
    context.lineTo(x, height);
    context.stroke();
    const label = tickLabel(at, step);
    if (x + 3 + context.measureText(label).width < LABELS + plot) context.fillText(label, x + 3, AXIS / 2);
  }
}
