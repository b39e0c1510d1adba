// All nodes of the cluster as this one sees them; also those that do not answer.
import { useEffect, useState } from 'preact/hooks';
import type { ClusterNode, Replication } from '../api/types.ts';
import { bytes, count, gups, plural, relative } from '../lib/format.ts';
import { useAsked, useStore } from '../state/hooks.ts';
import { Chip } from '../ui/bits.tsx';

const NODES_MS = 3_000;

// Nothing where there is one node.
export function Nodes() {
  const store = useStore();
  // Which nodes there are is configured; events tell nothing of the others.
  const [several, setSeveral] = useState(true);
  const cluster = useAsked<{ nodes: ClusterNode[] }>('cluster', {}, several ? NODES_MS : 0);
  useEffect(() => setSeveral(cluster.data?.nodes.length !== 1), [cluster.data]);
  if (!cluster.data || cluster.data.nodes.length < 2) return null;
  return (
    <section class="card" aria-labelledby="nodes">
      <header><h2 id="nodes">Nodes</h2></header>
      {cluster.error && <p class="problem">{cluster.error}</p>}
      <div class="scroll">
        <table class="list" aria-labelledby="nodes">
          <thead>
            <tr>
              <th scope="col">Node</th><th scope="col">State</th><th scope="col">Rooms</th><th scope="col" class="number">Jobs</th>
              <th scope="col" class="number">Waiting</th><th scope="col">Devices</th><th scope="col">Free: spool, archive</th>
              <th scope="col">Copies</th><th scope="col">Version</th>
            </tr>
          </thead>
          <tbody>{cluster.data.nodes.map((node) => <NodeRow key={node.node} node={node} now={store.now()} />)}</tbody>
        </table>
      </div>
    </section>
  );
}

function NodeRow({ node, now }: { node: ClusterNode; now: number }) {
  const name = <th scope="row" class="name" data-label="Node">{node.node}{node.this_node && <><br /><span class="quiet">this node</span></>}</th>;
  // What was true when it answered last must not look like now.
  if (!node.reachable || !node.status) {
    return (
      <tr data-node={node.node}>
        {name}
        <td data-label="State"><NodeState node={node} /></td>
        <td data-label="Why" colSpan={7}>
          {node.error}{node.address && <>; last seen {node.seen_time ? relative(node.seen_time, now) : 'never since this node started'}</>}
        </td>
      </tr>
    );
  }
  const { status } = node;
  return (
    <tr data-node={node.node}>
      {name}
      <td data-label="State"><NodeState node={node} /></td>
      <td data-label="Rooms">{status.station_names.join(', ') || '–'}</td>
      <td class="number" data-label="Jobs">{status.active_jobs} of {status.max_active_jobs}</td>
      <td class="number" data-label="Waiting">{count(status.queue_chunks)}</td>
      <td data-label="Devices">{status.devices.map((d) => `${d.name} ${d.healthy ? gups(d.speed_gups) : 'failed'}`).join(', ')}</td>
      <td data-label="Free">{bytes(status.spool_free_bytes)}, {bytes(status.archive_free_bytes)}</td>
      <td data-label="Copies">{copiesOf(status.replication)}</td>
      <td data-label="Version">{status.version}</td>
    </tr>
  );
}

function NodeState({ node }: { node: ClusterNode }) {
  if (!node.address && !node.this_node) return <Chip kind="warning" text="Not asked" title={node.error ?? ''} />;
  if (!node.reachable || !node.status) return <Chip kind="bad" text="Away" title={node.error ?? ''} />;
  const why = node.status.reasons.join('; ');
  if (node.status.drained) return <Chip kind="warning" text="Drained" title={why} />;
  return node.status.ready ? <Chip kind="ok" text="Ready" /> : <Chip kind="bad" text="Not ready" title={why} />;
}

// Whose copies a node keeps, who keeps its own, and what goes on about lost nodes.
export function copiesOf(replication: Replication | null): string {
  if (!replication) return '–';
  const parts = replication.origins.map((origin) => {
    const lost = origin.orphans > 0 ? `, ${origin.orphans} of a lost node` : '';
    const taken = origin.being_taken > 0 ? `, ${origin.being_taken} being taken over` : '';
    return `${origin.copies} of ${origin.node}${lost}${taken}`;
  });
  if (replication.keeper) parts.push(`own at ${replication.keeper}${replication.keeper_reached ? '' : ', which is not reached'}`);
  if (replication.degraded_jobs > 0) parts.push(`${plural(replication.degraded_jobs, 'job', 'jobs')} on one disk alone`);
  if (replication.taken_over_jobs > 0) parts.push(`${plural(replication.taken_over_jobs, 'job', 'jobs')} taken over`);
  return parts.join('; ') || '–';
}
