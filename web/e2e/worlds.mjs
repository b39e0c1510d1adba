// Nodes at the edges of what a page has to show, for the mock server.
import { GRID, job, result } from './fixtures.mjs';
import { planeOfLarge } from './phantom.mjs';

// A node on its first day: nothing was scanned, nothing is configured.
export function firstDay(server) {
  server.jobs.clear();
  server.transfers = [];
  server.quality = [];
  server.calibrations = [];
  server.destinations = [];
  server.queueChunks = 0;
  server.devices = server.devices.slice(0, 1).map((device) => ({
    ...device, memory_used_bytes: 0, queue_chunks: 0, backlog_gigaupdates: { live: 0, interactive: 0, batch: 0 },
    predicted_wait_seconds: { live: 0, interactive: 0, batch: 0 },
  }));
  server.history = () => ({
    step_seconds: 10, time: [], frames_per_second: [], megabytes_per_second: [], kernel_gups: [], whole_gups: [], seconds_after_last_frame: [],
    active_jobs: [], queue_chunks: [], completed_jobs: [], failed_jobs: [], refused: [], last_refusals: [],
  });
}

// Names as long as DICOM's LO allows (64), some without a place to break.
const LONG_NAME = 'Hybrid operating room 3, interventional neuroradiology, east wing';
const UNBROKEN = 'NEUROINTERVENTION_BIPLANE_B_PLANE_ROTATIONAL_ANGIOGRAPHY_SUITE_07';

// Fifty rooms and five hundred jobs, sixteen of them active, with names and errors as long as they may be.
export function crowd(server) {
  const now = Date.now();
  const ago = (seconds) => new Date(now - 1000 * seconds).toISOString();
  const rooms = Array.from({ length: 50 }, (_, i) => `ROOM-${String(i + 1).padStart(2, '0')}`);
  rooms[2] = LONG_NAME;
  rooms[3] = UNBROKEN;
  server.jobs.clear();
  for (let i = 0; i < 500; i += 1) {
    const active = i < 16;
    const failed = !active && i % 23 === 0;
    const begin = active ? 6 + i : 60 * i;
    const job_id = `20260301T${String(100000 + i)}-${String(i).padStart(8, '0')}`;
    server.jobs.set(job_id, job({
      job_id, station_name: rooms[i % 50], create_time: ago(begin), protocol: i % 7 === 2 ? `${UNBROKEN.toLowerCase()}_protocol` : 'head_soft',
      warning_count: i % 9 === 0 ? 3 : 0, warning_kinds: i % 9 === 0 ? ['frame_gap'] : [],
      ...(active ? {
        state: i % 3 === 2 ? 'reconstructing' : 'receiving', frames_per_second: i % 3 === 2 ? null : 29.7, progress: { frames_received: 20 * i },
        predicted_finish_time: ago(-5 - i), deadline: ago(-20),
      } : {
        state: failed ? 'failed' : 'completed', end_time: ago(begin - 15), result: failed ? null : result(),
        progress: { frames_received: 400, frames_backprojected: 400, slices_exported: 96 },
        error: failed ? { code: 'RESOURCE_EXHAUSTED', message: `the disk is full: 1234567 bytes are free, 805306368 bytes are needed in /var/lib/isocenter/${UNBROKEN}` } : null,
      }),
    }));
  }
}

// Names that are written from right to left, are HTML, or consist of signs; a node whose clock is three days ahead of the browser's.
export function odd(server) {
  const names = ['غرفة الأشعة 3', '<img src=x onerror=alert(1)>', 'חדר-7 \u202eabc', '☃☃☃', "O'Brien & Söhne", UNBROKEN];
  const ahead = 3 * 86_400_000;
  const jobs = [...server.jobs.values()].map((known, i) => {
    const at = (text) => text && new Date(Date.parse(text) + ahead).toISOString();
    const error = known.error && { ...known.error, message: `<b>${known.error.message}</b> ${LONG_NAME}` };
    return {
      ...known, station_name: names[i % names.length], protocol: i % 2 ? '<script>fdk</script>' : known.protocol, error, create_time: at(known.create_time), end_time: at(known.end_time),
      predicted_finish_time: at(known.predicted_finish_time), deadline: at(known.deadline),
    };
  });
  server.jobs = new Map(jobs.map((known) => [known.job_id, known]));
  const status = server.status.bind(server);
  server.status = () => ({ ...status(), server: LONG_NAME, server_time: new Date(Date.now() + ahead).toISOString() });
  server.destinations = [UNBROKEN, '<i>PACS</i>'];
}

// That many more completed jobs; their ids, which begin with the day in UTC.
export function fixtureJobs(server, count, over) {
  const day = (over.create_time ?? '2026-01-31').slice(0, 10).replace(/-/g, '');
  return Array.from({ length: count }, () => {
    const job_id = `${day}T${String(100000 + server.jobs.size)}-${String(server.jobs.size).padStart(8, '0')}`;
    server.jobs.set(job_id, job({ job_id, result: result(), progress: { frames_received: 400, frames_backprojected: 400, slices_exported: 96 }, ...over }));
    return job_id;
  });
}

// A volume of 1024x1024x1024: two gigabytes, of which the page may have a few planes.
export function large(server, jobId) {
  const sizes = [1024, 512, 256, 128];
  const grid = { ...GRID, nx: 1024, ny: 1024, nz: 1024, spacing_mm: [0.25, 0.25, 0.25], origin_mm: [-127.875, -127.875, -127.875] };
  server.volumes = {
    describe: () => ({
      job_id: jobId, grid, version: '6f1c2a9b', prepared: true, hu_min: -1000, hu_max: 1100,
      levels: sizes.map((n, level) => ({ level, nx: n, ny: n, nz: n, spacing_mm: [1, 1, 1].map(() => 0.25 * 2 ** level) })),
    }),
    plane: (_, axis, index, level) => planeOfLarge(axis, index, sizes[level]),
  };
  server.detailOver = { grid };
}
