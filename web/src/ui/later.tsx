// A part of the page that is fetched when it is shown first, so that the overview need not wait for viewers and plots to be read.
import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

export interface Later<P> {
  (props: P): JSX.Element;
  // While there is nothing else to do, so that nobody waits later. It may fail: whoever shows the part asks again.
  prefetch: () => void;
}

export function later<P extends object>(load: () => Promise<ComponentType<P>>): Later<P> {
  let known: ComponentType<P> | null = null;
  const fetched = () => load().then((part) => { known = part; });
  function Part(props: P) {
    const [state, setState] = useState<'asked' | 'there' | 'failed'>('asked');
    useEffect(() => {
      // It may have come since this was drawn.
      if (known) setState('there');
      else fetched().then(() => setState('there'), () => setState('failed'));
    }, []);
    const There = known;
    if (There) return <There {...props} />;
    // The server has another version by now, or does not answer.
    if (state === 'failed') return <p class="problem" role="alert">This part of the page could not be fetched. <button type="button" onClick={() => location.reload()}>Load the page anew</button></p>;
    return <p class="quiet">Loading</p>;
  }
  return Object.assign(Part, { prefetch: () => void fetched().catch(() => {}) });
}
