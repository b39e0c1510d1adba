// Numbers with their units, as people read them on a screen. Unknown (null) is a dash.

const DASH = '–';
// A narrow space that does not break keeps a number and its unit together.
const THIN = '\u202f';

type Maybe = number | null | undefined;

function known(value: Maybe): value is number {
  return value !== null && value !== undefined && Number.isFinite(value);
}

// Three significant digits, but never an exponent: 0.0312, 4.20, 31.5, 312, 1250.
export function significant(value: Maybe, digits = 3): string {
  if (!known(value)) return DASH;
  if (value === 0) return '0';
  const whole = Math.floor(Math.log10(Math.abs(value))) + 1;
  const decimals = Math.min(6, Math.max(0, digits - whole));
  const size = Math.abs(value);
  const text = size.toFixed(decimals);
  // 9.996 becomes 10.00: one digit too many.
  return (value < 0 ? '−' : '') + (decimals > 0 && Number(text) >= 10 ** whole ? size.toFixed(decimals - 1) : text);
}

export function withUnit(value: Maybe, unit: string, digits = 3): string {
  return known(value) ? significant(value, digits) + THIN + unit : DASH;
}

// For the axis of a plot: 0.05, 20, 1500, 40k, 1.2M.
export function compact(value: number): string {
  const size = Math.abs(value);
  const short = (v: number) => String(Number(v.toPrecision(3)));
  if (size >= 1e9) return `${short(value / 1e9)}G`;
  if (size >= 1e6) return `${short(value / 1e6)}M`;
  if (size >= 1e4) return `${short(value / 1e3)}k`;
  return short(value);
}

export function count(value: Maybe): string {
  if (!known(value)) return DASH;
  return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, THIN);
}

// Of a queue or a node: how many jobs are under way, and how many may be.
export function activeOf(of: { active_jobs: number; max_active_jobs: number }): string {
  return `${count(of.active_jobs)} of at most ${count(of.max_active_jobs)}`;
}

// 1 chunk, 2 chunks.
export function plural(value: number, one: string, many: string): string {
  return `${count(value)} ${Math.round(value) === 1 ? one : many}`;
}

export function framesPerSecond(value: Maybe): string {
  return known(value) ? `${value.toFixed(1)}${THIN}frames/s` : DASH;
}

export function gups(value: Maybe): string {
  return withUnit(value, 'GUPS');
}

// 0.21 s, 48 s, 3 min 12 s, 2 h 05 min, 4 d 3 h.
export function seconds(value: Maybe): string {
  if (!known(value)) return DASH;
  const sign = value < 0 ? '−' : '';
  const s = Math.abs(value);
  if (s < 0.0995) return `${sign}${significant(s * 1000, 2)}${THIN}ms`;
  if (s < 9.995) return `${sign}${s.toFixed(2)}${THIN}s`;
  if (s < 99.95) return `${sign}${s.toFixed(1)}${THIN}s`;
  return sign + coarse(s);
}

// A time that need not be exact: whole seconds and above.
export function coarseSeconds(value: Maybe): string {
  return known(value) ? (value < 0 ? '−' : '') + coarse(Math.abs(value)) : DASH;
}

function coarse(s: number): string {
  const whole = Math.round(s);
  const two = (n: number) => n.toString().padStart(2, '0');
  if (whole < 60) return `${whole}${THIN}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}${THIN}min ${two(whole % 60)}${THIN}s`;
  const minutes = Math.round(s / 60);
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)}${THIN}h ${two(minutes % 60)}${THIN}min`;
  const hours = Math.round(s / 3600);
  return `${Math.floor(hours / 24)}${THIN}d ${hours % 24}${THIN}h`;
}

export function microseconds(value: Maybe): string {
  if (!known(value)) return DASH;
  const us = Math.abs(value);
  if (us === 0) return `0${THIN}s`;
  if (us < 1000) return withUnit(value, 'µs');
  if (us < 1e6) return withUnit(value / 1e3, 'ms');
  return withUnit(value / 1e6, 's', 4);
}

// Decimal multiples, as disks and memory of devices are sold and as Prometheus shows them.
export function bytes(value: Maybe): string {
  if (!known(value)) return DASH;
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let unit = 0;
  let v = value;
  while (Math.abs(v) >= 999.5 && unit < units.length - 1) {
    v /= 1000;
    unit += 1;
  }
  return unit === 0 ? `${v}${THIN}B` : withUnit(v, units[unit]!);
}

export function percent(part: Maybe, whole: Maybe): string {
  if (!known(part) || !known(whole) || whole <= 0) return DASH;
  const share = (100 * part) / whole;
  return `${share > 0 && share < 9.95 ? share.toFixed(1) : Math.round(share)}${THIN}%`;
}

export function millimetres(value: Maybe, decimals = 1): string {
  if (!known(value)) return DASH;
  const text = Math.abs(value).toFixed(decimals);
  return `${value < 0 && Number(text) !== 0 ? '−' : ''}${text}${THIN}mm`;
}

export function hounsfield(value: Maybe): string {
  if (!known(value)) return DASH;
  return `${value < 0 ? '−' : ''}${Math.abs(Math.round(value))}${THIN}HU`;
}

const two = (n: number) => n.toString().padStart(2, '0');

// Local time of day; with the date where it is another day than `now`.
export function time(text: string | null | undefined, now: number): string {
  if (!text) return DASH;
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return DASH;
  const clock = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  const today = new Date(now);
  if (at.toDateString() === today.toDateString()) return clock;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clock}`;
}

// How far local time is from UTC at that time: "UTC+01:00".
export function utcOffset(at: Date): string {
  const minutes = -at.getTimezoneOffset();
  return `UTC${minutes < 0 ? '−' : '+'}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
}

// What people know a job by, also where links are listed: times alone lead nobody.
export function jobName(job: { station_name: string | null; protocol: string; create_time: string }, now: number): string {
  return [job.station_name, job.protocol, time(job.create_time, now)].filter(Boolean).join(', ');
}

// Local date, time of day and what that is from UTC, as what is copied or printed needs it.
export function fullTime(text: string | null | undefined): string {
  const shown = time(text, NaN);
  return shown === DASH ? DASH : `${shown} ${utcOffset(new Date(text!))}`;
}

// "in 3 s", "12 s ago", "now".
export function relative(text: string | null | undefined, now: number): string {
  if (!text) return DASH;
  const away = (Date.parse(text) - now) / 1000;
  if (Number.isNaN(away)) return DASH;
  if (Math.abs(away) < 0.5) return 'now';
  return away > 0 ? `in ${coarse(away)}` : `${coarse(-away)} ago`;
}

// Of what is waited for: "1 min 35 s left", "no time left".
export function waitLeft(until: string, now: number): string {
  const left = (Date.parse(until) - now) / 1000;
  return left > 0.5 ? `${coarse(left)} left` : 'no time left';
}

// When something is predicted to end: "finishes in 3 s", "17 s late".
export function finish(text: string | null | undefined, now: number): string {
  if (!text) return '';
  const late = (now - Date.parse(text)) / 1000;
  return late > 0.5 ? `${coarse(late)} late` : `finishes ${relative(text, now)}`;
}

// Of a scan that should have ended seconds ago.
export function isLate(job: { state: string; predicted_finish_time: string | null }, now: number): boolean {
  const SECONDS = 3;
  return job.state === 'receiving' && !!job.predicted_finish_time && now - Date.parse(job.predicted_finish_time) > 1000 * SECONDS;
}

// os_sart -> OS-SART.
export function algorithmName(name: string): string {
  return name.toUpperCase().replace(/_/g, '-');
}

// frame_gap -> frame gap: for values of enums that this page does not know by name.
export function words(name: string): string {
  return name.replace(/_/g, ' ');
}
