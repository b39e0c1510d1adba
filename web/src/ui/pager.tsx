// From page to page of a list; nothing where all of it is on one. `next`: undefined until it is known.
export function Pager({ before, next, go }: { before: string[]; next: string | null | undefined; go: (before: string[]) => void }) {
  if (before.length === 0 && next === null) return null;
  return (
    <footer class="actions">
      <button type="button" disabled={before.length === 0} onClick={() => go(before.slice(0, -1))}>Newer</button>
      <button type="button" disabled={!next} onClick={() => next && go([...before, next])}>Older</button>
    </footer>
  );
}
