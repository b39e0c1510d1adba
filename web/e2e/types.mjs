// That src/api/types.ts says what a server answers, field by field: node e2e/types.mjs ADDRESS...; without an address the mock
// server's answers are held to the same types, so that what passes with it also works. What is checked are missing and unknown
// fields, values that no type has, and null where the types know none; the TypeScript compiler does it.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MockServer } from './mock_server.mjs';

const WEB = fileURLToPath(new URL('..', import.meta.url));
const LISTS = [
  ['session', 'Session'], ['status', 'Status'], ['devices', '{ devices: T.Device[] }'], ['queue', 'Queue'], ['rooms', '{ rooms: T.Room[] }'],
  ['history?seconds=600&points=10', 'History'], ['jobs?page_size=100', 'JobPage'], ['transfers', 'Transfers'], ['filters', 'Filters'],
  ['refinements', '{ refinements: T.RefinementOffer[] }'], ['quality?limit=100', '{ results: T.QualityResult[]; truncated: boolean }'],
  ['calibrations?withdrawn=1', '{ calibrations: T.CalibrationSet[]; truncated: boolean }'],
];

async function get(base, path) {
  const response = await fetch(`${base}api/v1/${path}`);
  if (!response.ok) throw new Error(`${base} ${path}: HTTP status ${response.status}: ${await response.text()}`);
  return response.json();
}

// The first event of the stream has the whole status.
async function hello(base) {
  const response = await fetch(`${base}api/v1/events`);
  let text = '';
  for await (const chunk of response.body) {
    text += Buffer.from(chunk).toString();
    const found = /event: hello\ndata: (.*)\n\n/.exec(text);
    // Leaving the loop closes the connection.
    if (found) return JSON.parse(found[1]);
  }
  throw new Error(`${base}: no event came`);
}

// States of transfers that the server names when it is asked for another one; none where there are no destinations.
async function transferStates(base) {
  const response = await fetch(`${base}api/v1/transfers?state=none`);
  if (response.ok) return [];
  const { error } = await response.json();
  const names = /legal is (.*)$/.exec(error.message)[1].split(/, | or /);
  return [['the states of transfers', 'Record<T.TransferState, true>', Object.fromEntries(names.map((name) => [name, true]))]];
}

// What one server says: [where it is from, its type, the value].
async function answers(base) {
  const found = [];
  for (const [path, type] of LISTS) found.push([path, type.startsWith('{') ? type : `T.${type}`, await get(base, path)]);
  found.push(['events', '{ resumed: boolean; status: T.Status }', await hello(base)]);
  const { jobs } = await get(base, 'jobs?page_size=100');
  // One of each kind says as much as all of them.
  const kinds = new Map(jobs.map((job) => [`${job.state} ${job.pair_role} ${job.refines_job_id !== null} ${job.has_preview}`, job]));
  for (const job of kinds.values()) {
    const path = `jobs/${job.job_id}`;
    const detail = await get(base, path);
    found.push([path, 'T.JobDetail', detail]);
    if (detail.has_volume) found.push([`${path}/volume`, 'T.Volume', await get(base, `${path}/volume`)]);
    if (detail.has_trace) found.push([`${path}/trace`, "T.Trace['traceEvents']", (await get(base, `${path}/trace`)).traceEvents.slice(0, 30)]);
    // It is gone when the job has ended meanwhile.
    if (detail.has_preview) await get(base, `${path}/preview`).then((preview) => found.push([`${path}/preview`, 'T.Preview', preview]), () => {});
  }
  return found;
}

// What the compiler has to say of these answers.
function compiled(found) {
  mkdirSync(join(WEB, 'build'), { recursive: true });
  const folder = mkdtempSync(join(WEB, 'build', 'answers-'));
  try {
    // A file for each, whose name is in what the compiler says.
    for (const [from, type, value] of found) {
      const name = `${from.replace(/\W+/g, '_')}.ts`;
      const text = `import type * as T from '../../src/api/types.ts';\nexport const answer: ${type} = ${JSON.stringify(value, null, 1)};\n`;
      writeFileSync(join(folder, name), text);
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ extends: '../../tsconfig.json', compilerOptions: { types: [] }, include: ['*.ts'] }));
    execFileSync(process.execPath, [join(WEB, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', folder], { encoding: 'utf8' });
    return '';
  } catch (error) {
    return error.stdout || String(error);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const given = process.argv.slice(2);
const mock = given.length === 0 ? new MockServer() : null;
try {
  const found = [];
  for (const base of mock ? [await mock.start()] : given) {
    found.push(...await answers(base));
    if (!mock) found.push(...await transferStates(base));
  }
  const problems = compiled(found);
  process.stdout.write(problems || `${found.length} answers are as src/api/types.ts says\n`);
  process.exitCode = problems ? 1 : 0;
} finally {
  await mock?.stop();
}
