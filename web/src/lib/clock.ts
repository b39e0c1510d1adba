// Time, so that tests can move it.
export interface Clock {
  // Milliseconds since 1970.
  now(): number;
  // Calls once, later; returns what cancels the call.
  after(ms: number, call: () => void): () => void;
}

export const wallClock: Clock = {
  now: () => Date.now(),
  after(ms, call) {
    const id = setTimeout(call, ms);
    return () => clearTimeout(id);
  },
};
