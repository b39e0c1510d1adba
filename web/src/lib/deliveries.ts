// Whether a volume is where it is to go, for who looks at it and has to know before the patient leaves.
import type { Transfer } from '../api/types.ts';

export interface Delivery {
  kind: 'bad' | 'waiting' | 'ok';
  text: string;
}

const KINDS = ['bad', 'waiting', 'ok'] as const;

export function isOnItsWay({ instances }: Transfer): boolean {
  return instances.queued + instances.sending > 0;
}

function kindOf(transfer: Transfer): Delivery['kind'] | null {
  const { instances } = transfer;
  if (instances.failed > 0) return 'bad';
  if (isOnItsWay(transfer)) return 'waiting';
  return instances.sent + instances.committed > 0 ? 'ok' : null;
}

const WORDS = { bad: 'not taken by', waiting: 'not yet at', ok: 'sent to' };

// "not taken by CLOUD", "sent to PACS": what is wrong first; nothing where nothing is sent.
export function deliveriesOf(transfers: Transfer[]): Delivery[] {
  return KINDS.map((kind) => ({ kind, names: transfers.filter((transfer) => kindOf(transfer) === kind).map(({ destination }) => destination) }))
    .filter(({ names }) => names.length > 0)
    .map(({ kind, names }) => ({ kind, text: `${WORDS[kind]} ${[...new Set(names)].join(', ')}` }));
}
