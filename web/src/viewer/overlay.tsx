// Lines over a pane: the cross hair and distances. They are no part of the picture, which stays as it is while they move.
import type { Axis } from '../api/types.ts';
import { type Pane, toScreen } from './geometry.ts';
import type { Measure, ViewerModel } from './model.ts';

// Around the point, so that it can be seen.
const GAP = 10;
// Room for the text of a distance beside its end.
const TEXT_WIDTH = 84;

// `size`: of the pane in pixels of the screen, of which one of CSS has `ratio`.
export function Overlay({ model, axis, size, ratio }: { model: ViewerModel; axis: Axis; size: Pane; ratio: number }) {
  const plane = model.planes[axis];
  const at = (column: number, row: number) => {
    const { x, y } = toScreen(plane, model.views[axis], size, column, row);
    return { x: x / ratio, y: y / ratio };
  };
  const [width, height] = [size.width / ratio, size.height / ratio];
  const shown = model.measures.filter((measure) => measure.axis === axis && measure.slice === model.sliceOf(axis));
  const cross = at(model.cursor[plane.across]!, model.cursor[plane.down]!);
  const [x, y] = [Math.round(cross.x) + 0.5, Math.round(cross.y) + 0.5];
  return (
    <svg class="overlay" width={width} height={height} aria-hidden="true">
      {model.crosshairShown && (
        <path class="cross" d={`M0 ${y}H${x - GAP}M${x + GAP} ${y}H${width}M${x} 0V${y - GAP}M${x} ${y + GAP}V${height}`} />
      )}
      {shown.map((measure, i) => (
        <Distance
          key={i} width={width} text={`${model.lengthMm(measure).toFixed(1)} mm`}
          from={end(measure, 'from')} to={end(measure, 'to')}
        />
      ))}
    </svg>
  );

  function end(measure: Measure, which: 'from' | 'to') {
    return at(measure[which][plane.across]!, measure[which][plane.down]!);
  }
}

interface Point {
  x: number;
  y: number;
}

function Distance({ from, to, text, width }: { from: Point; to: Point; text: string; width: number }) {
  const right = from.x > to.x ? from : to;
  const outside = right.x > width - TEXT_WIDTH;
  return (
    <g class="measure">
      <line x1={from.x} y1={from.y} x2={to.x} y2={to.y} />
      {[from, to].map((point, i) => <circle key={i} cx={point.x} cy={point.y} r="3" />)}
      <text x={right.x + (outside ? -8 : 8)} y={right.y + (outside ? -10 : 5)} text-anchor={outside ? 'end' : 'start'}>{text}</text>
    </g>
  );
}
