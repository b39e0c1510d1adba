// What the mock server knows: jobs in every state, a pair, a refinement, devices, transfers, a history, a trace.

const iso = (ms) => new Date(ms).toISOString();

export function job(over) {
  const { progress, ...rest } = over;
  return {
    job_id: 'JOB', state: 'completed', job_class: 'live', protocol: 'head_soft', station_name: 'AXIOM-1', accession_number: 'A1234',
    study_instance_uid: '2.25.329800735698586629295641978511506172918', pair_id: null, pair_role: 'none', refines_job_id: null, second_pass: null,
    source_job_ids: [], create_time: iso(Date.now() - 60_000), end_time: null, deadline: null, predicted_finish_time: null,
    awaits_console_until_time: null, error: null, frames_per_second: null, has_preview: false, warning_count: 0, warning_kinds: [], result: null, ...rest,
    progress: {
      frames_received: 0, frames_backprojected: 0, frames_total: 400, frames_lost: 0, slices_exported: 0, slices_total: 96,
      iterations_done: 0, iterations_total: 0, refined_fraction: 0, ...progress,
    },
  };
}

const NO_TIME = {
  upload: 0, download: 0, preprocess: 0, filter: 0, backproject: 0, hounsfield: 0, export: 0, acquisition: 0, refine: 0, total: 0,
};

export function result(over = {}) {
  return {
    kernel_gups: 311.2, whole_gups: 250.4, seconds_after_last_frame: 0.214, seconds_to_stored: 1.41,
    series_instance_uid: '2.25.271828182845904523536028747135266249775', frame_of_reference_uid: '2.25.314159265358979323846264338327950288419',
    instance_count: 96, backend: 'cuda',
    timings_seconds: {
      upload: 0.41, download: 0.09, preprocess: 0.21, filter: 0.33, backproject: 1.12, hounsfield: 0.02, export: 1.1,
      acquisition: 13.3, refine: 0, total: 15.0,
    },
    ...over,
  };
}

const ALL = { frames_received: 400, frames_backprojected: 400, slices_exported: 96 };

export function jobs(now) {
  const ended = (minutes, over) => job({
    create_time: iso(now - minutes * 60_000), end_time: iso(now - minutes * 60_000 + 15_000), result: result(), progress: ALL, ...over,
  });
  return [
    job({
      job_id: '20260301T093001-live0001', state: 'receiving', station_name: 'AXIOM-2', create_time: iso(now - 6_000),
      progress: { frames_received: 172, frames_backprojected: 160 }, frames_per_second: 29.8, has_preview: true,
      predicted_finish_time: iso(now + 900_000), deadline: iso(now + 20_000),
    }),
    job({
      job_id: '20260301T092955-refi0002', state: 'refining', job_class: 'interactive', protocol: 'fdk_then_ossart', station_name: 'AXIOM-1',
      refines_job_id: '20260301T092900-done0003', create_time: iso(now - 31_000), predicted_finish_time: iso(now + 44_000),
      progress: { ...ALL, slices_exported: 0, iterations_done: 6, iterations_total: 20, refined_fraction: 0.32 },
    }),
    ended(2, { job_id: '20260301T092900-done0003', warning_count: 2, warning_kinds: ['frame_gap', 'dose_dip'] }),
    ended(9, { job_id: '20260301T092200-refd0004', refines_job_id: '20260301T092900-done0003', protocol: 'fdk_then_pwls_tv', job_class: 'interactive',
      result: result({ kernel_gups: null, whole_gups: null, seconds_after_last_frame: null,
        timings_seconds: { ...NO_TIME, upload: 0.4, backproject: 1.1, refine: 21.4, export: 1.2, total: 24.1 } }),
      progress: { ...ALL, iterations_done: 20, iterations_total: 20, refined_fraction: 1 } }),
    ended(14, { job_id: '20260301T091700-mask0005', station_name: 'AXIOM-2', pair_id: 'pair-7', pair_role: 'mask', protocol: 'dsa_head' }),
    ended(13, { job_id: '20260301T091800-fill0006', station_name: 'AXIOM-2', pair_id: 'pair-7', pair_role: 'fill', protocol: 'dsa_head' }),
    ended(13, { job_id: '20260301T091801-subt0007', station_name: 'AXIOM-2', pair_id: 'pair-7', pair_role: 'subtraction', protocol: 'dsa_head',
      result: result({ kernel_gups: null, whole_gups: null, seconds_after_last_frame: null }) }),
    ended(40, { job_id: '20260301T085000-fail0008', state: 'failed', station_name: 'Zeego left', result: null,
      error: { code: 'DATA_LOSS', message: '37 of 400 frames never came; protocol head_soft allows 8' }, progress: { frames_received: 363, frames_lost: 37, frames_backprojected: 0 } }),
    ended(55, { job_id: '20260301T083500-canc0009', state: 'cancelled', station_name: 'Zeego left', result: null,
      error: { code: 'CANCELLED', message: 'cancelled by the console' }, progress: { frames_received: 20, frames_backprojected: 0 } }),
    ended(12, { job_id: '20260301T091900-refm0010', station_name: 'AXIOM-2', refines_job_id: '20260301T091700-mask0005', protocol: 'fdk_then_ossart',
      job_class: 'interactive', result: result({ kernel_gups: null, whole_gups: null, seconds_after_last_frame: null, seconds_to_stored: null }),
      progress: { ...ALL, iterations_done: 20, iterations_total: 20, refined_fraction: 1 } }),
    ...Array.from({ length: 59 }, (_, i) => ended(70 + 11 * i, {
      job_id: `20260301T0${700 - i}00-old${String(i).padStart(5, '0')}`, station_name: ['AXIOM-1', 'AXIOM-2', 'Zeego left'][i % 3],
    })),
  ];
}

export const GRID = {
  nx: 120, ny: 128, nz: 96, spacing_mm: [1.5, 1.5, 2], origin_mm: [-89.25, -95.25, -95], direction: [1, 0, 0, 0, 1, 0, 0, 0, 1],
};

// Which phantom a job's volume shows.
export const KINDS = { done0003: 'fdk', refd0004: 'refined', refm0010: 'refined', mask0005: 'mask', fill0006: 'fill', subt0007: 'subtraction' };

const RELATED = {
  done0003: [['20260301T092200-refd0004', 'refined'], ['20260301T092955-refi0002', 'refined', 'refining']],
  refd0004: [['20260301T092900-done0003', 'fdk']],
  mask0005: [['20260301T091800-fill0006', 'fill'], ['20260301T091801-subt0007', 'subtraction'], ['20260301T091900-refm0010', 'refined']],
  fill0006: [['20260301T091700-mask0005', 'mask'], ['20260301T091801-subt0007', 'subtraction']],
  subt0007: [['20260301T091700-mask0005', 'mask'], ['20260301T091800-fill0006', 'fill']],
};

// Of a scan what could not be checked, of iterations what is odd about them.
const FINDINGS = {
  done0003: ["the frames' order and columns are not checked against the matrices: 12 pairs of opposite rays, of 60 that are needed"],
  refd0004: ['the residual rises from 0.0412 in iteration 3 to 0.0655 in iteration 4'],
};

export function detail(known) {
  const key = known.job_id.slice(-8);
  const refined = known.refines_job_id !== null;
  return {
    ...known,
    grid: GRID,
    acquisition: {
      frames: 400, arc_deg: 199.5, source_to_isocenter_mm: 750, source_to_detector_mm: 1200, tube_voltage_kv: 90,
      body_part_examined: 'HEAD', series_description: 'head', filter_description: 'hann 0.70',
      calibration: null,
    },
    refinement: refined ? {
      second_pass: null, findings: [], motion: null,
      algorithm: 'os_sart', projector: 'joseph',
      iterations: Array.from({ length: known.state === 'refining' ? known.progress.iterations_done : 20 }, (_, i) => ({
        iteration: i + 1, relative_residual: 0.02 + 0.2 * 0.78 ** i, objective: 4e5 * 0.8 ** i + 6e4, seconds: 1.1 * (i + 1),
      })),
    } : null,
    findings: FINDINGS[key] ?? [],
    warnings: known.warning_count > 0 ? [
      { kind: 'frame_gap', frame_index: 17, text: 'Frame 17 is missing and was replaced by its neighbours' },
      { kind: 'dose_dip', frame_index: 203, text: 'The dose of frame 203 is 41 % of the median; expected at least 60 %' },
    ] : [],
    related: (RELATED[key] ?? []).map(([job_id, relation, state = 'completed']) => ({
      job_id, relation, state, protocol: 'head_soft', create_time: '2026-03-01T09:22:00.000Z',
      refinement: relation === 'refined' ? { algorithm: 'os_sart', iterations: 5, second_pass: null } : null,
    })),
    has_trace: known.state === 'completed' && known.pair_role !== 'subtraction',
    has_volume: known.state === 'completed',
  };
}

export function trace() {
  const events = [];
  for (const pid of [0, 1]) {
    events.push({ name: 'process_name', ph: 'M', pid, tid: 0, args: { name: `device ${pid}` } });
    for (const [tid, name] of [[1, 'uploads'], [2, 'kernels'], [3, 'downloads']]) {
      events.push({ name: 'thread_name', ph: 'M', pid, tid, args: { name } });
    }
    for (let i = 0; i < 50; i += 1) {
      const ts = 33_000 * 8 * i + 900 * pid;
      const span = (name, tid, from, dur) => events.push({ name, ph: 'X', pid, tid, ts: ts + from, dur, args: { index: i } });
      span('upload', 1, 0, 8_200);
      span('preprocess', 2, 8_300, 4_100);
      span('filter', 2, 12_500, 6_600);
      span('backproject', 2, 19_200, 22_400);
    }
    events.push({ name: 'hounsfield', ph: 'X', pid, tid: 2, ts: 13_160_000, dur: 21_000, args: { index: 0 } });
    events.push({ name: 'download', ph: 'X', pid, tid: 3, ts: 13_181_000, dur: 92_000, args: { index: 0 } });
  }
  return { displayTimeUnit: 'ms', traceEvents: events };
}

export function history(seconds, points) {
  const step = Math.max(10, Math.ceil(seconds / points / 10) * 10);
  const n = Math.floor(seconds / step);
  const now = Math.floor(Date.now() / 1000 / step) * step;
  const time = Array.from({ length: n }, (_, i) => now - (n - 1 - i) * step);
  const scan = (t) => Math.sin(t / 140) > 0.55;
  const column = (f) => time.map(f);
  return {
    step_seconds: step, time,
    frames_per_second: column((t) => (scan(t) ? 29 + Math.sin(t) : 0)),
    megabytes_per_second: column((t) => (scan(t) ? 152 + 5 * Math.sin(t) : 0)),
    kernel_gups: column((t) => (scan(t) && !scan(t + step) ? 300 + 15 * Math.sin(t / 7) : null)),
    whole_gups: column((t) => (scan(t) && !scan(t + step) ? 245 + 15 * Math.sin(t / 7) : null)),
    seconds_after_last_frame: column((t) => (scan(t) && !scan(t + step) ? 0.2 + 0.05 * Math.sin(t / 9) : null)),
    active_jobs: column((t) => (scan(t) ? 2 : 1)), queue_chunks: column((t) => (scan(t) ? 5 : 0)),
    completed_jobs: column((t) => (scan(t) && !scan(t + step) ? 1 : 0)), failed_jobs: column(() => 0), refused: column(() => 0),
    last_refusals: [],
  };
}

export function devices() {
  const device = (over) => ({
    name: 'cuda0', healthy: true, quarantine_reason: null, memory_limit_bytes: 80e9, memory_used_bytes: 9.1e9, speed_gups: 312.5,
    queue_chunks: 3, backlog_gigaupdates: { live: 120, interactive: 120, batch: 900 },
    predicted_wait_seconds: { live: 0.38, interactive: 0.38, batch: 2.88 }, ...over,
  });
  return [
    device({}),
    device({ name: 'cuda1', healthy: false, queue_chunks: 0,
      quarantine_reason: 'CUDA: cudaErrorIllegalAddress (an illegal memory access was encountered) in cudaStreamSynchronize(stream->get())',
      memory_used_bytes: 0, backlog_gigaupdates: { live: 0, interactive: 0, batch: 0 }, predicted_wait_seconds: { live: null, interactive: null, batch: null } }),
  ];
}

// This node, one that is away, and one whose address nobody has configured.
export function nodes() {
  const replication = {
    keeper: 'recon2', keeper_reached: false, kept_jobs: 1, degraded_jobs: 1, used_bytes: 4e9, capacity_bytes: 90e9, taken_over_jobs: 0,
    origins: [{ node: 'recon3', copies: 2, orphans: 1, being_taken: 0 }],
  };
  return [
    { node: 'recon1', this_node: true, address: null, reachable: true, seen_time: null, error: null,
      status: { server: 'recon1.example.org', version: '0.9.0', start_time: '2026-03-01T08:00:00.000Z', ready: true, reasons: [], drained: false,
        active_jobs: 2, max_active_jobs: 16, queue_chunks: 5, station_names: ['Angio 1'], devices: [{ name: 'cuda0', healthy: true, speed_gups: 312.5 }],
        spool_free_bytes: 300e9, archive_free_bytes: 2e12, replication } },
    { node: 'recon2', this_node: false, address: '10.0.0.2:50051', reachable: false, seen_time: '2026-03-01T09:00:00.000Z',
      error: 'it does not answer in time <b>', status: null },
    { node: 'recon3', this_node: false, address: null, reachable: false, seen_time: null, error: 'its address is not configured here (cluster.peer)', status: null },
  ];
}

export function transfers(now) {
  const transfer = (over) => {
    const { sent = 0, committed = 0, failed = 0, sending = 0, skipped = 0, ...rest } = over;
    return {
      job_id: '20260301T092900-done0003', destination: 'PACS', state: 'committed',
      instances: { total: 96, queued: 96 - sent - committed - failed - sending, sending, sent, committed, failed, skipped },
      attempts: 1, message: null, storage_commitment: true, done: false,
      create_time: iso(now - 100_000), update_time: iso(now - 20_000), ...rest,
    };
  };
  return [
    transfer({ job_id: '20260301T092200-refd0004', state: 'sending', sent: 40, sending: 1 }),
    transfer({ destination: 'WORKSTATION', state: 'queued', attempts: 2, message: 'association refused: called AE title not recognized' }),
    transfer({ job_id: '20260301T091800-fill0006', destination: 'WORKSTATION', state: 'failed', sent: 12, failed: 84, attempts: 10,
      message: 'gave up after 10 attempts: the peer closed the connection' }),
    transfer({ committed: 96, skipped: 1, done: true }),
  ];
}

// Where a destination is: one of them is a web server.
export function placeOf(name) {
  if (name === 'CLOUD') return { host: null, port: null, url: 'https://pacs.example.org/dicom-web/studies' };
  return { host: `${name.toLowerCase()}.example`, port: 104, url: null };
}

// Why destinations take nothing, and when they are asked again.
export function pauses(now) {
  return { WORKSTATION: { reason: 'association refused: called AE title not recognized', attempts: 6, next_try_time: iso(now + 212_000) } };
}

export const REFINEMENTS = [
  { protocol: 'fdk_then_asd_pocs', description: 'Few views: total variation', algorithm: 'asd_pocs', iterations: 20, subsets: 20, second_pass: null, deadline_seconds: 600 },
  { protocol: 'fdk_then_ossart', description: 'Ordered subsets, after the volume of the arm', algorithm: 'os_sart', iterations: 5, subsets: 20, second_pass: null, deadline_seconds: null },
  { protocol: 'head_metal', description: null, algorithm: null, iterations: null, subsets: null,
    second_pass: { metal: true, bone: false, scatter: false, cone_beam: false, motion: false }, deadline_seconds: null },
];
