import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { useRoute } from './lib/router.ts';
import { Calibrations } from './screens/calibrations.tsx';
import { Job } from './screens/job.tsx';
import { Jobs } from './screens/jobs.tsx';
import { Node } from './screens/node.tsx';
import { Overview } from './screens/overview.tsx';
import { Quality } from './screens/quality.tsx';
import { SignIn } from './screens/sign_in.tsx';
import { Transfers } from './screens/transfers.tsx';
import { useStore } from './state/hooks.ts';
import { Shell } from './ui/shell.tsx';

const TITLES: Record<string, string> = { '': 'Overview', jobs: 'Jobs', dicom: 'DICOM', quality: 'Image quality', node: 'Node' };

export function App() {
  const store = useStore();
  const { path, query } = useRoute();
  const page = path[0] ?? '';
  const signedIn = store.session?.signed_in;

  useEffect(() => {
    document.title = `${path[1] ?? TITLES[page] ?? 'Isocenter'} – ${store.status?.server ?? 'Isocenter'}`;
  }, [path.join('/'), store.status?.server]);
  // A new screen begins at its top, also for who reads it with a keyboard: as it appears, not once somebody has gone on from there.
  const first = useRef(true);
  useLayoutEffect(() => {
    if (first.current) first.current = false;
    else document.getElementById('main')?.focus();
    scrollTo(0, 0);
  }, [path.join('/')]);

  if (signedIn === false) return <SignIn />;
  return <Shell page={page}>{signedIn && screen(path, query)}</Shell>;
}

function screen(path: string[], query: URLSearchParams) {
  switch (path[0]) {
    case undefined: return <Overview />;
    case 'jobs': return path[1] ? <Job key={path[1]} jobId={path[1]} query={query} /> : <Jobs query={query} />;
    case 'dicom': return <Transfers query={query} />;
    case 'quality': return <><Quality /><Calibrations /></>;
    case 'node': return <Node />;
    default: return <><h1 class="hidden">No such page</h1><p class="problem">There is no such page. <a href="#/">Overview</a></p></>;
  }
}
