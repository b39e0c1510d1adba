// A line plot (uPlot) in the colours of the page; its caption has the values at the pointer, else the last that there are. Over time these
// are with their time, once where it is the same for all, as what is measured now stands elsewhere on the page.
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { compact } from '../lib/format.ts';
import { scale } from '../lib/scale.ts';
import { colour, onThemeChange } from '../lib/theme.ts';
import { type Pointed, lastOf, pointedAt, timeRange, valueAt, valueOf } from './samples.ts';

export interface Series {
  name: string;
  // A colour of the style sheet.
  colour: string;
  // Told apart without colours.
  dashed?: boolean;
  // Draws each value as a point, for values that stand alone.
  points?: boolean;
}

interface Props {
  title: string;
  // Rising; Unix seconds where `time` is set.
  x: number[];
  y: (number | null)[][];
  series: Series[];
  format: (value: number | null) => string;
  time?: boolean;
  // Seconds that the axis of time has at most, up to the last sample; fewer where samples begin later.
  span?: number;
  // Seconds between samples: further from all of them the pointer is at a gap.
  step?: number;
  xName?: string;
  logarithmic?: boolean;
  height?: number;
}

export function Plot(props: Props) {
  const { title, x, y, series, height = 150 } = props;
  const lasts = y.map(lastOf);
  const together = lasts.every((last) => last === lasts[0]);
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const shape = JSON.stringify([series, height, props.time, props.span, props.step, props.logarithmic, props.xName]);

  useEffect(() => {
    const element = box.current!;
    let drawn = 0;
    const build = () => {
      drawn = scale();
      plot.current?.destroy();
      plot.current = new uPlot(optionsOf(latest, element.clientWidth, setPointed), dataOf(latest.current), element);
    };
    build();
    const resize = new ResizeObserver(() => {
      const width = element.clientWidth;
      if (!plot.current || width === 0 || plot.current.width === width) return;
      if (scale() !== drawn) build();
      else plot.current.setSize({ width, height: height * drawn });
    });
    resize.observe(element);
    const stop = onThemeChange(build);
    return () => {
      stop();
      resize.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => {
    plot.current?.setData(dataOf(latest.current));
  }, [x, y]);

  return (
    <figure class="plot">
      <figcaption>
        <span class="plot-title">{title}</span>
        {series.map((s, i) => (
          <span class="legend" key={s.name}>
            <span class={`line ${s.colour}${s.dashed ? ' dashed' : ''}`} />
            {series.length > 1 && s.name} <span class="numbers">{props.format(pointed ? valueAt(y[i], pointed) : valueOf(y[i], lasts[i]!))}</span>
            {!pointed && props.time && !together && lasts[i]! >= 0 && <span class="quiet numbers">at {clock(x[lasts[i]!]!, false)}</span>}
          </span>
        ))}
        {!pointed && props.time && together && lasts[0]! >= 0 && <span class="legend quiet numbers">at {clock(x[lasts[0]!]!, false)}</span>}
        {props.xName && pointed === null && <span class="legend quiet">by {props.xName.toLowerCase()}</span>}
        {pointed && <span class="legend quiet numbers">{props.time ? clock(pointed.x, true) : `${props.xName} ${pointed.x}`}</span>}
      </figcaption>
      <div ref={box} role="img" aria-label={summary(props)} />
    </figure>
  );
}

function summary({ title, series, y, format }: Props): string {
  return `${title}: ${series.map((s, i) => `${s.name} last ${format(valueOf(y[i], lastOf(y[i])))}`).join(', ')}`;
}

function dataOf({ x, y }: Props): uPlot.AlignedData {
  return [x, ...y] as uPlot.AlignedData;
}

function optionsOf(props: { current: Props }, width: number, onPoint: (pointed: Pointed | null) => void): uPlot.Options {
  const { series, time = false, span, step, logarithmic = false, height = 150 } = props.current;
  const quiet = colour('text-quiet');
  const grid = { stroke: colour('line'), width: 1 };
  const size = scale();
  const font = `${12 * size}px system-ui, sans-serif`;
  return {
    width: Math.max(50, width),
    height: height * size,
    cursor: { y: false, drag: { x: false, y: false } },
    legend: { show: false },
    ...(time && { padding: [null, (CLOCK_WIDTH / 2) * size, null, null] as uPlot.Padding }),
    hooks: { setCursor: [(u: uPlot) => onPoint(u.cursor.idx == null ? null : pointedAt(props.current.x, u.cursor.idx, u.posToVal(u.cursor.left ?? 0, 'x'), step))] },
    scales: {
      x: span === undefined ? { time } : { time, range: (_, first, last) => timeRange(first, last, span) },
      y: logarithmic
        ? { distr: 3 }
        : { range: (_, __, max) => [0, Number.isFinite(max) && max > 0 ? max * 1.1 : 1] },
    },
    axes: [
      { stroke: quiet, grid: { show: false }, ticks: grid, font, size: 28 * size, ...(time ? { values: clockValues, space: CLOCK_WIDTH * size } : { incrs: WHOLE }) },
      {
        stroke: quiet, grid, ticks: { show: false }, font, size: 52 * size, space: 28 * size,
        values: (_, splits) => splits.map((v) => (v === null ? '' : compact(v))),
      },
    ],
    series: [
      {},
      ...series.map((s) => ({
        label: s.name,
        stroke: colour(s.colour),
        width: 1.5,
        ...(s.dashed ? { dash: [6, 4] } : {}),
        points: { show: s.points ?? false, size: 5, fill: colour(s.colour) },
        spanGaps: false,
      })),
    ],
  };
}

// Room for a time of day with its seconds.
const CLOCK_WIDTH = 72;
// Steps of what is counted.
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

// Times of day on 24 hours, as everywhere on the page.
function clockValues(_: uPlot, splits: number[], __: number, ___: number, increment: number): string[] {
  return splits.map((at) => clock(at, increment < 60));
}

function clock(unixSeconds: number, withSeconds: boolean): string {
  const two = (n: number) => String(n).padStart(2, '0');
  const d = new Date(unixSeconds * 1000);
  return `${two(d.getHours())}:${two(d.getMinutes())}${withSeconds ? `:${two(d.getSeconds())}` : ''}`;
}
