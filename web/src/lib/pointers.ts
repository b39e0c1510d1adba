// What there is to point with, as the browser says.
export function hasFingers(): boolean {
  return matchMedia('(any-pointer: coarse)').matches;
}

// Mouse, touch pad or pen; also where a browser knows of nothing, as one that is driven from afar does.
export function hasMouse(): boolean {
  return !hasFingers() || matchMedia('(any-pointer: fine)').matches;
}
