// Bundles the page into dist/: index.html, assets/NAME-HASH.{js,css}, LICENSES.txt, and a .gz beside each.
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('.', import.meta.url));
const dist = join(root, 'dist');

// The licence of every package that is in the bundle.
async function licences(inputs) {
  const names = new Set();
  for (const input of inputs) {
    const found = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found) names.add(found[1]);
  }
  const parts = [];
  for (const name of [...names].sort()) {
    const folder = join(root, 'node_modules', name);
    const { version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    const file = (await readdir(folder)).find((f) => /^licen[cs]e/i.test(f));
    if (!file) throw new Error(`${name} has no licence file, so it cannot be in the bundle`);
    parts.push(`${name} ${version} (${license})\n\n${(await readFile(join(folder, file), 'utf8')).trim()}\n`);
  }
  return `This page contains the following packages.\n\n${parts.join(`\n${'-'.repeat(72)}\n\n`)}`;
}

async function write(name, text) {
  await writeFile(join(dist, name), text);
  await writeFile(join(dist, `${name}.gz`), gzipSync(text, { level: 9 }));
}

await rm(dist, { recursive: true, force: true });
await mkdir(join(dist, 'assets'), { recursive: true });
const settings = {
  absWorkingDir: root,
  bundle: true,
  minify: true,
  write: false,
  entryNames: '[name]-[hash]',
  metafile: true,
  format: 'esm',
  target: ['chrome109', 'firefox115', 'safari16'],
  legalComments: 'none',
  outdir: 'assets',
};
// The shared worker, which the page knows by its name.
const worker = await build({ ...settings, entryPoints: { stream: 'src/stream_worker.ts' } });
const [workerName] = worker.outputFiles.map((file) => `assets/${basename(file.path)}`);
const result = await build({
  ...settings,
  entryPoints: { page: 'src/main.tsx' },
  define: { STREAM_WORKER: JSON.stringify(workerName) },
  // What the overview does not need is fetched later.
  splitting: true,
  chunkNames: 'part-[hash]',
  jsx: 'automatic',
  jsxImportSource: 'preact',
});
const names = {};
for (const file of [...worker.outputFiles, ...result.outputFiles]) {
  const name = basename(file.path);
  // The same for every build of the same page, other for every other: browsers keep it for ever.
  await write(`assets/${name}`, file.text);
  if (name.startsWith('page-')) names[name.split('.').at(-1)] = `assets/${name}`;
}
// What the script needs at once, all at once, rather than when it has been read.
const needed = new Set();
const follow = (output) => result.metafile.outputs[output].imports.filter(({ kind }) => kind === 'import-statement').forEach(({ path }) => {
  if (needed.has(path)) return;
  needed.add(path);
  follow(path);
});
follow(names.js);
const preloads = [...needed].map((path) => `<link rel="modulepreload" href="${path}">`).join('\n    ');
const index = (await readFile(join(root, 'index.html'), 'utf8')).replace('STYLE', names.css).replace('SCRIPT', names.js).replace('PRELOADS', preloads);
await write('index.html', index);
await write('favicon.svg', await readFile(join(root, 'favicon.svg'), 'utf8'));
await write('LICENSES.txt', await licences(Object.keys(result.metafile.inputs)));
for (const file of [...worker.outputFiles, ...result.outputFiles]) console.log(`${basename(file.path)}: ${(file.contents.length / 1024).toFixed(0)} KiB`);
