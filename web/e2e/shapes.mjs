// That the mock server answers in the shape of the real one, so that what passes with it also works: node e2e/shapes.mjs ADDRESS JOB
import { MockServer } from './mock_server.mjs';

const [address, job] = process.argv.slice(2);
const MOCK_JOB = '20260301T092900-done0003';
const PATHS = [
  'session', 'status', 'devices', 'queue', 'rooms', 'history?seconds=600&points=10', 'jobs?page_size=1&state=completed', 'jobs/JOB',
  'jobs/JOB/volume', 'jobs/JOB/trace', 'transfers',
];

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

// Keys that only one of them has. Null says nothing about a shape, and a list is as its first element.
function differences(path, mock, real) {
  if (Array.isArray(mock) && Array.isArray(real)) return mock.length && real.length ? differences(`${path}[]`, mock[0], real[0]) : [];
  if (!isObject(mock) || !isObject(real)) {
    const kind = (v) => (Array.isArray(v) ? 'array' : typeof v);
    return mock === null || real === null || kind(mock) === kind(real) ? [] : [`${path}: ${kind(mock)} in the mock, ${kind(real)} in the server`];
  }
  const found = [];
  for (const key of new Set([...Object.keys(mock), ...Object.keys(real)])) {
    if (!(key in real)) found.push(`${path}.${key}: only in the mock`);
    else if (!(key in mock)) found.push(`${path}.${key}: only in the server`);
    else found.push(...differences(`${path}.${key}`, mock[key], real[key]));
  }
  return found;
}

async function get(base, path) {
  const response = await fetch(`${base}api/v1/${path}`);
  if (!response.ok) throw new Error(`${base} ${path}: HTTP status ${response.status}: ${await response.text()}`);
  return response.json();
}

const server = new MockServer();
const mock = await server.start();
try {
  const found = [];
  for (const path of PATHS) {
    const [theirs, ours] = [await get(address, path.replace('JOB', job)), await get(mock, path.replace('JOB', MOCK_JOB))];
    found.push(...differences(path, ours, theirs));
  }
  for (const line of found) console.log(line);
  process.exitCode = found.length > 0 ? 1 : 0;
} finally {
  await server.stop();
}
