// Questions before something changes that others notice. The browser's own dialog keeps the focus inside and ends at Escape.
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { messageOf } from '../api/client.ts';
import { useStore } from '../state/hooks.ts';

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
  const gone = useStore().gone;
  useFirst(dialog);
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
        {gone && <p class="problem" role="alert">The server does not answer. “{action}” can be chosen when it is back.</p>}
        {error && <p class="problem" role="alert">{error}</p>}
        <div class="actions">
          <button type="button" onClick={onClose}>Back</button>
          <button type="submit" class={dangerous ? 'danger' : 'primary'} disabled={busy || impossible || gone}>{busy ? 'Working' : action}</button>
        </div>
      </form>
    </dialog>
  );
}

// What is to be chosen has the focus (data-first), once it is there, rather than a word that is explained or the way back.
export function useFirst(dialog: RefObject<HTMLDialogElement | null>): void {
  const done = useRef(false);
  useEffect(() => {
    const first = dialog.current?.querySelector<HTMLElement>('[data-first]');
    if (done.current || !first) return;
    done.current = true;
    first.focus();
  });
}

// A dialog that is open as long as it is shown.
export function useModal() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current!;
    const opener = document.activeElement as HTMLElement | null;
    element.showModal();
    // The element is taken out of the page rather than closed, so that the browser does not give the focus back.
    return () => {
      element.close();
      if (opener?.isConnected) opener.focus({ preventScroll: true });
    };
  }, []);
  return dialog;
}
