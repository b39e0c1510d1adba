// What is on its way to destinations, as screens beside the patient show it.
import { useLayoutEffect, useState } from 'preact/hooks';
import type { Query } from '../api/client.ts';
import type { Transfer, Transfers } from '../api/types.ts';
import { isOnItsWay } from '../lib/deliveries.ts';
import { useAsked, useStore } from './hooks.ts';

// No event tells that a volume has arrived: while one is on its way it is asked for every `everyMs`, else after events.
export function useTransfers(query: Query, everyMs: number): Transfer[] {
  const enabled = useStore().status?.transfers_enabled;
  const [some, setSome] = useState(false);
  const { data } = useAsked<Transfers>(enabled ? 'transfers' : null, query, everyMs, !some);
  useLayoutEffect(() => setSome(data?.transfers.some(isOnItsWay) ?? false), [data]);
  return data?.transfers ?? [];
}
