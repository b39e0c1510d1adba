// What the page knows of the server, kept fresh by events.
import type { Api } from '../api/client.ts';
import { Connection, type Link } from '../api/connection.ts';
import type { ServerEvent } from '../api/event_parser.ts';
import { type Job, type JobPage, type Role, type Session, type Status, isActive } from '../api/types.ts';
import { brokenText, endedText } from '../lib/announcements.ts';
import { type Clock, wallClock } from '../lib/clock.ts';
import { isLate } from '../lib/format.ts';
import { rememberSignedIn, wasSignedIn } from '../lib/signed_in.ts';
import { doubtsOf } from '../lib/warnings.ts';

const RANK: Record<Role, number> = { viewer: 0, console: 1, operator: 2, administrator: 3 };
// Ended jobs that are kept besides the active ones; older ones are on the page of jobs.
const ENDED_KEPT = 50;
// Screens are drawn anew at most this often: 50 rooms send hundreds of events a second. What comes for the first time is waited
// for, and drawn at once.
const CALM_MS = 200;
// So many of them stay in the page; a screen reader says what is added.
const ANNOUNCEMENTS_KEPT = 5;

// After so long without a frame nobody sends any more, or the arm stands.
const STALLED_MS = 3_000;
const MOST_JOBS_KNOWN = 1_000;
// For jobs, when the answer did not come.
const ASK_AGAIN_MS = 2_000;
const JOBS_AGAIN_MS = 1_000;

export class Store {
  private lastFrames = new Map<string, { received: number; at: number }>();
  session: Session | null = null;
  link: Link = { kind: 'connecting' };
  status: Status | null = null;
  jobs = new Map<string, Job>();
  // Whether the jobs that there are have been told to who is signed in: before that, none are not no jobs.
  knowsJobs = false;
  // Jobs that were deleted while the page was looking.
  readonly removed = new Set<string>();
  // What is said of jobs that ended and of orders that were taken while the page was looking, the latest last; failures, and volumes that may be wrong, at once.
  announcements: { id: number; text: string; failure: boolean }[] = [];
  // Whether the server ended the session, rather than the user.
  sessionEnded = false;
  // Nobody knows yet who is signed in, and nothing tells against it: screens and events are asked for beside the session, as each
  // question that waits for another's answer delays the first rows.
  expected = wasSignedIn();
  // Counts reconnections and changes that the user made: whoever asked for something asks again.
  epoch = 0;
  // Counts what events have told, but for the time.
  news = 0;
  // Milliseconds to add to this machine's clock to have the server's.
  private skewMs = 0;
  private readonly connection: Connection;
  private readonly listeners = new Set<() => void>();
  private lastNotice = -Infinity;
  private noticePending = false;
  private said = 0;
  // The session is being asked for: what is refused meanwhile says no more than its answer will.
  private asking = false;
  // Of requests for jobs the last that was made, and the last that was taken.
  private jobsAsked = 0;
  private jobsTaken = 0;
  // By job, the question after which an event told of it.
  private toldAfter = new Map<string, number>();
  // The event stream has begun once.
  private greeted = false;
  // Somebody is signed in, or may be, and looks at this tab: then it follows events. Browsers open six connections to one server over
  // HTTP/1.1, for all tabs together.
  private wanted = false;
  private visible = true;

  // `events`: where the event stream comes from, when it is not this page's own.
  constructor(readonly api: Api, private readonly clock: Clock = wallClock, events: Api['events'] = (id, signal) => api.events(id, signal)) {
    this.connection = new Connection(
      { events, poll: () => this.load() },
      clock,
      (event) => this.take(event),
      (link) => this.takeLink(link),
    );
    api.onSignedOut = () => this.expired();
  }

  async begin(): Promise<void> {
    if (this.asking) return;
    this.asking = true;
    if (this.expected) {
      this.connect();
      this.loadJobsEarly();
    }
    try {
      this.takeSession(await this.api.session());
      if (this.session?.signed_in && this.jobsAsked === 0) this.loadJobsEarly();
    } catch {
      // The connection says what is wrong, and asks again.
      this.connect();
    }
    this.asking = false;
  }

  takeSession(session: Session): void {
    this.session = session;
    this.expected = session.signed_in;
    rememberSignedIn(session.signed_in);
    if (session.signed_in) {
      this.sessionEnded = false;
      this.connect();
    } else {
      this.disconnect();
    }
    this.changed(true);
  }

  async signOut(): Promise<void> {
    await this.api.signOut();
    this.signedOut();
  }

  retryNow(): void {
    this.connection.retryNow();
  }

  // A tab that nobody sees gives its event stream back. Seen again, it asks for what its screens show, and events tell what came since.
  setVisible(visible: boolean): void {
    if (visible === this.visible) return;
    this.visible = visible;
    if (!visible) {
      this.connection.stop();
      return;
    }
    if (!this.wanted) return;
    this.connection.start();
    this.epoch += 1;
    this.changed(true);
  }

  // True where the role of who is signed in suffices; the server decides for itself.
  may(role: Role): boolean {
    const own = this.session?.role;
    return !!own && RANK[own] >= RANK[role];
  }

  get gone(): boolean {
    return this.link.kind === 'gone';
  }

  // The server's time; stands still while the server is gone, as all that is shown does.
  now(): number {
    return (this.link.kind === 'gone' ? this.link.since : this.clock.now()) + this.skewMs;
  }

  active(): Job[] {
    return [...this.jobs.values()].filter(isActive);
  }

  ended(): Job[] {
    return [...this.jobs.values()].filter((job) => !isActive(job)).sort(newestFirst);
  }

  // After the user changed something.
  refresh(): void {
    this.epoch += 1;
    this.changed(true);
    void this.load().catch(() => this.needJobs());
  }

  // Said by screen readers, seen by nobody: of what is seen where it happens.
  say(text: string, failure = false): void {
    this.said += 1;
    this.announcements = [...this.announcements, { id: this.said, text, failure }].slice(-ANNOUNCEMENTS_KEPT);
    this.changed();
  }

  takeStatus(status: Status): void {
    const first = this.status === null;
    this.status = status;
    this.takeTime(status.server_time);
    this.changed(first);
  }

  takeJob(job: Job): void {
    this.announce(job);
    this.jobs.set(job.job_id, job);
    this.toldAfter.set(job.job_id, this.jobsAsked);
    this.trim();
    this.changed();
  }

  // Whether a scan's frames have stopped coming: it is late, and as many are there as some seconds ago.
  isStalled(job: Job): boolean {
    const received = job.progress.frames_received;
    const now = this.clock.now();
    const known = this.lastFrames.get(job.job_id);
    if (known?.received !== received) {
      if (this.lastFrames.size > MOST_JOBS_KNOWN) this.lastFrames.clear();
      this.lastFrames.set(job.job_id, { received, at: now });
      return false;
    }
    return now - known.at > STALLED_MS && isLate(job, this.now());
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private connect(): void {
    this.wanted = true;
    if (this.visible) this.connection.start();
  }

  private disconnect(): void {
    this.wanted = false;
    this.connection.stop();
  }

  private async load(): Promise<void> {
    if (this.session === null) this.takeSession(await this.api.session());
    const [status] = await Promise.all([this.api.get<Status>('status'), this.loadJobs()]);
    this.takeStatus(status);
  }

  // Beside the event stream, whose beginning asks for them where this fails.
  private loadJobsEarly(): void {
    void this.loadJobs().catch(() => {});
  }

  // Events tell what changes; what is there already has to be had once, however often a busy server does not answer.
  private needJobs(): void {
    const mine = this.jobsAsked + 1;
    void this.loadJobs().catch(() => {
      this.clock.after(ASK_AGAIN_MS, () => {
        if (this.jobsTaken < mine) this.needJobs();
      });
    });
  }

  private async loadJobs(): Promise<void> {
    this.jobsAsked += 1;
    const mine = this.jobsAsked;
    const [active, recent] = await Promise.all([
      this.api.get<JobPage>('jobs', { state: 'active', page_size: 1000 }),
      this.api.get<JobPage>('jobs', { page_size: ENDED_KEPT }),
    ]);
    if (mine < this.jobsTaken) return;
    const first = !this.knowsJobs;
    this.knowsJobs = true;
    this.jobsTaken = mine;
    // What events have told since the question is newer than its answer.
    const told = [...this.jobs.values()].filter((job) => (this.toldAfter.get(job.job_id) ?? 0) >= mine);
    // Those that are at work are in both answers.
    const jobs = new Map([...recent.jobs, ...active.jobs, ...told].map((job) => [job.job_id, job]));
    for (const job of jobs.values()) this.announce(job);
    this.jobs = jobs;
    this.toldAfter = new Map([...this.toldAfter].filter(([id]) => this.jobs.has(id)));
    this.changed(first);
  }

  private announce(job: Job): void {
    const before = this.jobs.get(job.job_id);
    const ended = endedText(before, job);
    if (ended) this.say(ended, job.state === 'failed' || doubtsOf(job) !== '');
    const broken = brokenText(before, job);
    if (broken) this.say(broken, true);
  }

  private take(event: ServerEvent): void {
    const data: unknown = JSON.parse(event.data);
    if (event.event !== 'heartbeat') this.news += 1;
    switch (event.event) {
      case 'hello': {
        const hello = data as { resumed: boolean; status: Status };
        this.takeStatus(hello.status);
        if (!hello.resumed && this.greeted) this.refresh();
        // What screens asked for when the page was opened is as new as this: only the jobs are missing. Those that were asked for beside
        // the events are asked for once more, as what changed between is told by neither, when the first screen is there.
        if (!hello.resumed && !this.greeted) this.clock.after(this.jobsAsked > 0 ? JOBS_AGAIN_MS : 0, () => this.needJobs());
        this.greeted = true;
        break;
      }
      case 'job':
        this.takeJob(data as Job);
        break;
      case 'job_removed':
        this.removed.add((data as { job_id: string }).job_id);
        this.jobs.delete((data as { job_id: string }).job_id);
        this.changed();
        break;
      case 'status':
        this.takeStatus(data as Status);
        break;
      case 'heartbeat':
        this.takeTime((data as { server_time: string }).server_time);
        break;
    }
  }

  private takeTime(text: string): void {
    const at = Date.parse(text);
    // Answers take some time to arrive, so small differences say nothing.
    if (!Number.isNaN(at) && Math.abs(at - this.now()) > 1000) this.skewMs = at - this.clock.now();
  }

  private takeLink(link: Link): void {
    const was = this.link.kind;
    this.link = link;
    if (link.kind === 'signed-out') this.expired();
    if ((link.kind === 'live' || link.kind === 'polling') && was === 'gone') this.epoch += 1;
    this.changed(true);
  }

  private expired(): void {
    if (this.asking) return;
    if (this.session?.signed_in) this.sessionEnded = true;
    this.signedOut();
  }

  private signedOut(): void {
    if (this.session?.signed_in === false) return;
    this.disconnect();
    this.session = null;
    this.expected = false;
    // Of who was signed in, what is still on its way is not taken.
    this.jobsTaken = this.jobsAsked + 1;
    this.jobs.clear();
    this.knowsJobs = false;
    this.announcements = [];
    this.status = null;
    this.link = { kind: 'connecting' };
    this.changed(true);
    void this.begin();
  }

  private trim(): void {
    const ended = this.ended();
    for (const job of ended.slice(ENDED_KEPT)) this.jobs.delete(job.job_id);
  }

  private changed(atOnce = false): void {
    if (this.noticePending && !atOnce) return;
    const wait = atOnce ? 0 : Math.max(0, this.lastNotice + CALM_MS - this.clock.now());
    if (wait === 0) {
      this.notify();
      return;
    }
    this.noticePending = true;
    this.clock.after(wait, () => {
      this.noticePending = false;
      this.notify();
    });
  }

  private notify(): void {
    this.lastNotice = this.clock.now();
    for (const listener of this.listeners) listener();
  }
}

function newestFirst(a: Job, b: Job): number {
  return a.create_time < b.create_time ? 1 : a.create_time > b.create_time ? -1 : 0;
}
