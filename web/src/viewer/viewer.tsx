// Three linked planes of one volume, or the same planes of several side by side.
import { useEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks';
import type { Axis, Grid, JobDetail, RelatedJob, Volume } from '../api/types.ts';
import { isTyping } from '../lib/keys.ts';
import { RELATIONS, asRelated, refinedName, relatedName } from '../lib/relations.ts';
import { useStore } from '../state/hooks.ts';
import type { Pane as Size } from './geometry.ts';
import { type Shown, ViewerModel } from './model.ts';
import { Pane } from './pane.tsx';
import { SliceLoader } from './slice_loader.ts';
import { SolidPane } from './solid/solid_pane.tsx';
import { Toolbar, viewerKey } from './toolbar.tsx';
import { VolumeBook } from './volume_book.ts';
import { wishesOf } from './wishes.ts';

// `beside`: a related job whose volume is shown from the beginning.
export function Viewer({ job, grid, beside }: { job: JobDetail; grid: Grid; beside: string | null }) {
  const store = useStore();
  const [, redraw] = useReducer((n: number, _: void) => n + 1, 0);
  const model = useMemo(() => new ViewerModel(grid), [job.job_id]);
  const loader = useMemo(() => new SliceLoader(
    (id, signal) => store.api.slice(`jobs/${encodeURIComponent(id.jobId)}/slices/${id.axis}/${id.index}`, { level: id.level }, signal),
    () => redraw(),
  ), [store, job.job_id]);
  const book = useMemo(() => new VolumeBook(
    (id) => store.api.get<Volume>(`jobs/${encodeURIComponent(id)}/volume`), grid, () => redraw(),
  ), [store, job.job_id]);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(() => begunWith(job, beside));
  const sizes = useRef(new Map<Axis, Size>());
  useEffect(() => {
    const begun = begunWith(job, beside);
    if (begun.size > 1 && model.layout === 'all') model.setLayout('axial');
    setChosen(begun);
  }, [job.job_id, beside]);

  const choices = choicesOf(job, book, store.now());
  const shown = choices.filter((choice) => chosen.has(choice.jobId));
  const volumes = shown.flatMap((choice) => (choice.volume ? [choice.volume] : []));

  useEffect(() => {
    const stop = model.subscribe(() => redraw());
    return () => {
      stop();
      model.stop();
    };
  }, [model]);
  useEffect(() => () => loader.stop(), [loader]);
  useEffect(() => () => book.stop(), [book]);
  useEffect(() => book.want(chosen));
  useEffect(() => loader.want(wishesOf(model, volumes, sizes.current)));

  const choose = (jobId: string, yes: boolean) => {
    const next = new Set(chosen);
    if (yes) next.add(jobId);
    else next.delete(jobId);
    // Three planes of each would be too small to compare.
    if (next.size > 1 && chosen.size === 1 && model.layout === 'all') model.setLayout('axial');
    setChosen(next);
  };
  const onSize = (axis: Axis, size: Size) => {
    sizes.current.set(axis, size);
    redraw();
  };
  const onMaximise = (axis: Axis) => model.setLayout(model.layout === axis ? 'all' : axis);
  const onKey = useRef((_: KeyboardEvent) => {});
  onKey.current = (event) => {
    const target = event.target as HTMLElement;
    if (event.defaultPrevented || isTyping(target) || target.closest('dialog') || !viewerKey(event, model, volumes)) return;
    event.preventDefault();
  };
  // Wherever the focus is: a screen that was just opened has it on no plane.
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => onKey.current(event);
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);

  const axes = model.axes();
  const solid = model.solid.place !== 'nowhere';
  return (
    <section class="viewer" aria-label="Volume">
      <Toolbar model={model} choices={choices} chosen={chosen} onChoose={choose} />
      <div class={`panes of-${shown.length} rows-${axes.length + (solid ? 1 : 0)}`}>
        {axes.map((axis) => shown.map((choice) => (
          <Pane
            key={`${axis} ${choice.jobId}`} model={model} loader={loader} shown={choice} axis={axis}
            onSize={onSize} onMaximise={onMaximise}
          />
        )))}
        {solid && shown.map((choice) => <SolidPane key={`solid ${choice.jobId}`} model={model} shown={choice} />)}
      </div>
    </section>
  );
}

function begunWith(job: JobDetail, beside: string | null): ReadonlySet<string> {
  const known = job.related.some((related) => related.job_id === beside && related.state === 'completed');
  return new Set(known && beside ? [job.job_id, beside] : [job.job_id]);
}

// From left to right, whichever of them was opened.
const ORDER = ['volume', 'fdk', 'mask', 'fill', 'subtraction', 'refined'];

// The job's volume and those that can be looked at beside it.
function choicesOf(job: JobDetail, book: VolumeBook, now: number): Shown[] {
  const completed = job.related.filter((related) => related.state === 'completed');
  const own = ownRelation(job);
  const choices: Shown[] = [
    { jobId: job.job_id, relation: own, name: ownName(job, own, completed, now), ...book.get(job.job_id) },
    ...completed.map((related) => ({
      jobId: related.job_id, relation: related.relation, name: relatedName(related, completed, own === 'refined', now), ...book.get(related.job_id),
    })),
  ];
  return choices.sort((a, b) => ORDER.indexOf(a.relation) - ORDER.indexOf(b.relation));
}

function ownRelation(job: JobDetail): Shown['relation'] {
  if (job.refines_job_id) return 'refined';
  return job.pair_role === 'none' ? 'volume' : job.pair_role;
}

function ownName(job: JobDetail, own: Shown['relation'], related: RelatedJob[], now: number): string {
  if (own === 'refined') return refinedName(asRelated(job), related.some((r) => r.relation === 'refined'), now);
  return own === 'volume' ? RELATIONS.fdk : RELATIONS[own];
}
