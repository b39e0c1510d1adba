// What the viewer can do, as buttons; the keys are in the titles and in the help.
import { useState } from 'preact/hooks';
import type { Volume } from '../api/types.ts';
import { hasMouse } from '../lib/pointers.ts';
import { Term } from '../ui/term.tsx';
import { AXES } from './geometry.ts';
import type { Layout, Shown, Tool, ViewerModel } from './model.ts';
import { VIEWS, viewOf } from './solid/camera.ts';
import type { Mode } from './solid/renderer.ts';
import { PRESETS, presetOf } from './window_level.ts';

// More columns than this are too narrow to look at.
export const MOST_BESIDE = 4;

interface Props {
  model: ViewerModel;
  // All volumes that can be shown, and which are.
  choices: Shown[];
  chosen: ReadonlySet<string>;
  onChoose: (jobId: string, chosen: boolean) => void;
}

const TOOLS: { tool: Tool; name: string; key: string }[] = [
  { tool: 'crosshair', name: 'Cross hair', key: 'c' },
  { tool: 'window', name: 'Window', key: 'w' },
  { tool: 'pan', name: 'Pan', key: 'p' },
  { tool: 'measure', name: 'Distance', key: 'm' },
];
const MODES: { mode: Mode; name: string }[] = [{ mode: 'shaded', name: 'Shaded' }, { mode: 'mip', name: 'MIP' }];
const LAYOUTS: readonly Layout[] = ['all', ...AXES];

export function Toolbar({ model, choices, chosen, onChoose }: Props) {
  const volumes = choices.filter((c) => chosen.has(c.jobId) && c.volume).map((c) => c.volume as Volume);
  const first = choices.find((c) => chosen.has(c.jobId));
  const window = model.windowOf(first?.relation ?? 'volume');
  const preset = presetOf(window);
  // On a telephone the picture comes first: what is used less is behind a button, which wider windows do not have.
  const [open, setOpen] = useState(false);
  return (
    <div class={`viewer-tools ${open ? 'open' : ''}`} role="group" aria-label="Viewer">
      <button type="button" class="small more-tools" aria-expanded={open} onClick={() => setOpen(!open)}>
        Tools: {TOOLS.find(({ tool }) => tool === model.tool)?.name} <span aria-hidden="true">{open ? '▴' : '▾'}</span>
      </button>
      {choices.length > 1 && (
        <div class="group volumes less-used" role="group" aria-label="Volumes side by side">
          {choices.map(({ jobId, name }) => {
            const checked = chosen.has(jobId);
            return (
              <label class="toggle" key={jobId}>
                <input
                  type="checkbox" checked={checked} disabled={checked ? chosen.size === 1 : chosen.size >= MOST_BESIDE}
                  onChange={(event) => onChoose(jobId, event.currentTarget.checked)}
                />
                <span>{name}</span>
              </label>
            );
          })}
          {choices.length > MOST_BESIDE && <span class="quiet whole-word">up to {MOST_BESIDE} beside each other</span>}
          <Term name="FDK"><span aria-hidden="true">?</span><span class="hidden">What FDK is</span></Term>
        </div>
      )}
      <div class="group less-used" role="group" aria-label={hasMouse() ? 'Tool of the left button' : 'Tool of one finger'}>
        {TOOLS.map(({ tool, name, key }) => (
          <button
            type="button" key={tool} class="small" aria-pressed={model.tool === tool} title={`${name} (${key})`}
            onClick={() => model.setTool(tool)}
          >{name}</button>
        ))}
      </div>
      <div class="group planes" role="group" aria-label="Planes">
        {LAYOUTS.map((layout) => (
          <button
            type="button" key={layout} class="small" aria-pressed={model.layout === layout && model.solid.place !== 'alone'}
            onClick={() => model.setLayout(layout)}
          >{layout === 'all' ? 'All planes' : model.planes[layout].name}</button>
        ))}
      </div>
      <SolidTools model={model} />
      <div class="group">
        <label class="inline">
          <span class="quiet">HU</span>
          <select
            aria-label="HU window, presets" value={preset?.id ?? ''}
            onChange={(event) => choosePreset(model, volumes, event.currentTarget.value)}
          >
            {!preset && <option value="">Own</option>}
            {PRESETS.map((p, i) => <option key={p.id} value={p.id}>{`${i + 1}  ${p.name}`}</option>)}
            <option value="full" disabled={!volumes.some((v) => v.hu_min !== null)}>0  Full range</option>
          </select>
        </label>
        <output class="numbers window-value" aria-label="Window centre and width in HU">
          {`C ${window.center}  W ${window.width}`}
        </output>
        <Term name="Window"><span aria-hidden="true">?</span><span class="hidden">What a window of HU is</span></Term>
      </div>
      <div class="group last less-used">
        <button type="button" class="small" aria-pressed={model.inverted} title="Invert (i)" onClick={() => model.toggleInverted()}>Invert</button>
        <button
          type="button" class="small" disabled={model.measures.length === 0} title="Remove distances (Delete)"
          onClick={() => model.clearMeasures()}
        >Clear</button>
        <button type="button" class="small" title="Reset (r)" onClick={() => model.reset()}>Reset</button>
      </div>
    </div>
  );
}

// On a telephone it is below the planes, out of sight.
function showSolid(): void {
  requestAnimationFrame(() => requestAnimationFrame(() => document.querySelector('.pane.solid')?.scrollIntoView({ block: 'nearest' })));
}

// Beside the planes, from where it is looked at, and how.
function SolidTools({ model: { solid } }: { model: ViewerModel }) {
  const shown = solid.place !== 'nowhere';
  return (
    <div class="group solids" role="group" aria-label="3-D">
      <button
        type="button" class="small" aria-pressed={shown} title="The volume in 3-D, beside the planes (v)"
        onClick={() => {
          solid.put(shown ? 'nowhere' : 'beside');
          if (!shown) showSolid();
        }}
      >3-D</button>
      {shown && MODES.map(({ mode, name }) => (
        <button
          type="button" key={mode} class="small" aria-pressed={solid.mode === mode}
          title={`${mode === 'mip' ? 'The brightest along each line of sight' : 'Surfaces, lit'} (s)`} onClick={() => solid.setMode(mode)}
        >{name}</button>
      ))}
      {shown && <Term name="MIP"><span aria-hidden="true">?</span><span class="hidden">What MIP and shaded mean</span></Term>}
      {shown && (
        <select
          aria-label="Seen from" value={viewOf(solid.camera)?.id ?? ''}
          onChange={(event) => {
            const view = VIEWS.find(({ id }) => id === event.currentTarget.value);
            if (view) solid.look(view.azimuth, view.elevation);
          }}
        >
          {!viewOf(solid.camera) && <option value="">Turned</option>}
          {VIEWS.map(({ id, name }) => <option key={id} value={id}>{name}</option>)}
        </select>
      )}
    </div>
  );
}

function choosePreset(model: ViewerModel, volumes: Volume[], id: string): void {
  if (id === 'full') model.useFullRange(volumes);
  const preset = PRESETS.find((p) => p.id === id);
  if (preset) model.usePreset(preset.window);
}

// Keys that work wherever the focus is beside a viewer. True where the key was one.
export function viewerKey(event: KeyboardEvent, model: ViewerModel, volumes: Volume[]): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const tool = TOOLS.find((t) => t.key === event.key);
  if (tool) model.setTool(tool.tool);
  else if (event.key === 'x') model.toggleCrosshair();
  else if (event.key === 'i') model.toggleInverted();
  else if (event.key === 'v') model.solid.put(model.solid.place === 'nowhere' ? 'beside' : 'nowhere');
  else if (event.key === 's' && model.solid.place !== 'nowhere') model.solid.setMode(model.solid.mode === 'mip' ? 'shaded' : 'mip');
  else if (event.key === 'r') model.reset();
  else if (event.key === 'Delete' || event.key === 'Backspace') model.clearMeasures();
  else if (event.key === '0') model.useFullRange(volumes);
  else if (/^[1-9]$/.test(event.key) && PRESETS[Number(event.key) - 1]) model.usePreset(PRESETS[Number(event.key) - 1]!.window);
  else return false;
  return true;
}
