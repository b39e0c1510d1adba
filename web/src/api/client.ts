// Calls of the server's JSON interface.
import type { Session } from './types.ts';

// What an answer other than 2xx said, or that there was none (status 0).
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly retryAfterSeconds: number | null = null,
  ) {
    super(message);
    this.name = 'ApiError';
  }
}

export type Fetch = (input: string, init?: RequestInit) => Promise<Response>;
export type Query = Record<string, string | number | undefined>;

// An answer that takes longer than this counts as none.
const TIMEOUT_MS = 15_000;
const LONG_TIMEOUT_MS = 120_000;
const BASE = 'api/v1/';

function address(path: string, query?: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== '') parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return BASE + path + (text ? `?${text}` : '');
}

export class Api {
  // Changing calls carry it; null while signed out.
  private csrfToken: string | null = null;
  // Called when the server says that the session has ended.
  onSignedOut: () => void = () => {};

  constructor(private readonly fetch: Fetch) {}

  get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
    return this.json<T>('GET', path, query, undefined, signal);
  }

  post<T>(path: string, body?: unknown): Promise<T> {
    return this.json<T>('POST', path, undefined, body);
  }

  async remove(path: string): Promise<void> {
    await this.call('DELETE', path);
  }

  async session(): Promise<Session> {
    return this.taken(await this.get<Session>('session'));
  }

  async signIn(token: string): Promise<Session> {
    return this.taken(await this.json<Session>('POST', 'session', undefined, { token }));
  }

  async signOut(): Promise<void> {
    await this.remove('session');
    this.csrfToken = null;
  }

  // One plane of int16 samples. Rejects where the answer is not columns * rows of them.
  async slice(path: string, query: Query, signal?: AbortSignal): Promise<{ columns: number; rows: number; samples: Int16Array }> {
    const response = await this.call('GET', path, query, undefined, signal);
    const columns = Number(response.headers.get('X-Isocenter-Columns'));
    const rows = Number(response.headers.get('X-Isocenter-Rows'));
    const bytes = await response.arrayBuffer();
    if (!(columns > 0 && rows > 0 && bytes.byteLength === columns * rows * 2)) {
      throw new ApiError(response.status, 'DATA_LOSS',
        `a plane of ${columns} x ${rows} samples has ${bytes.byteLength} bytes, not ${columns * rows * 2}`);
    }
    // Browsers run on little-endian machines only, as typed arrays are read by many pages.
    return { columns, rows, samples: new Int16Array(bytes) };
  }

  // As many int16 samples as the answer says that there are along three axes: megabytes, that may take a while.
  async samples(path: string, signal?: AbortSignal): Promise<Int16Array> {
    const response = await this.call('GET', path, undefined, undefined, signal, LONG_TIMEOUT_MS);
    const bytes = await response.arrayBuffer();
    const wanted = ['Columns', 'Rows', 'Slices'].reduce((n, name) => n * Number(response.headers.get(`X-Isocenter-${name}`)), 2);
    if (!(wanted > 0 && bytes.byteLength === wanted)) {
      throw new ApiError(response.status, 'DATA_LOSS', `the volume has ${bytes.byteLength} bytes, not ${wanted}`);
    }
    return new Int16Array(bytes);
  }

  // The event stream's answer; its body is read by the caller, for as long as it likes.
  events(lastEventId: string | null, signal: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = { Accept: 'text/event-stream' };
    if (lastEventId !== null) headers['Last-Event-ID'] = lastEventId;
    return this.fetch(address('events'), { headers, signal, cache: 'no-store' });
  }

  private taken(session: Session): Session {
    this.csrfToken = session.csrf_token;
    return session;
  }

  private async json<T>(method: string, path: string, query?: Query, body?: unknown, signal?: AbortSignal): Promise<T> {
    const response = await this.call(method, path, query, body, signal);
    return (await response.json()) as T;
  }

  private async call(method: string, path: string, query?: Query, body?: unknown, signal?: AbortSignal, longest = TIMEOUT_MS): Promise<Response> {
    const used = this.csrfToken;
    let response = await this.answer(method, path, query, body, signal, longest);
    // It was refused before it did anything, so that it may be asked once more where the token was another server's.
    if (response.status === 403 && method !== 'GET' && await this.hasAnotherToken(used)) {
      response = await this.answer(method, path, query, body, signal, longest);
    }
    if (response.ok) return response;
    const failure = await failureOf(response);
    if (response.status === 401 && path !== 'session') this.onSignedOut();
    throw failure;
  }

  // A service that was started anew has other tokens, also for who need not sign in. False too where it does not say.
  private async hasAnotherToken(used: string | null): Promise<boolean> {
    try {
      const { csrf_token: token } = await this.session();
      return token !== null && token !== used;
    } catch {
      return false;
    }
  }

  private async answer(method: string, path: string, query: Query | undefined, body: unknown, signal: AbortSignal | undefined, longest: number): Promise<Response> {
    const headers: Record<string, string> = {};
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    if (method !== 'GET' && this.csrfToken !== null) headers['X-CSRF-Token'] = this.csrfToken;
    const late = AbortSignal.timeout(longest);
    const init: RequestInit = { method, headers, signal: signal ? eitherOf(signal, late) : late };
    if (body !== undefined) init.body = JSON.stringify(body);
    try {
      return await this.fetch(address(path, query), init);
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new ApiError(0, 'UNAVAILABLE', late.aborted ? 'the server did not answer in time' : 'the server cannot be reached');
    }
  }
}

async function failureOf(response: Response): Promise<ApiError> {
  const wait = Number(response.headers.get('Retry-After') ?? NaN);
  let code = 'UNKNOWN';
  let message = `the server answered with HTTP status ${response.status}`;
  try {
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    ({ code, message } = error);
  } catch {
    // A proxy's page, say: the status is all that is known.
  }
  return new ApiError(response.status, code, message, Number.isFinite(wait) ? wait : null);
}

// AbortSignal.any, which browsers of 2023 lack.
function eitherOf(first: AbortSignal, second: AbortSignal): AbortSignal {
  const both = new AbortController();
  for (const signal of [first, second]) {
    if (signal.aborted) both.abort(signal.reason);
    signal.addEventListener('abort', () => both.abort(signal.reason), { once: true });
  }
  return both.signal;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
