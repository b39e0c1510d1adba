// A day, a room, an order: all of its volumes to a destination that has lost them.
import { useEffect, useRef, useState } from 'preact/hooks';
import { messageOf } from '../api/client.ts';
import { type Job, type Transfers, placeOf } from '../api/types.ts';
import { dayOf } from '../lib/days.ts';
import { isStuck } from '../lib/destinations.ts';
import { coarseSeconds, jobName, plural } from '../lib/format.ts';
import { type Sent, completedJobs, sendAll } from '../lib/send_many.ts';
import { href, jobHref } from '../lib/router.ts';
import { doubtsOf } from '../lib/warnings.ts';
import { useAsked, useStore } from '../state/hooks.ts';
import { useFirst, useModal } from '../ui/dialog.tsx';
import { DocsLink } from '../ui/docs_link.tsx';

// Of the list of jobs: its parameters but for the state, as completed jobs alone have volumes.
export type ListFilter = Record<'station_name' | 'protocol' | 'text', string>;

// Typing a date changes it several times.
const REST_MS = 300;

const volumes = (n: number) => plural(n, 'volume', 'volumes');

type Doing = { step: 'choosing' } | { step: 'sending'; done: number; of: number } | { step: 'sent'; sent: Sent };

// `day`: the one that the list is of; empty: of any.
export function SendMany({ filter, day, onClose }: { filter: ListFilter; day: string; onClose: () => void }) {
  const store = useStore();
  const dialog = useModal();
  useFirst(dialog);
  const [doing, setDoing] = useState<Doing>({ step: 'choosing' });
  const [wish, setWish] = useState({ destination: '', day, again: true });
  const stop = useRef(new AbortController());
  // Who closes the dialog, by Escape too, stops what it does.
  useEffect(() => () => stop.current.abort(), []);

  const send = async (jobs: Job[], destination: string, again: boolean) => {
    stop.current = new AbortController();
    setWish((before) => ({ ...before, destination, again }));
    setDoing({ step: 'sending', done: 0, of: jobs.length });
    const sent = await sendAll(store.api, jobs, { destination, again }, stop.current.signal, (done) => setDoing({ step: 'sending', done, of: jobs.length }));
    store.say(`${summary(sent, destination)}${sent.refused.length > 0 ? ` ${volumes(sent.refused.length)} could not be sent.` : ''}`, sent.refused.length > 0 || sent.ended !== null);
    store.refresh();
    setDoing({ step: 'sent', sent });
  };
  return (
    <dialog ref={dialog} aria-labelledby="send-many" onClose={onClose}>
      <h2 id="send-many">Send volumes</h2>
      {doing.step === 'choosing' && <Choose filter={filter} wish={wish} onChange={setWish} onSend={send} onClose={onClose} />}
      {doing.step === 'sending' && <Sending {...doing} destination={wish.destination} onStop={() => stop.current.abort()} />}
      {doing.step === 'sent' && <Outcome sent={doing.sent} destination={wish.destination} onSend={(jobs) => void send(jobs, wish.destination, wish.again)} onClose={onClose} />}
    </dialog>
  );
}

interface Wish {
  destination: string;
  day: string;
  again: boolean;
}

interface ChooseProps {
  filter: ListFilter;
  wish: Wish;
  onChange: (wish: Wish) => void;
  onSend: (jobs: Job[], destination: string, again: boolean) => void;
  onClose: () => void;
}

function Choose({ filter, wish, onChange, onSend, onClose }: ChooseProps) {
  const store = useStore();
  const { data, error } = useAsked<Transfers>('transfers', { page_size: 1 }, 0);
  const { jobs, problem } = useCompleted(filter, wish.day);
  const destination = wish.destination || data?.destinations[0]?.name || '';
  const stuck = data?.destinations.find((d) => d.name === destination && isStuck(d));
  const gone = store.gone;
  const doubtful = (jobs ?? []).filter(doubtsOf);
  const ready = !!jobs && jobs.length > 0 && !!destination && !gone;
  return (
    <form onSubmit={(event) => { event.preventDefault(); if (ready) onSend(jobs, destination, wish.again); }}>
      {error && <p class="problem" role="alert">{error}</p>}
      {data && (
        <label>
          Destination
          <select data-first value={destination} onChange={(event) => onChange({ ...wish, destination: event.currentTarget.value })}>
            {data.destinations.map((d) => <option key={d.name} value={d.name}>{d.name} ({placeOf(d)}{isStuck(d) && ', stuck'})</option>)}
          </select>
        </label>
      )}
      {stuck && (
        <p class="notice" role="status">
          {stuck.name} takes nothing: what is next has waited for {coarseSeconds(stuck.oldest_seconds ?? 0)}. These volumes wait there, too. <DocsLink to="destinationStuck" />
        </p>
      )}
      <label>
        Begun on this day, local time (empty: on any)
        <input type="date" value={wish.day} onInput={(event) => onChange({ ...wish, day: event.currentTarget.value })} />
      </label>
      <div class="offers">
        <label><input type="checkbox" checked={wish.again} onChange={(event) => onChange({ ...wish, again: event.currentTarget.checked })} /> Send again what it has</label>
      </div>
      <p class="quiet">
        {wish.again
          ? 'All of each volume goes into the queue, also what the destination has confirmed. For one that has lost what it had.'
          : 'What the destination has already is not sent again.'}
      </p>
      <p role="status">{jobs ? <><b>{volumes(jobs.length)}</b> of completed jobs{which(filter, wish.day)}.</> : !problem && 'Counting volumes'}</p>
      {doubtful.length > 0 && (
        <div class="notice">
          <p>{volumes(doubtful.length)} of these may be wrong:</p>
          <ul class="refused" tabIndex={0} aria-label="Volumes that may be wrong">
            {doubtful.map((job) => <li key={job.job_id}><a href={jobHref(job.job_id)}>{jobName(job, store.now())}</a>: {doubtsOf(job)}</li>)}
          </ul>
        </div>
      )}
      {problem && <p class="problem" role="alert">{problem}</p>}
      {gone && <p class="problem" role="alert">The server does not answer. Volumes can be sent when it is back.</p>}
      <div class="actions">
        <button type="button" onClick={onClose}>Back</button>
        <button type="submit" class="primary" disabled={!ready}>{jobs && jobs.length > 0 ? `Send ${volumes(jobs.length)}` : 'Send'}</button>
      </div>
    </form>
  );
}

// " of room Angio-1, matching “A12”, begun on 2026-03-01".
function which({ station_name: room, protocol, text }: ListFilter, day: string): string {
  return [room && ` of room ${room}`, protocol && ` by protocol ${protocol}`, text && ` matching “${text}”`, dayOf(day) && ` begun on ${day}`].filter(Boolean).join(',');
}

function useCompleted(filter: ListFilter, day: string): { jobs: Job[] | null; problem: string | null } {
  const store = useStore();
  const [found, setFound] = useState<{ jobs: Job[] | null; problem: string | null }>({ jobs: null, problem: null });
  useEffect(() => {
    const abort = new AbortController();
    setFound({ jobs: null, problem: null });
    const timer = setTimeout(() => {
      completedJobs(store.api, filter, day, abort.signal).then(
        (jobs) => { if (!abort.signal.aborted) setFound({ jobs, problem: null }); },
        (error: unknown) => { if (!abort.signal.aborted) setFound({ jobs: null, problem: messageOf(error) }); },
      );
    }, REST_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [JSON.stringify(filter), day]);
  return found;
}

function Sending({ done, of, destination, onStop }: { done: number; of: number; destination: string; onStop: () => void }) {
  const button = useFocusOnce<HTMLButtonElement>();
  return (
    <>
      <p class="numbers">{done} of {volumes(of)} asked for, to {destination}</p>
      <progress max={of} value={done} aria-label="Volumes asked for" />
      <p class="quiet">What is in the queue is sent in any case. Stopping, or closing this dialog, leaves out the rest.</p>
      <div class="actions"><button type="button" ref={button} onClick={onStop}>Stop</button></div>
    </>
  );
}

interface OutcomeProps {
  sent: Sent;
  destination: string;
  onSend: (jobs: Job[]) => void;
  onClose: () => void;
}

function Outcome({ sent, destination, onSend, onClose }: OutcomeProps) {
  const store = useStore();
  const button = useFocusOnce<HTMLButtonElement>();
  const rest = [...sent.refused.map(({ job }) => job), ...sent.left];
  return (
    <>
      <p>{summary(sent, destination)} <a href={href(['dicom'], { destination })}>How far they are</a></p>
      {sent.ended && <p class="problem">{sent.ended}</p>}
      {sent.refused.length > 0 && (
        <div class="problem">
          <p>{volumes(sent.refused.length)} could not be sent:</p>
          <ul class="refused" tabIndex={0} aria-label="Volumes that could not be sent">
            {sent.refused.map(({ job, reason }) => <li key={job.job_id}><a href={jobHref(job.job_id)}>{jobName(job, store.now())}</a>: {reason}</li>)}
          </ul>
        </div>
      )}
      <div class="actions">
        {rest.length > 0 && <button type="button" disabled={store.gone} onClick={() => onSend(rest)}>Send the other {rest.length}</button>}
        <button type="button" class="primary" ref={button} onClick={onClose}>Close</button>
      </div>
    </>
  );
}

// What happens is said by who has the focus then, as what had it is gone.
function useFocusOnce<T extends HTMLElement>() {
  const element = useRef<T>(null);
  useEffect(() => element.current?.focus(), []);
  return element;
}

function summary(sent: Sent, destination: string): string {
  const parts = [`${volumes(sent.queued.length)} went into the queue of ${destination}.`];
  if (sent.present.length > 0) parts.push(`${volumes(sent.present.length)} ${sent.present.length === 1 ? 'was' : 'were'} there or on the way already.`);
  if (sent.left.length > 0) parts.push(`${volumes(sent.left.length)} ${sent.left.length === 1 ? 'was' : 'were'} left out.`);
  return parts.join(' ');
}
