// What can be done with a finished volume: download, send, refine, compare.
import { useMemo, useState } from 'preact/hooks';
import { type Job as JobMessage, type JobDetail, type RefinementOffer, type Transfers, placeOf } from '../api/types.ts';
import { isStuck } from '../lib/destinations.ts';
import { algorithmName, bytes, coarseSeconds, plural } from '../lib/format.ts';
import { againstText, phaseText, relatedName } from '../lib/relations.ts';
import { go, href, jobHref } from '../lib/router.ts';
import { useAsked, useStore } from '../state/hooks.ts';
import { Empty, JobNamed } from '../ui/bits.tsx';
import { Confirm } from '../ui/dialog.tsx';
import { DocsLink } from '../ui/docs_link.tsx';
import { Menu } from '../ui/menu.tsx';
import { Term } from '../ui/term.tsx';
import { Doubts } from './warning_list.tsx';

const FORMATS = [
  { format: 'dicom', name: 'DICOM', ending: '.tar' },
  { format: 'nii', name: 'NIfTI', ending: '.nii' },
  { format: 'mha', name: 'MetaImage', ending: '.mha' },
] as const;

export function JobActions({ job }: { job: JobDetail }) {
  const store = useStore();
  const [asking, setAsking] = useState<'send' | 'refine' | null>(null);
  if (!job.has_volume) return null;
  const refinable = !job.refines_job_id && job.pair_role !== 'subtraction';
  return (
    <>
      <CompareMenu job={job} now={store.now()} />
      {store.may('console') && <DownloadMenu job={job} />}
      {store.may('operator') && store.status?.transfers_enabled && <button type="button" onClick={() => setAsking('send')}>Send</button>}
      {store.may('console') && refinable && <button type="button" onClick={() => setAsking('refine')}>Refine</button>}
      {asking === 'send' && <SendDialog job={job} onClose={() => setAsking(null)} />}
      {asking === 'refine' && <RefineDialog job={job} onClose={() => setAsking(null)} />}
    </>
  );
}

function CompareMenu({ job, now }: { job: JobDetail; now: number }) {
  const beside = job.related.filter((related) => related.state === 'completed');
  if (beside.length === 0) return null;
  return (
    <Menu name="Compare">
      {beside.map((related) => (
        <li key={related.job_id}>
          <a href={href(['jobs', job.job_id], { tab: 'volume', beside: related.job_id })}>
            {relatedName(related, beside, !!job.refines_job_id, now)}
          </a>
        </li>
      ))}
    </Menu>
  );
}

function DownloadMenu({ job }: { job: JobDetail }) {
  const store = useStore();
  const voxels = job.grid.nx * job.grid.ny * job.grid.nz;
  return (
    <Menu name="Download">
      {FORMATS.map(({ format, name, ending }) => (
        <li key={format}>
          <a href={`api/v1/jobs/${encodeURIComponent(job.job_id)}/download?format=${format}`} download onClick={() => store.say(`The download as ${name} begins; the browser says when it is there.`)}>
            {name} <span class="quiet">{ending}{format !== 'dicom' && `, ${bytes(4 * voxels)}`}</span>
          </a>
        </li>
      ))}
    </Menu>
  );
}

function SendDialog({ job, onClose }: { job: JobDetail; onClose: () => void }) {
  const store = useStore();
  const jobId = job.job_id;
  const { data, error } = useAsked<Transfers>('transfers', { page_size: 1 }, 0);
  const [chosen, setChosen] = useState('');
  const [again, setAgain] = useState(false);
  const destination = chosen || data?.destinations[0]?.name || '';
  const stuck = data?.destinations.find((d) => d.name === destination && isStuck(d));
  return (
    <Confirm
      title="Send this volume" action="Send" onClose={onClose} impossible={!destination}
      onConfirm={async () => {
        const { newly_queued } = await store.api.post<{ newly_queued: number }>(`jobs/${encodeURIComponent(jobId)}:send`, { destination, again });
        store.say(newly_queued > 0 ? `The volume is in the queue of ${destination}.` : alreadyThere(destination, again));
        store.refresh();
        go(href(['jobs', jobId], { tab: 'dicom' }));
      }}
    >
      <JobNamed job={job} now={store.now()} />
      <Doubts warnings={job.warnings} />
      {error && <p class="problem" role="alert">{error}</p>}
      {data && (
        <label>
          Destination
          <select data-first value={destination} onChange={(event) => setChosen(event.currentTarget.value)}>
            {data.destinations.map((d) => <option key={d.name} value={d.name}>{d.name} ({placeOf(d)}{isStuck(d) && ', stuck'})</option>)}
          </select>
        </label>
      )}
      {stuck && (
        <p class="notice" role="status">
          {stuck.name} takes nothing: what is next has waited for {coarseSeconds(stuck.oldest_seconds ?? 0)}. This volume waits there, too. <DocsLink to="destinationStuck" />
        </p>
      )}
      <div class="offers">
        <label><input type="checkbox" checked={again} onChange={(event) => setAgain(event.currentTarget.checked)} /> Send again what it has</label>
      </div>
      <p class="quiet">
        {again
          ? 'All of it goes into the queue of that destination, also what it has confirmed; it is asked to keep it anew. For one that has lost what it had.'
          : 'It goes into the queue of that destination. What the destination has already is not sent again.'}
      </p>
    </Confirm>
  );
}

// What was on its way before stays there.
function alreadyThere(destination: string, again: boolean): string {
  return again ? `All of the volume is on its way to ${destination} already.` : `${destination} has the volume already, or it is on its way; nothing was added.`;
}

function RefineDialog({ job, onClose }: { job: JobDetail; onClose: () => void }) {
  const store = useStore();
  const { data, error } = useAsked<{ refinements: RefinementOffer[] }>('refinements', {}, 0);
  const [chosen, setChosen] = useState('');
  const [minutes, setMinutes] = useState('');
  const [percent, setPercent] = useState('');
  // Asking again after no answer makes no second refinement.
  const requestId = useMemo(() => `page-${crypto.getRandomValues(new Uint32Array(4)).join('-')}`, [chosen, minutes, percent]);
  const offers = data ? offersFor(data.refinements, percent !== '') : [];
  const protocol = offers.some((offer) => offer.protocol === chosen) ? chosen : likeliest(offers, job.protocol)?.protocol ?? '';
  return (
    <Confirm
      title="Refine this volume" action="Refine" onClose={onClose} impossible={offers.length === 0}
      onConfirm={async () => {
        const wish = {
          protocol, deadline_seconds: minutes ? 60 * Number(minutes) : 0, request_id: requestId,
          phase: percent ? Number(percent) / 100 : null,
        };
        const refined = await store.api.post<JobMessage>(`jobs/${encodeURIComponent(job.job_id)}:refine`, wish);
        store.takeJob(refined);
        store.say(percent ? `The volume of ${phaseText({ phase: Number(percent) / 100 })} is accepted.` : `The refinement by ${protocol} is accepted.`);
        store.refresh();
        go(jobHref(refined.job_id));
      }}
    >
      <JobNamed job={job} now={store.now()} />
      <p>
        A <Term name="Refinement">refinement</Term> becomes a job and a series of its own; this volume stays. Each step of an iteration
        compares with a <Term name="Subset">subset</Term> of the frames.
      </p>
      {error && <p class="problem" role="alert">{error}</p>}
      {!!job.phase_cycle && (
        <label>
          Of one phase of the cycle alone, in percent
          <input type="number" min={0} max={99} step={1} value={percent} placeholder="of all frames" onInput={(event) => setPercent(event.currentTarget.value)} />
        </label>
      )}
      {data && offers.length === 0 && <Empty>No protocol refines. <DocsLink to="guide">How to have one</DocsLink></Empty>}
      {offers.length > 0 && (
        <fieldset class="offers">
          <legend>Protocol</legend>
          {offers.map((offer) => (
            <label key={offer.protocol}>
              <input type="radio" name="protocol" data-first={offer.protocol === protocol} value={offer.protocol} checked={offer.protocol === protocol} onChange={() => setChosen(offer.protocol)} />
              <span><b>{offer.protocol || 'FDK'}</b><br /><span class="quiet">{whatItDoes(offer)}</span></span>
            </label>
          ))}
        </fieldset>
      )}
      <label>
        Stop after, in minutes, with the best volume so far
        <input type="number" min={1} max={10_080} step={1} value={minutes} placeholder="as the protocol says" onInput={(event) => setMinutes(event.currentTarget.value)} />
      </label>
    </Confirm>
  );
}

// A phase is reconstructed by FDK, as the job's protocol does, or by iterations; second passes are of all frames.
export function offersFor(offers: RefinementOffer[], ofPhase: boolean): RefinementOffer[] {
  if (!ofPhase) return offers;
  const fdk: RefinementOffer = { protocol: '', description: 'The filter of the job.', algorithm: 'fdk', iterations: null, subsets: null, second_pass: null, deadline_seconds: null };
  return [fdk, ...offers.filter((offer) => offer.algorithm)];
}

// What is chosen until somebody does: FDK of a phase; the job's own protocol where it refines, else the first by OS-SART, which suits most scans.
export function likeliest(offers: RefinementOffer[], own: string): RefinementOffer | undefined {
  return offers.find(({ protocol }) => protocol === '') ?? offers.find(({ protocol }) => protocol === own) ?? offers.find(({ algorithm }) => algorithm === 'os_sart') ?? offers[0];
}

// OS-SART, 5 iterations of 20 subsets, at most 3 min. The description.
export function whatItDoes(offer: RefinementOffer): string {
  const parts = [offer.algorithm ? algorithmName(offer.algorithm) : `A second pass${offer.second_pass ? ` ${againstText(offer.second_pass)}` : ''}`];
  if (offer.iterations) {
    parts.push(plural(offer.iterations, 'iteration', 'iterations') + (offer.subsets ? ` of ${plural(offer.subsets, 'subset', 'subsets')}` : ''));
  }
  if (offer.deadline_seconds) parts.push(`at most ${coarseSeconds(offer.deadline_seconds)}`);
  return parts.join(', ') + (offer.description ? `. ${offer.description}` : '');
}
