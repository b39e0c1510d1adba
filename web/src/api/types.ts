// What the server's JSON interface says: docs/web-api.md, which explains every field. Unknown or inapplicable is null.
// e2e/types.mjs holds this to the answers of a real server, field by field.

export type JobState =
  | 'receiving' | 'reconstructing' | 'refining' | 'exporting' | 'completed' | 'failed' | 'cancelled';
export type JobClass = 'live' | 'interactive' | 'batch';
export type PairRole = 'none' | 'mask' | 'fill' | 'subtraction';
export type Role = 'viewer' | 'console' | 'operator' | 'administrator';

export interface Session {
  signed_in: boolean;
  name: string | null;
  role: Role | null;
  via: 'token' | 'provider' | 'certificate' | 'loopback' | null;
  csrf_token: string | null;
  expires_time: string | null;
  sign_in: 'token' | null;
  // What the identity provider is called that people can sign in with.
  provider: string | null;
}

export interface Reason {
  component: string;
  message: string;
}

export interface Status {
  server: string;
  version: string;
  backend: string;
  server_time: string;
  start_time: string;
  uptime_seconds: number;
  ready: boolean;
  reasons: Reason[];
  draining: { since: string; reason: string; by: string } | null;
  active_jobs: number;
  max_active_jobs: number;
  queue_chunks: number;
  jobs: Record<JobState, number>;
  spool: {
    // 0: as large as its disk.
    capacity_bytes: number;
    used_bytes: number;
    reclaimable_bytes: number;
    last_sync_seconds: number;
  };
  transfers_enabled: boolean;
  simulated_scans_enabled: boolean;
  // What the service listens on.
  addresses: {
    // host:port.
    grpc: { address: string; tls: boolean; client_certificates: boolean };
    dicom: { ae_title: string; host: string; port: number | null; tls_port: number | null } | null;
  };
}

export interface JobProgress {
  frames_received: number;
  frames_backprojected: number;
  frames_total: number;
  frames_lost: number;
  slices_exported: number;
  slices_total: number;
  iterations_done: number;
  iterations_total: number;
  refined_fraction: number;
}

export interface JobResult {
  kernel_gups: number | null;
  whole_gups: number | null;
  seconds_after_last_frame: number | null;
  seconds_to_stored: number | null;
  series_instance_uid: string;
  frame_of_reference_uid: string;
  instance_count: number;
  backend: string;
  timings_seconds: {
    upload: number;
    download: number;
    preprocess: number;
    filter: number;
    backproject: number;
    hounsfield: number;
    export: number;
    acquisition: number;
    refine: number;
    total: number;
  };
}

export interface Job {
  job_id: string;
  state: JobState;
  job_class: JobClass;
  protocol: string;
  station_name: string | null;
  accession_number: string | null;
  study_instance_uid: string | null;
  pair_id: string | null;
  pair_role: PairRole;
  refines_job_id: string | null;
  // Of a refinement that does not iterate.
  second_pass: SecondPass | null;
  // Of a volume of one phase of a moving organ; of a scan whose frames tell phases, what these are of.
  phase?: Phase | null;
  phase_cycle?: 'cardiac' | 'respiratory' | 'unknown' | null;
  source_job_ids: string[];
  create_time: string;
  end_time: string | null;
  deadline: string | null;
  predicted_finish_time: string | null;
  // While its console's stream is broken: until then the scan waits for one that goes on with it.
  awaits_console_until_time: string | null;
  error: { code: string; message: string } | null;
  progress: JobProgress;
  frames_per_second: number | null;
  has_preview: boolean;
  warning_count: number;
  // Each once.
  warning_kinds: string[];
  result: JobResult | null;
}

export interface Grid {
  nx: number;
  ny: number;
  nz: number;
  spacing_mm: [number, number, number];
  origin_mm: [number, number, number];
  // Row-major 3x3; its columns are the unit vectors of the x, y and z axes of the volume.
  direction: number[];
}

export interface Iteration {
  iteration: number;
  relative_residual: number;
  objective: number | null;
  seconds: number;
}

// What a refinement that does not iterate corrects for.
export interface SecondPass {
  metal: boolean;
  bone: boolean;
  scatter: boolean;
  cone_beam: boolean;
  motion: boolean;
  self_calibrate?: boolean;  // of a service that knows it
  complete_rows?: boolean;  // the same
  reference_job_id?: string | null;  // whose volume was held beside the frames
}

// How the object moved, as a second pass against motion found it.
export interface Motion {
  found: boolean;
  largest_shift_mm: number;
  largest_turn_deg: number;
  entropy_before: number;
  entropy_after: number;
}

// Where the detector was, as a second pass found it: `not_judged` says why frames tell nothing.
export interface SelfCalibration {
  found: boolean;
  constant: boolean;
  smooth: boolean;
  u_mm: number;
  roll_deg: number;
  smooth_rms_mm: number;
  largest_smooth_mm: number;
  entropy_before: number;
  entropy_after: number;
  planes_before: number;
  planes_after: number;
  not_judged: string;
  reference?: ReferenceMatch | null;
}

// What an earlier volume of the patient said of where the detector was.
export interface ReferenceMatch {
  taken: boolean;
  patient: { shift_x_mm: number; shift_y_mm: number; shift_z_mm: number; turn_x_deg: number; turn_y_deg: number; turn_z_deg: number };
  covered: number;
  similarity_before: number;
  similarity_after: number;
  entropy: number;
  planes: number;
}

// The part of a cycle that a volume is of: 0.25 of width 0.2.
export interface Phase {
  phase: number;
  width: number;
  frames: number;
  largest_gap_deg: number;
  cycle_seconds: number | null;
}

export type Relation = 'fdk' | 'refined' | 'mask' | 'fill' | 'subtraction';

export interface RelatedJob {
  job_id: string;
  relation: Relation;
  state: JobState;
  protocol: string;
  create_time: string;
  // Of a refinement: how it was made, and how many iterations are done.
  refinement: { algorithm: string; iterations: number; second_pass: SecondPass | null; phase?: Phase | null } | null;
}

export interface JobDetail extends Job {
  grid: Grid;
  acquisition: {
    frames: number;
    arc_deg: number;
    source_to_isocenter_mm: number;
    source_to_detector_mm: number;
    tube_voltage_kv: number | null;
    body_part_examined: string | null;
    series_description: string | null;
    filter_description: string | null;
    calibration: { name: string; crc32c: number; outside_validity: boolean; created: string | null; verified: boolean } | null;
  };
  refinement: { algorithm: string; projector: string; iterations: Iteration[]; second_pass: SecondPass | null; findings: string[]; motion: Motion | null; self_calibration?: SelfCalibration | null; phase?: Phase | null } | null;
  // Sentences that are no warnings: what could not be checked, what a second pass found, how iterations went.
  findings: string[];
  warnings: { kind: string; frame_index: number | null; text: string }[];
  related: RelatedJob[];
  has_trace: boolean;
  has_volume: boolean;
}

export interface JobPage {
  jobs: Job[];
  next_page_token: string | null;
}

export interface Device {
  name: string;
  healthy: boolean;
  quarantine_reason: string | null;
  memory_limit_bytes: number;
  memory_used_bytes: number;
  speed_gups: number;
  queue_chunks: number;
  backlog_gigaupdates: Record<JobClass, number>;
  predicted_wait_seconds: Record<JobClass, number | null>;
}

// Copies of frames between nodes.
export interface Replication {
  // Who keeps this node's; null: nobody.
  keeper: string | null;
  keeper_reached: boolean;
  kept_jobs: number;
  degraded_jobs: number;
  origins: { node: string; copies: number; orphans: number; being_taken: number }[];
  used_bytes: number;
  capacity_bytes: number;
  taken_over_jobs: number;
}

export interface ClusterNode {
  node: string;
  this_node: boolean;
  // Null: this node, or one that is not asked.
  address: string | null;
  reachable: boolean;
  seen_time: string | null;
  error: string | null;
  // What it answered last; null: nothing yet.
  status: {
    server: string;
    version: string;
    start_time: string;
    ready: boolean;
    reasons: string[];
    drained: boolean;
    active_jobs: number;
    max_active_jobs: number;
    queue_chunks: number;
    station_names: string[];
    devices: { name: string; healthy: boolean; speed_gups: number }[];
    spool_free_bytes: number;
    archive_free_bytes: number;
    replication: Replication | null;
  } | null;
}

export interface Queue {
  queue_chunks: number;
  active_jobs: number;
  max_active_jobs: number;
  jobs: Job[];
}

export interface Room {
  station_name: string;
  state: 'scanning' | 'computing' | 'idle';
  active_jobs: number;
  frames_per_second: number | null;
  last_seen_time: string;
  last_job: Job;
  completed_24h: number;
  failed_24h: number;
}

type Column = (number | null)[];

export interface History {
  step_seconds: number;
  time: number[];
  frames_per_second: Column;
  megabytes_per_second: Column;
  kernel_gups: Column;
  whole_gups: Column;
  seconds_after_last_frame: Column;
  active_jobs: Column;
  queue_chunks: Column;
  completed_jobs: Column;
  failed_jobs: Column;
  refused: Column;
  last_refusals: Refusal[];
}

export interface Refusal {
  time: string;
  // The room as it named itself; null where it had not yet.
  station_name: string | null;
  code: string;
  message: string;
}

export interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  ts?: number;
  dur?: number;
  args?: { name?: string; index?: number };
}

// Chrome's trace event format, of which the page reads these fields.
export interface Trace {
  traceEvents: TraceEvent[];
}

export interface Preview {
  frames_backprojected: number;
  planes: {
    orientation: Axis;
    columns: number;
    rows: number;
    column_spacing_mm: number;
    row_spacing_mm: number;
    hounsfield_base64: string;
  }[];
}

export type Axis = 'axial' | 'coronal' | 'sagittal';

export interface Level {
  level: number;
  nx: number;
  ny: number;
  nz: number;
  spacing_mm: [number, number, number];
}

export interface Volume {
  job_id: string;
  grid: Grid;
  version: string;
  prepared: boolean;
  hu_min: number | null;
  hu_max: number | null;
  levels: Level[];
}

export type TransferState = 'queued' | 'sending' | 'sent' | 'committed' | 'failed' | 'skipped';

export interface Transfer {
  job_id: string;
  // Of the job; null where it is deleted.
  station_name: string | null;
  protocol: string | null;
  accession_number: string | null;
  job_create_time: string | null;
  destination: string;
  state: TransferState;
  // What is skipped is not in the total: the destination takes only the other form.
  instances: {
    total: number;
    queued: number;
    sending: number;
    sent: number;
    committed: number;
    failed: number;
    skipped: number;
  };
  attempts: number;
  message: string | null;
  storage_commitment: boolean;
  done: boolean;
  create_time: string;
  update_time: string;
}

// Counts are instances.
export interface Destination {
  name: string;
  // By C-STORE.
  host: string | null;
  port: number | null;
  // By STOW-RS instead.
  url: string | null;
  queued: number;
  sending: number;
  failed: number;
  oldest_seconds: number | null;
  // While something waits for another attempt: why, how often it was tried, when it is again (null: at once).
  reason: string | null;
  attempts: number;
  next_try_time: string | null;
}

// Where it is.
export function placeOf(destination: Pick<Destination, 'host' | 'port' | 'url'>): string {
  return destination.url ?? `${destination.host}:${destination.port}`;
}

// A protocol that refines; a second pass has neither algorithm nor iterations.
export interface RefinementOffer {
  protocol: string;
  description: string | null;
  algorithm: string | null;
  iterations: number | null;
  subsets: number | null;
  second_pass: SecondPass | null;
  deadline_seconds: number | null;
}

// What jobs can be filtered by.
export interface Filters {
  station_names: string[];
  protocols: string[];
}

export interface Transfers {
  enabled: boolean;
  destinations: Destination[];
  transfers: Transfer[];
  next_page_token: string | null;
}

// A figure of a test of image quality, held against its baseline.
export interface QualityVerdict {
  name: string;
  value: number | null;
  baseline: number;
  tolerance: number;
  passed: boolean;
  // Why the value says nothing of the baseline's; null where it does.
  not_comparable: string | null;
}

// How a scan was made, each null where it is not known.
export interface QualityConditions {
  frames: string | null;
  voxel_mm: [number, number, number] | null;
  filter: string | null;
  // The set that corrected the frames; "none": nothing did.
  calibration: string | null;
  tube_voltage_kv: number | null;
  acquired_time: string | null;
}

export interface NotJudged {
  name: string;
  why: string;
}

export interface QualityResult {
  id: string;
  station_name: string;
  protocol: string;
  job_id: string | null;
  phantom: string | null;
  record_time: string;
  recorded_by: string | null;
  baseline: boolean;
  // Null where there is nothing to compare with.
  passed: boolean | null;
  // Null of results from before they were kept.
  conditions: QualityConditions | null;
  // Conditions that are others than the baseline's, as sentences.
  changed_conditions: string[];
  // Names of those that this or the baseline does not tell.
  untold_conditions: string[];
  // An earlier result that is of the same scan.
  same_scan_id: string | null;
  measures: Record<string, number>;
  verdicts: QualityVerdict[];
  not_judged: NotJudged[];
}

// What a room's frames are corrected with; without its maps.
export interface CalibrationSet {
  name: string;
  station_name: string;
  detector_mode: string | null;
  columns: number;
  rows: number;
  // Null: of any.
  tube_voltage_kv: number | null;
  parts: string[];
  // Of a set that has an arm's matrices, the frames of its orbit; else 0.
  geometry_frames: number;
  valid_from: string;
  valid_until: string;
  created: string;
  // When a scan of water came out as water with it; null: never.
  verify_time: string | null;
  description: string | null;
  add_time: string;
  withdraw_time: string | null;
  quality: { name: string; value: number; unit: string | null }[];
}

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

export function isActive(job: { state: JobState }): boolean {
  return !ENDED.has(job.state);
}
