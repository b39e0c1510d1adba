// What the pipeline warned of; warnings that are alike behind one that stands for all.
import { ADVICE } from '../lib/advice.ts';
import { words } from '../lib/format.ts';
import { framesOf, grouped, ofTheVolume, type Warning } from '../lib/warnings.ts';
import { placeOfDoubt } from '../lib/docs.ts';
import { Chip } from '../ui/bits.tsx';
import { DocsAt } from '../ui/docs_link.tsx';

export function WarningList({ warnings }: { warnings: Warning[] }) {
  if (warnings.length === 0) return null;
  return (
    <ul class="warnings">
      {grouped(warnings).map((group, i) => (
        <li key={i}>
          <Chip kind="warning" text={words(group[0]!.kind)} /> {group[0]!.text}
          {group.length > 1 && <Alike group={group} />}
        </li>
      ))}
    </ul>
  );
}

// Who looks at an image, or hands it on, should not have to look elsewhere for why it may be wrong, nor be a physicist to know whether to
// expose the patient again. What was measured is for who asks.
export function Doubts({ warnings }: { warnings: Warning[] }) {
  const doubts = ofTheVolume(warnings);
  if (doubts.length === 0) return null;
  const kinds = [...new Set(doubts.map(({ kind }) => kind))];
  return (
    <section class="problem doubts" aria-label="Why this volume may be wrong">
      <strong>This volume may be wrong.</strong>
      <ul class="warnings">{kinds.map((kind) => <li key={kind}><Chip kind="doubtful" text={words(kind)} /> <Advised kind={kind} /> <DocsAt place={placeOfDoubt(kind)} /></li>)}</ul>
      <details><summary>What was measured</summary><WarningList warnings={doubts} /></details>
    </section>
  );
}

function Advised({ kind }: { kind: string }) {
  const { meaning, again } = ADVICE[kind]!;
  return <>{meaning} <b>{again}</b></>;
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
