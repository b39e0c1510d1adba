// How much larger than in a window of usual size everything is (style/base.css): what is drawn on canvases grows, too.
export function scale(): number {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) / 10;
}
