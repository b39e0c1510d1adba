// One volume in 3-D.
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks';
import type { Level } from '../../api/types.ts';
import { messageOf } from '../../api/client.ts';
import { millimetres } from '../../lib/format.ts';
import { shortName } from '../../lib/relations.ts';
import { useStore } from '../../state/hooks.ts';
import type { Shown, ViewerModel } from '../model.ts';
import { described, edges, extentMm } from './camera.ts';
import { SolidGesture } from './gesture.ts';
import { LevelLoader } from './level_loader.ts';
import { Painter, type Show, type Wish } from './painter.ts';
import { NO_WEBGL, Renderer, hasWebGl } from './renderer.ts';
import type { Solid } from './state.ts';

const MODES = { mip: 'maximum intensity', shaded: 'shaded' };

export function SolidPane({ model, shown }: { model: ViewerModel; shown: Shown }) {
  // Graphics that a browser took away are set up anew.
  const [life, setLife] = useState(0);
  if (!hasWebGl()) return <div class="pane solid"><span class="waiting" role="status">{NO_WEBGL}</span></div>;
  return <Living key={life} model={model} shown={shown} onLost={() => setLife(life + 1)} />;
}

function Living({ model, shown, onLost }: { model: ViewerModel; shown: Shown; onLost: () => void }) {
  const store = useStore();
  const { solid, grid } = model;
  const [, redraw] = useReducer((n: number, _: void) => n + 1, 0);
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const painter = useRef<Painter | null>(null);
  const [level, setLevel] = useState<Level | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [size, setSize] = useState({ width: 1, height: 1 });

  const loader = useMemo(() => ({ current: null as LevelLoader | null }), []);
  useEffect(() => {
    let renderer: Renderer;
    try {
      renderer = new Renderer(grid, onLost);
    } catch (error) {
      setProblem(messageOf(error));
      return undefined;
    }
    painter.current = new Painter(renderer, showOn(box, canvas, renderer));
    loader.current = new LevelLoader(
      (jobId, index, signal) => store.api.samples(`jobs/${encodeURIComponent(jobId)}/levels/${index}`, signal),
      (loaded, samples) => {
        try {
          renderer.setVoxels(loaded, samples);
          setLevel(loaded);
        } catch (error) {
          setProblem(messageOf(error));
        }
      },
      () => redraw(),
    );
    redraw();
    return () => {
      loader.current?.stop();
      painter.current?.stop();
      renderer.stop();
    };
  }, [store]);
  useEffect(() => {
    if (shown.volume?.prepared) loader.current?.want(shown.volume);
  });

  useLayoutEffect(() => {
    const resized = () => {
      const ratio = devicePixelRatio || 1;
      setSize({ width: Math.max(1, Math.round(box.current!.clientWidth * ratio)), height: Math.max(1, Math.round(box.current!.clientHeight * ratio)) });
    };
    resized();
    const observer = new ResizeObserver(resized);
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);

  const window = solid.windowOf(shown.relation);
  const key = JSON.stringify([level?.level, shown.volume?.version, size, solid.camera, solid.mode, window, model.inverted, solid.moving]);
  useLayoutEffect(() => {
    if (!level) return;
    const scene = { camera: solid.camera, mode: solid.mode, window, inverted: model.inverted };
    painter.current?.want({ scene, ...size, moving: solid.moving });
  }, [key]);

  useEffect(() => {
    const gesture = new SolidGesture(solid, grid, shown.relation, () => model.tool);
    return gesture.attach(canvas.current!, box.current!);
  }, [solid, shown.relation]);

  const onMaximise = () => solid.put(solid.place === 'alone' ? 'beside' : 'alone');
  const onKeyDown = (event: KeyboardEvent) => {
    if (!handleKey(event, solid, grid, onMaximise)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  const edge = edges(solid.camera);
  const waiting = problem ?? (level ? null : waitingText(shown, loader.current?.error ?? null));
  return (
    <div
      class="pane solid" ref={box} tabIndex={0} role="slider" data-job={shown.jobId} data-solid-level={level?.level}
      aria-label={`3-D, ${MODES[solid.mode]}, ${shown.name}`} aria-valuemin={0} aria-valuemax={359}
      aria-valuenow={Math.round(solid.camera.azimuth) % 360} aria-valuetext={described(solid.camera)}
      onKeyDown={onKeyDown} onDblClick={onMaximise}
    >
      <canvas ref={canvas} width={size.width} height={size.height} />
      <span class="at top left">
        <span class="whole" title={shown.name}>{shortName(shown.name)}</span>
        <span class="quiet">3-D{level && `, voxels of ${millimetres(Math.max(...level.spacing_mm))}`}</span>
      </span>
      <span class="at top right quiet" aria-hidden="true">{`C ${window.center}`}<br />{`W ${window.width}`}</span>
      <span class="edge left" aria-hidden="true">{edge.left}</span>
      <span class="edge right" aria-hidden="true">{edge.right}</span>
      <span class="edge top" aria-hidden="true">{edge.top}</span>
      <span class="edge bottom" aria-hidden="true">{edge.bottom}</span>
      {waiting && <span class="waiting" role="status">{waiting}</span>}
    </div>
  );
}

// Copies what is drawn; a picture that was drawn quickly is enlarged.
function showOn(box: { current: HTMLElement | null }, canvas: { current: HTMLCanvasElement | null }, renderer: Renderer): Show {
  return (part, final: Wish | null) => {
    const target = canvas.current;
    if (!target || !box.current) return;
    const context = target.getContext('2d', { alpha: false })!;
    context.drawImage(renderer.canvas, 0, renderer.canvas.height - part.height, part.width, part.height, 0, 0, target.width, target.height);
    // What is drawn whole, for who waits for it.
    if (final) box.current.dataset.drawn = JSON.stringify(final.scene);
    else delete box.current.dataset.drawn;
  };
}

function waitingText(shown: Shown, error: string | null): string {
  if (shown.error) return shown.error;
  if (shown.volume && !shown.volume.prepared) return 'The server is preparing the volume';
  return error ?? 'Loading';
}

const TURN_DEG = 15;
const FINE_DEG = 3;

function handleKey(event: KeyboardEvent, solid: Solid, grid: ViewerModel['grid'], onMaximise: () => void): boolean {
  if (event.ctrlKey || event.metaKey) return false;
  const degrees = event.altKey ? FINE_DEG : TURN_DEG;
  const step = extentMm(grid, solid.camera, 1, 1).x / 5;
  const arrows: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  const arrow = arrows[event.key];
  if (arrow && event.shiftKey) solid.pan(-arrow[0] * step, -arrow[1] * step);
  // What is in the middle goes where the arrow points.
  else if (arrow) solid.turn(-arrow[0] * degrees, -arrow[1] * degrees);
  else if (event.key === '+' || event.key === '=') solid.zoom(1.25);
  else if (event.key === '-') solid.zoom(0.8);
  else if (event.key === 'Home') solid.look(0, 0);
  else if (event.key === 'Enter') onMaximise();
  else return false;
  return true;
}
