import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { focusRow } from './lib/focus.ts';
import { jobHref, useRoute } from './lib/router.ts';
import { Jobs } from './screens/jobs.tsx';
import { Node } from './screens/node.tsx';
import { HistoryPlots, Overview } from './screens/overview.tsx';
import { SignIn } from './screens/sign_in.tsx';
import { Transfers } from './screens/transfers.tsx';
import { useStore, useTitle } from './state/hooks.ts';
import { later } from './ui/later.tsx';
import { Shell } from './ui/shell.tsx';

const Job = later(() => import('./screens/job.tsx').then(({ Job: part }) => part));
const QualityScreen = later(() => import('./screens/quality_screen.tsx').then(({ QualityScreen: part }) => part));
// Soon after the first screen is there.
const IDLE_MS = 2_000;

const TITLES: Record<string, string> = { '': 'Overview', jobs: 'Jobs', dicom: 'DICOM', quality: 'Image quality', node: 'Node' };

export function App() {
  const store = useStore();
  const { path, query } = useRoute();
  const page = path[0] ?? '';
  const signedIn = store.session?.signed_in;

  useEffect(() => {
    const timer = setTimeout(() => [Job, QualityScreen, HistoryPlots].forEach((part) => part.prefetch()), IDLE_MS);
    return () => clearTimeout(timer);
  }, []);

  const jobId = page === 'jobs' ? path[1] : undefined;

  // A job's screen says more of it.
  useTitle(jobId === undefined ? TITLES[page] ?? 'Isocenter' : null);
  // A new screen begins at its top, also for who reads it with a keyboard: as it appears, not once somebody has gone on from there.
  // A list that one comes back to from a job that was opened there: at that job's row. The overview has its rooms at the top.
  const first = useRef(true);
  const lastJob = useRef<string | undefined>(undefined);
  const list = useRef('');
  useLayoutEffect(() => {
    const left = lastJob.current;
    lastJob.current = jobId;
    const back = left !== undefined && jobId === undefined && page !== '' && page === list.current;
    if (jobId === undefined) list.current = page;
    if (first.current) first.current = false;
    else document.getElementById('main')?.focus();
    scrollTo(0, 0);
    return back ? focusRow(jobHref(left)) : undefined;
  }, [path.join('/')]);

  if (signedIn === false) return <SignIn />;
  return <Shell page={page}>{(signedIn || store.expected) && screen(path, query)}</Shell>;
}

function screen(path: string[], query: URLSearchParams) {
  switch (path[0]) {
    case undefined: return <Overview />;
    case 'jobs': return path[1] ? <Job key={path[1]} jobId={path[1]} query={query} /> : <Jobs query={query} />;
    case 'dicom': return <Transfers query={query} />;
    case 'quality': return <QualityScreen query={query} />;
    case 'node': return <Node />;
    default: return <><h1 class="hidden">No such page</h1><p class="problem">There is no such page. <a href="#/">Overview</a></p></>;
  }
}
