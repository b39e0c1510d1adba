// Takes a text to the clipboard; where the browser has none (plain HTTP from elsewhere), there is no button.
import { useState } from 'preact/hooks';

export function CopyButton({ text }: { text: string }) {
  const [said, setSaid] = useState('');
  if (!('clipboard' in navigator)) return null;
  const copy = () => navigator.clipboard.writeText(text).then(() => setSaid('Copied'), () => setSaid('The browser does not allow it'));
  return <><button type="button" class="small" onClick={() => void copy()}>Copy</button> <span class="quiet" role="status">{said}</span></>;
}
