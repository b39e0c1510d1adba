// What the pipeline warned of; warnings that are alike behind one that stands for all.
import { framesOf, grouped, type Warning } from '../lib/warnings.ts';
import { Chip } from '../ui/bits.tsx';

export function WarningList({ warnings }: { warnings: Warning[] }) {
  return (
    <ul class="warnings">
      {grouped(warnings).map((group, i) => (
        <li key={i}>
          <Chip kind="warning" text={group[0]!.kind.replace(/_/g, ' ')} /> {group[0]!.text}
          {group.length > 1 && <Alike group={group} />}
        </li>
      ))}
    </ul>
  );
}

function Alike({ group }: { group: Warning[] }) {
  const frames = framesOf(group);
  return (
    <details>
      <summary>{group.length} warnings like this{frames && `, ${frames}`}</summary>
      <ul>{group.map((warning, i) => <li key={i}>{warning.text}</li>)}</ul>
    </details>
  );
}
