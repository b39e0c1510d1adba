// Bundles every *.test.ts and runs it with node's own test runner.
import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const out = `${root}build/test`;
rmSync(out, { recursive: true, force: true });
const names = readdirSync(`${root}test`).filter((name) => name.endsWith('.test.ts'));
await build({
  absWorkingDir: root,
  entryPoints: names.map((name) => `test/${name}`),
  outdir: out,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  format: 'esm',
  logLevel: 'warning',
});
const files = names.map((name) => `${out}/${name.replace(/\.ts$/, '.mjs')}`);
process.exit(spawnSync(process.execPath, ['--test', ...files], { stdio: 'inherit' }).status ?? 1);
