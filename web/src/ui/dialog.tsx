// Questions before something changes that others notice. The browser's own dialog keeps the focus inside and ends at Escape.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { messageOf } from '../api/client.ts';

interface Props {
  title: string;
  // What happens, on the button.
  action: string;
  dangerous?: boolean;
  // There is nothing to do yet.
  impossible?: boolean;
  children: ComponentChildren;
  // Does it; the dialog stays, with the reason, when this fails.
  onConfirm: () => Promise<void>;
  onClose: () => void;
}

export function Confirm({ title, action, dangerous, impossible, children, onConfirm, onClose }: Props) {
  const dialog = useModal();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const confirm = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
      onClose();
    } catch (problem) {
      setError(messageOf(problem));
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={onClose}>
      <form onSubmit={confirm}>
        <h2 id="dialog-title">{title}</h2>
        {children}
        {error && <p class="problem" role="alert">{error}</p>}
        <div class="actions">
          <button type="button" onClick={onClose}>Back</button>
          <button type="submit" class={dangerous ? 'danger' : 'primary'} disabled={busy || impossible}>{busy ? 'Working' : action}</button>
        </div>
      </form>
    </dialog>
  );
}

// A dialog that is open as long as it is shown.
export function useModal() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current!;
    element.showModal();
    return () => element.close();
  }, []);
  return dialog;
}
