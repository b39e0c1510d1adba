// How long a millimetre is in a plane. The bar's width is a part of the pane's, so that it is right on paper too.
import { withUnit } from '../lib/format.ts';
import { type Pane, type Plane, type View, scaleOf } from './geometry.ts';

export function ScaleBar({ plane, view, pane }: { plane: Plane; view: View; pane: Pane }) {
  const { mm, part } = scaleOf(plane, view, pane);
  return <span class="scale" style={{ width: `${100 * part}%` }} aria-hidden="true"><span>{withUnit(mm, 'mm', 1)}</span></span>;
}
