// Where the documentation says what to do. The server has it beside this page; web/test/docs.test.ts knows that each place exists.
import type { Job, Reason, Status } from '../api/types.ts';
import { OF_THE_VOLUME } from './warnings.ts';

export const DOCS = {
  index: 'docs/index.html',
  guide: 'docs/user-guide/operator-page.html',
  runbook: 'docs/runbook.html',
  troubleshooting: 'docs/troubleshooting.html',
  whereToLook: 'docs/troubleshooting.html#where-to-look-first',
  signIn: 'docs/security.html#roles',
  quarantined: 'docs/runbook.html#isocenterdevicequarantined',
  noDevice: 'docs/runbook.html#isocenternodevice',
  refusing: 'docs/runbook.html#isocenterrefusing',
  drained: 'docs/user-guide/operator.html#take-a-node-out-of-service',
  spoolFull: 'docs/runbook.html#isocenterspoolfull',
  archiveFull: 'docs/runbook.html#isocenterdiskfull',
  destinationStuck: 'docs/runbook.html#isocenterdicomqueuestuck',
  sendFailed: 'docs/runbook.html#isocenterdicomsendfailed',
  jobFailed: 'docs/troubleshooting.html#a-job-fails',
  figures: 'docs/qa.html#figures',
  quality: 'docs/qa.html',
  calibrating: 'docs/calibrating.html',
  calibrationEnds: 'docs/calibration.html#which-one-an-acquisition-gets',
  atTheArm: 'docs/user-guide/at-the-arm.html',
  failedScan: 'docs/user-guide/at-the-arm.html#a-scan-that-failed',
  doubtful: 'docs/user-guide/at-the-arm.html#a-volume-that-may-be-wrong',
  warnings: 'docs/troubleshooting.html#warnings-to-the-room',
  destinations: 'docs/user-guide/pacs.html#being-sent-results',
  firstScan: 'docs/user-guide/console.html',
} as const;

export type DocsPlace = keyof typeof DOCS;

// What to do about a warning, by its kind: each that says that the volume may be wrong has a section there.
export function placeOfDoubt(kind: string): string {
  return `${DOCS.atTheArm}#${kind.replace(/_/g, '-')}`;
}

// The same of a job: one reason has its section, of several all are to be read.
export function placeOfDoubts({ warning_kinds: kinds }: Pick<Job, 'warning_kinds'>): string {
  const [kind, ...others] = kinds.filter((each) => OF_THE_VOLUME.has(each));
  return kind && others.length === 0 ? placeOfDoubt(kind) : DOCS.doubtful;
}

// What to read about a reason why the node is not ready.
export function placeOf(reason: Reason, status: Status): DocsPlace {
  switch (reason.component) {
    case 'devices': return 'noDevice';
    case 'spool': return 'spoolFull';
    case 'archive': return 'archiveFull';
    case 'admission': return status.draining ? 'drained' : 'refusing';
    default: return 'whereToLook';
  }
}
