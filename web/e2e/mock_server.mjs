// A server that speaks docs/web-api.md with invented data, so that the page can be tested in a browser without isocenterd.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as fixtures from './fixtures.mjs';
import { MockVolumes, previewOf } from './mock_volumes.mjs';
import { calibrations, qualityResults } from './quality_fixtures.mjs';
import { Refusal } from './refusal.mjs';

const DIST = fileURLToPath(new URL('../dist', import.meta.url));
const TYPES = { html: 'text/html; charset=utf-8', js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml', txt: 'text/plain; charset=utf-8' };
const HEADERS = {
  'Content-Security-Policy': "default-src 'self'; img-src 'self' data: blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'",
  'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer', 'X-Frame-Options': 'DENY',
  'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Resource-Policy': 'same-origin',
};
const ROLES = ['viewer', 'console', 'operator', 'administrator'];

export class MockServer {
  // `tokens`: token -> role; empty: whoever comes is operator. `provider`: the name of an identity provider that lets everybody in at once.
  constructor({ tokens = {}, provider = null } = {}) {
    this.tokens = tokens;
    this.provider = provider;
    this.sessions = new Map();
    // Another after a restart.
    this.csrfToken = 'c5rf';
    // Who signs in by token.
    this.person = 'ward 3';
    const now = Date.now();
    this.startTime = now - 12_605_000;
    this.jobs = new Map(fixtures.jobs(now).map((job) => [job.job_id, job]));
    this.transfers = fixtures.transfers(now);
    this.devices = fixtures.devices();
    // One node, until a scenario has more.
    this.nodes = fixtures.nodes().slice(0, 1);
    this.destinations = ['PACS', 'WORKSTATION', 'CLOUD'];
    this.history = fixtures.history;
    this.draining = null;
    this.queueChunks = 7;
    this.streams = new Set();
    // How often each kind of thing was asked for, and what was asked to change.
    this.requests = { slices: 0, sliceBytes: 0, events: 0, levels: 0 };
    this.changes = [];
    this.orders = [];
    // Jobs of which nothing is stored; how long the order to send one takes.
    this.refusedSends = new Set();
    this.sendMs = 0;
    // Set: nothing can be refined any more.
    this.framesGone = false;
    this.pauses = fixtures.pauses(now);
    this.quality = qualityResults(now);
    this.calibrations = calibrations(now);
    // Set: the page may start scans.
    this.simulatedScans = false;
    this.addresses = {
      grpc: { address: '127.0.0.1:50061', tls: false, client_certificates: false },
      dicom: { ae_title: 'RECON2', host: '0.0.0.0', port: 11113, tls_port: null },
    };
    // Set: events are held back, as some proxies do.
    this.holdEvents = false;
    this.eventId = 0;
    this.volumes = new MockVolumes();
    this.detailOver = {};
  }

  async start(port = 0) {
    this.server = createServer((request, response) => void this.answer(request, response));
    await new Promise((resolve) => this.server.listen(port, '127.0.0.1', resolve));
    this.port = this.server.address().port;
    this.heart = setInterval(() => this.send('heartbeat', { server_time: this.status().server_time }), 1000);
    return `http://127.0.0.1:${this.port}/`;
  }

  async stop() {
    clearInterval(this.heart);
    for (const stream of this.streams) stream.destroy();
    this.streams.clear();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  // As the server does when they are too old: who listens is cut off.
  endSessions() {
    this.sessions.clear();
    for (const stream of this.streams) stream.end();
  }

  status() {
    const all = [...this.jobs.values()];
    const states = ['receiving', 'reconstructing', 'refining', 'exporting', 'completed', 'failed', 'cancelled'];
    const reasons = [];
    if (this.draining) reasons.push({ component: 'admission', message: `the node is drained: ${this.draining.reason}; resume it to accept acquisitions` });
    return {
      server: 'ct-node-1', version: '0.1.0', backend: 'cuda', server_time: new Date().toISOString(),
      start_time: new Date(this.startTime).toISOString(), uptime_seconds: (Date.now() - this.startTime) / 1000,
      ready: reasons.length === 0, reasons, draining: this.draining, active_jobs: this.active().length, max_active_jobs: 16, queue_chunks: this.queueChunks,
      jobs: Object.fromEntries(states.map((state) => [state, all.filter((j) => j.state === state).length])),
      spool: { capacity_bytes: 500e9, used_bytes: 81e9, reclaimable_bytes: 60e9, last_sync_seconds: 0.0042 },
      transfers_enabled: this.destinations.length > 0, simulated_scans_enabled: this.simulatedScans,
      addresses: this.addresses,
    };
  }

  active() {
    return [...this.jobs.values()].filter((j) => !['completed', 'failed', 'cancelled'].includes(j.state));
  }

  // Changes a job and tells those who listen.
  change(jobId, over) {
    const before = this.jobs.get(jobId);
    const job = { ...before, ...over, progress: { ...before.progress, ...over.progress } };
    this.jobs.set(jobId, job);
    this.send('job', job);
    return job;
  }

  send(event, data) {
    this.eventId += 1;
    if (this.holdEvents) return;
    for (const stream of this.streams) stream.write(`id: m-${this.eventId}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  async answer(request, response) {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    const url = new URL(request.url, 'http://mock');
    try {
      if (!url.pathname.startsWith('/api/v1/')) await this.file(url.pathname, response);
      else await this.api(request, url, response);
    } catch (error) {
      const status = error.status ?? 500;
      response.writeHead(status, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ error: { code: error.code ?? 'INTERNAL', message: error.message } }));
    }
  }

  async file(path, response) {
    const name = (path.endsWith('/') ? `${path}index.html` : normalize(path)).replace(/^\/+/, '');
    try {
      const body = await readFile(join(DIST, name));
      response.writeHead(200, { 'Content-Type': TYPES[name.split('.').pop()] ?? 'application/octet-stream', 'Cache-Control': 'no-cache' });
      response.end(body);
    } catch {
      throw new Refusal(404, 'NOT_FOUND', `there is no page '${path}'`);
    }
  }

  session(request) {
    if (Object.keys(this.tokens).length === 0 && !this.provider) return { name: 'loopback', role: 'operator', via: 'loopback', csrf_token: this.csrfToken, expires_time: null };
    const id = /isocenter_session=(\w+)/.exec(request.headers.cookie ?? '')?.[1];
    return this.sessions.get(id) ?? null;
  }

  // Its cookie.
  newSession(name, role, via) {
    const id = `s${this.sessions.size + 1}`;
    this.sessions.set(id, { name, role, via, csrf_token: this.csrfToken, expires_time: new Date(Date.now() + 43_200_000).toISOString() });
    return `isocenter_session=${id}; HttpOnly; SameSite=Strict; Path=/`;
  }

  sessionBody(session) {
    const sign_in = Object.keys(this.tokens).length > 0 ? 'token' : null;
    const ways = { sign_in, provider: this.provider };
    if (session) return { signed_in: true, ...session, ...ways };
    return { signed_in: false, name: null, role: null, via: null, csrf_token: null, expires_time: null, ...ways };
  }

  async api(request, url, response) {
    const path = url.pathname.slice('/api/v1/'.length);
    const session = this.session(request);
    const json = (body, status = 200) => {
      response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
      response.end(JSON.stringify(body));
    };
    if (path === 'session' && request.method === 'GET') return json(this.sessionBody(session));
    if (path === 'session/provider') {
      response.setHeader('Set-Cookie', this.newSession('Jane', 'operator', 'provider'));
      response.writeHead(302, { Location: '../../../' });
      response.end();
      return undefined;
    }
    const body = request.method === 'GET' ? null : JSON.parse((await textOf(request)) || '{}');
    if (path === 'session' && request.method === 'POST') {
      const role = this.tokens[body.token];
      if (!role) throw new Refusal(401, 'UNAUTHENTICATED', 'this token is not known');
      response.setHeader('Set-Cookie', this.newSession(this.person, role, 'token'));
      return json(this.sessionBody([...this.sessions.values()].at(-1)));
    }
    if (!session) throw new Refusal(401, 'UNAUTHENTICATED', 'sign in first');
    if (request.method !== 'GET') {
      if (request.headers['x-csrf-token'] !== session.csrf_token) throw new Refusal(403, 'PERMISSION_DENIED', 'the CSRF token is missing or wrong');
      return this.write(request, path, body, session, json, response);
    }
    return this.read(path, url.searchParams, json, response);
  }

  write(request, path, body, session, json, response) {
    const needs = (role) => {
      if (ROLES.indexOf(session.role) < ROLES.indexOf(role)) throw new Refusal(403, 'PERMISSION_DENIED', `this needs the role ${role}`);
    };
    this.changes.push(`${request.method} ${path}`);
    if (path === 'session') {
      this.sessions.clear();
      response.writeHead(204);
      response.end();
      return undefined;
    }
    needs(/:(cancel|refine)$|^simulations$/.test(path) ? 'console' : 'operator');
    if (path === 'simulations') return json(this.simulate());
    if (path === 'node:drain') this.draining ??= { since: new Date().toISOString(), reason: body.reason ?? '', by: session.name };
    if (path === 'node:resume') this.draining = null;
    if (path.startsWith('node:')) {
      this.send('status', this.status());
      return json(this.status());
    }
    const [, orderedId, order] = /^jobs\/(.+):(send|refine)$/.exec(path) ?? [];
    if (orderedId) {
      const answered = () => json(this.order(decodeURIComponent(orderedId), order, body));
      return order === 'send' && this.sendMs > 0 ? new Promise((resolve) => { setTimeout(() => resolve(answered()), this.sendMs); }) : answered();
    }
    const [, jobId] = /^jobs\/(.+):cancel$/.exec(path) ?? [];
    if (jobId) {
      if (!this.active().some((j) => j.job_id === jobId)) throw new Refusal(409, 'FAILED_PRECONDITION', 'the job has ended');
      return json(this.change(jobId, { state: 'cancelled', end_time: new Date().toISOString(), error: { code: 'CANCELLED', message: 'cancelled by ward 3' } }));
    }
    if (request.method === 'DELETE' && this.jobs.has(path.slice('jobs/'.length))) {
      needs('administrator');
      const job_id = path.slice('jobs/'.length);
      this.jobs.delete(job_id);
      this.send('job_removed', { job_id });
      response.writeHead(204);
      response.end();
      return undefined;
    }
    if (path === 'transfers:try_now') return json({ instance_count: this.tryNow(body.destination) });
    if (path === 'transfers:retry') return json({ instance_count: this.retry(body) });
    throw new Refusal(404, 'NOT_FOUND', `there is no ${path}`);
  }

  read(path, query, json, response) {
    const parts = path.split('/');
    if (path === 'events') return this.listen(response);
    if (path === 'status') return json(this.status());
    if (path === 'cluster') return json({ nodes: this.nodes });
    if (path === 'devices') return json({ devices: this.devices });
    if (path === 'queue') return json({ queue_chunks: this.queueChunks, active_jobs: this.active().length, max_active_jobs: 16, jobs: this.active() });
    if (path === 'rooms') return json({ rooms: this.rooms() });
    if (path === 'history') return json(this.history(Number(query.get('seconds')), Number(query.get('points'))));
    if (path === 'transfers') return json(this.transferPage(query));
    if (path === 'jobs') return json(this.jobPage(query));
    if (path === 'filters') return json(this.filters());
    if (path === 'quality') return json({ results: this.qualityOf(query), truncated: false });
    if (path === 'calibrations') return json({ calibrations: this.calibrations, truncated: false });
    if (path === 'refinements') return json({ refinements: fixtures.REFINEMENTS });
    const job = this.jobs.get(decodeURIComponent(parts[1] ?? ''));
    if (parts[0] !== 'jobs' || !job) throw new Refusal(404, 'NOT_FOUND', `there is no job '${parts[1]}'`);
    if (parts.length === 2) return json({ ...fixtures.detail(job), ...this.detailOver });
    if (parts[2] === 'download') return this.download(job, query.get('format'), response);
    if (parts[2] === 'trace') return json(fixtures.trace());
    if (parts[2] === 'preview') return json(previewOf(job));
    if (parts[2] === 'volume') return json(this.volumes.describe(job));
    if (parts[2] === 'levels') return this.level(job, Number(parts[3]), response);
    if (parts[2] === 'slices') return this.slice(job, parts[3], Number(parts[4]), Number(query.get('level') ?? 0), response);
    throw new Refusal(404, 'NOT_FOUND', `there is no ${path}`);
  }

  listen(response) {
    this.requests.events += 1;
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
    response.flushHeaders();
    this.streams.add(response);
    response.on('close', () => this.streams.delete(response));
    if (!this.holdEvents) response.write(`id: m-${this.eventId}\nevent: hello\ndata: ${JSON.stringify({ resumed: false, status: this.status() })}\n\n`);
  }

  rooms() {
    const names = [...new Set([...this.jobs.values()].map((j) => j.station_name).filter(Boolean))].sort();
    return names.map((station_name) => {
      const own = [...this.jobs.values()].filter((j) => j.station_name === station_name);
      const active = own.filter((j) => this.active().includes(j));
      const scanning = active.some((j) => j.state === 'receiving');
      return {
        station_name, state: scanning ? 'scanning' : active.length ? 'computing' : 'idle', active_jobs: active.length,
        frames_per_second: scanning ? 29.8 : null, last_seen_time: own[0].end_time ?? new Date().toISOString(), last_job: own[0],
        completed_24h: own.filter((j) => j.state === 'completed').length, failed_24h: own.filter((j) => j.state === 'failed').length,
      };
    });
  }

  jobPage(query) {
    let jobs = [...this.jobs.values()].sort((a, b) => (a.create_time < b.create_time ? 1 : -1));
    const state = query.get('state');
    if (state === 'active') jobs = this.active();
    else if (state) jobs = jobs.filter((j) => j.state === state);
    const text = (query.get('text') ?? '').toLowerCase();
    const has = (j) => [j.job_id, j.station_name, j.protocol, j.accession_number].some((part) => (part ?? '').toLowerCase().includes(text));
    if (text) jobs = jobs.filter(has);
    for (const name of ['station_name', 'protocol', 'accession_number']) {
      if (query.get(name)) jobs = jobs.filter((j) => j[name] === query.get(name));
    }
    const from = Number(query.get('page_token') ?? 0);
    const to = from + Number(query.get('page_size') ?? 50);
    return { jobs: jobs.slice(from, to), next_page_token: to < jobs.length ? String(to) : null };
  }

  transferPage(query) {
    const matches = (t) => ['job_id', 'destination', 'state'].every((name) => !query.get(name) || t[name] === query.get(name));
    const destinations = this.destinations.map((name) => {
      const count = (state) => this.transfers.reduce((sum, t) => sum + (t.destination === name ? t.instances[state] : 0), 0);
      return {
        name, ...fixtures.placeOf(name), queued: count('queued'), sending: count('sending'), failed: count('failed'),
        oldest_seconds: count('queued') > 0 ? 100 : null, ...(this.pauses[name] ?? { reason: null, attempts: 0, next_try_time: null }),
      };
    });
    return { enabled: this.destinations.length > 0, destinations, transfers: this.transfers.filter(matches).map((t) => this.withJob(t)), next_page_token: null };
  }

  // Of a job that is deleted nothing is known any more.
  withJob(transfer) {
    const { station_name = null, protocol = null, accession_number = null, create_time: job_create_time = null } = this.jobs.get(transfer.job_id) ?? {};
    return { ...transfer, station_name, protocol, accession_number, job_create_time };
  }

  qualityOf(query) {
    const matches = (result) => (query.get('station') ?? result.station_name) === result.station_name && (query.get('protocol') ?? result.protocol) === result.protocol;
    return this.quality.filter(matches);
  }

  filters() {
    const all = (name) => [...new Set([...this.jobs.values()].map((j) => j[name]).filter(Boolean))].sort();
    return { station_names: all('station_name'), protocols: all('protocol') };
  }

  tryNow(destination) {
    if (!this.destinations.includes(destination)) throw new Refusal(404, 'NOT_FOUND', `destination is '${destination}'; configured are: ${this.destinations.join(', ')}`);
    if (this.pauses[destination]) this.pauses[destination] = { ...this.pauses[destination], next_try_time: null };
    return this.transfers.filter((t) => t.destination === destination).reduce((sum, t) => sum + t.instances.queued, 0);
  }

  order(jobId, order, body) {
    const source = this.jobs.get(jobId);
    if (!source) throw new Refusal(404, 'NOT_FOUND', `there is no job '${jobId}'`);
    this.orders.push({ order, ...body });
    if (order === 'send' && this.refusedSends.has(jobId)) throw new Refusal(409, 'FAILED_PRECONDITION', `nothing of job '${jobId}' is stored in a form that '${body.destination}' gets`);
    if (order === 'send') return { job_id: jobId, destination: body.destination, newly_queued: body.again || body.destination !== 'WORKSTATION' ? 3 : 0 };
    if (this.framesGone) throw new Refusal(409, 'FAILED_PRECONDITION', `the frames of job '${jobId}' are kept no longer`);
    const job_id = `${jobId}-refined`;
    const made = fixtures.job({ job_id, protocol: body.protocol, state: 'refining', job_class: 'interactive', refines_job_id: jobId, source_job_ids: [jobId] });
    this.jobs.set(job_id, made);
    this.send('job', made);
    return made;
  }

  simulate() {
    if (!this.simulatedScans) throw new Refusal(409, 'FAILED_PRECONDITION', 'web.simulated_scans is false; the page may start simulated scans where it is true');
    const running = this.active().find((j) => j.station_name === 'simulator');
    if (running) throw new Refusal(409, 'FAILED_PRECONDITION', `simulated scan '${running.job_id}' is under way; legal is one at a time`);
    const made = fixtures.job({ job_id: '20260301T093100-simu0001', station_name: 'simulator', protocol: 'fdk', state: 'receiving', job_class: 'interactive', create_time: new Date().toISOString() });
    this.jobs.set(made.job_id, made);
    this.send('job', made);
    return made;
  }

  download(job, format, response) {
    const body = Buffer.alloc(4096, 1);
    response.writeHead(200, {
      'Content-Type': 'application/octet-stream', 'Content-Length': body.length,
      'Content-Disposition': `attachment; filename="${job.job_id}.${format === 'dicom' ? 'tar' : format}"`,
    });
    response.end(body);
  }

  retry({ job_id: jobId, destination }) {
    const again = this.transfers.filter((t) => (!jobId || t.job_id === jobId) && (!destination || t.destination === destination));
    let count = 0;
    for (const transfer of again) {
      const { instances } = transfer;
      count += instances.failed;
      if (instances.failed > 0) Object.assign(transfer, { state: 'queued', message: null });
      Object.assign(instances, { queued: instances.queued + instances.failed, failed: 0 });
    }
    return count;
  }

  level(job, index, response) {
    const { nx, ny, nz, data } = this.volumes.level(job, index);
    this.requests.levels += 1;
    response.writeHead(200, {
      'Content-Type': 'application/octet-stream', 'X-Isocenter-Columns': nx, 'X-Isocenter-Rows': ny, 'X-Isocenter-Slices': nz,
      ETag: `"6f1c2a9b-level-${index}"`, 'Cache-Control': 'private, no-cache',
    });
    response.end(Buffer.from(data.buffer));
  }

  slice(job, axis, index, level, response) {
    const found = this.volumes.plane(job, axis, index, level);
    this.requests.slices += 1;
    this.requests.sliceBytes += found.samples.byteLength;
    response.writeHead(200, {
      'Content-Type': 'application/octet-stream', 'X-Isocenter-Columns': found.columns, 'X-Isocenter-Rows': found.rows,
      ETag: `"6f1c2a9b-${job.job_id}-${axis}-${index}-${level}"`, 'Cache-Control': 'private, no-cache',
    });
    response.end(Buffer.from(found.samples.buffer));
  }
}

async function textOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
