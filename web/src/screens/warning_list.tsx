// What the pipeline warned of; warnings that are alike behind one that stands for all.
import { framesOf, grouped, ofTheVolume, type Warning } from '../lib/warnings.ts';
import { placeOfDoubt } from '../lib/docs.ts';
import { Chip } from '../ui/bits.tsx';
import { DocsAt } from '../ui/docs_link.tsx';

// `cures`: with a way to what to do about each.
export function WarningList({ warnings, cures = false }: { warnings: Warning[]; cures?: boolean }) {
  if (warnings.length === 0) return null;
  return (
    <ul class="warnings">
      {grouped(warnings).map((group, i) => (
        <li key={i}>
          <Chip kind="warning" text={group[0]!.kind.replace(/_/g, ' ')} /> {group[0]!.text}{cures && <> <DocsAt place={placeOfDoubt(group[0]!.kind)} /></>}
          {group.length > 1 && <Alike group={group} />}
        </li>
      ))}
    </ul>
  );
}

// Who looks at an image, or hands it on, should not have to look elsewhere for why it may be wrong.
export function Doubts({ warnings }: { warnings: Warning[] }) {
  const doubts = ofTheVolume(warnings);
  if (doubts.length === 0) return null;
  return (
    <section class="notice doubts" aria-label="Why this volume may be wrong">
      <strong>This volume may be wrong.</strong>
      <WarningList warnings={doubts} cures />
    </section>
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
