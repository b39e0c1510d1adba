// Where to read more, and the keys of the page.
import { useModal } from './dialog.tsx';
import { DocsLink } from './docs_link.tsx';

const GROUPS: { title: string; keys: [string, string][] }[] = [
  {
    title: 'Everywhere',
    keys: [
      ['?', 'This help'], ['g o', 'Overview'], ['g j', 'Jobs'], ['g d', 'DICOM'], ['g n', 'Node'], ['t', 'As the system, dark, light'],
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
    title: 'Viewer',
    keys: [
      ['c w p m', 'Left button: cross hair, window, pan, distance'], ['1 – 7', 'Window presets'], ['0', 'Full range'],
      ['i', 'Invert'], ['x', 'Show or hide the cross hair'], ['Delete', 'Remove distances'], ['r', 'Reset'],
      ['Wheel', 'Slices; with Ctrl: zoom'], ['Middle button', 'Pan'], ['Right button', 'Zoom'],
    ],
  },
  { title: 'Timeline', keys: [['+ −', 'Zoom'], ['← →', 'Move'], ['Home', 'The whole job']] },
];

const TERMS: [string, string][] = [
  ['GUPS', '10⁹ voxel updates in a second: one voxel of the volume brought up to date by one frame is one update. Kernel: of the device alone; whole: with all that is around it'],
  ['Chunk', 'Some tens of frames that a device filters and back-projects at once'],
  ['FDK', 'Feldkamp, Davis and Kress: filtered back-projection, the volume that is there when the arm stops'],
  ['Refinement', 'A second volume of the same frames, made by iterations: projected, compared with the frames, corrected'],
  ['Subset', 'The part of the frames that one step of an iteration compares with'],
  ['Residual', 'How far the frames and the projected volume are apart, as a part of the frames: smaller is closer'],
  ['Window', 'The Hounsfield units (HU; water 0, air −1000) that are shown from black to white: their centre and their width'],
  ['Spool', 'Where every frame is kept on disk until its job has ended'],
];

export function Help({ onClose }: { onClose: () => void }) {
  const dialog = useModal();
  return (
    <dialog ref={dialog} class="wide" aria-labelledby="help-title" onClose={onClose}>
      <h2 id="help-title">Help</h2>
      <ul class="reading" aria-label="Documentation">
        <li><DocsLink to="guide">This page</DocsLink></li>
        <li><DocsLink to="troubleshooting">From a message to its cure</DocsLink></li>
        <li><DocsLink to="runbook">Runbook</DocsLink></li>
        <li><DocsLink to="index">All documentation</DocsLink></li>
      </ul>
      <div class="key-groups">
        {GROUPS.map((group) => (
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
          {TERMS.map(([term, what]) => <div key={term}><dt>{term}</dt><dd>{what}</dd></div>)}
        </dl>
      </section>
      <div class="actions"><button type="button" class="primary" onClick={onClose}>Close</button></div>
    </dialog>
  );
}
