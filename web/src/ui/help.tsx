// Where to read more, and the keys of the page.
import { hasFingers, hasMouse } from '../lib/pointers.ts';
import { TERMS } from '../lib/terms.ts';
import { useModal } from './dialog.tsx';
import { DocsLink } from './docs_link.tsx';

interface Group {
  title: string;
  keys: [string, string][];
}

const KEYS: Group[] = [
  {
    title: 'Everywhere',
    keys: [
      ['?', 'This help'], ['g o', 'Overview'], ['g j', 'Jobs'], ['g d', 'DICOM'], ['g q', 'Quality'], ['g n', 'Node'], ['t', 'As the system, dark, light'],
      ['Esc', 'Close a dialog'],
    ],
  },
  {
    title: 'Viewer, with the focus on a plane',
    keys: [
      ['↑ ↓', 'Next, previous slice'], ['PgUp PgDn', '10 slices'], ['Home End', 'First, last slice'],
      ['← → , .', 'Move the cross hair'], ['+ −', 'Zoom'], ['Shift + arrows', 'Pan'], ['Space', 'Distance from here; again: to here'],
      ['Enter', 'This plane alone, all planes'],
    ],
  },
  {
    title: 'Viewer, wherever the focus is',
    keys: [
      ['c w p m', 'Tool: cross hair, window, pan, distance'], ['1 – 7', 'Window presets'], ['0', 'Full range'],
      ['v', '3-D beside the planes'], ['s', 'Shaded or MIP'], ['i', 'Invert'], ['x', 'Show or hide the cross hair'], ['Delete', 'Remove distances'], ['r', 'Reset'],
    ],
  },
  {
    title: 'Viewer, with the focus on 3-D',
    keys: [
      ['↑ ↓ ← →', 'Turn; with Alt by less'], ['+ −', 'Zoom'], ['Shift + arrows', 'Pan'], ['Home', 'From the front'],
      ['Enter', 'Alone, beside the planes'],
    ],
  },
  { title: 'Timeline', keys: [['+ −', 'Zoom'], ['← →', 'Move'], ['Home', 'The whole job']] },
];

const MOUSE: Group = {
  title: 'Viewer, with a mouse',
  keys: [
    ['Left button', 'The tool; in 3-D: turn'], ['Wheel', 'Slices; with Ctrl: zoom'], ['Middle button', 'Pan'], ['Right button', 'Zoom'],
    ['Double click', 'This plane alone, all planes'],
  ],
};
const FINGERS: Group = {
  title: 'Viewer, with fingers',
  keys: [
    ['Slider', 'Slices'], ['Two fingers', 'Zoom and pan'], ['Tap', 'Puts the cross hair there'], ['One finger', 'The tool; in 3-D: turn'],
    ['Up or down', 'With the tool Cross hair: scrolls the page'], ['Double tap', 'This plane alone, all planes'],
  ],
};

export function Help({ onClose }: { onClose: () => void }) {
  const dialog = useModal();
  const groups = [...(hasFingers() ? [FINGERS] : []), ...(hasMouse() ? [MOUSE] : []), ...KEYS];
  return (
    <dialog ref={dialog} class="wide" aria-labelledby="help-title" onClose={onClose}>
      <h2 id="help-title">Help</h2>
      <ul class="reading" aria-label="Documentation">
        <li><DocsLink to="atTheArm">At the arm</DocsLink></li>
        <li><DocsLink to="guide">This page</DocsLink></li>
        <li><DocsLink to="troubleshooting">From a message to its cure</DocsLink></li>
        <li><DocsLink to="runbook">Runbook</DocsLink></li>
        <li><DocsLink to="index">All documentation</DocsLink></li>
      </ul>
      <div class="key-groups">
        {groups.map((group) => (
          <section key={group.title}>
            <h3>{group.title}</h3>
            <dl class="keys">
              {group.keys.map(([key, what]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}
            </dl>
          </section>
        ))}
      </div>
      <section>
        <h3>Terms</h3>
        <dl class="keys terms">
          {Object.entries(TERMS).map(([term, what]) => <div key={term}><dt>{term}</dt><dd>{what}</dd></div>)}
        </dl>
      </section>
      <div class="actions"><button type="button" class="primary" onClick={onClose}>Close</button></div>
    </dialog>
  );
}
