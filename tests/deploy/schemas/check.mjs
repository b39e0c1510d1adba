// Reads {name: manifest} as JSON from standard input and writes [mistake, ...] to standard output, each "NAME: what is wrong".
//
// Two witnesses, both made from the OpenAPI documents of the API and from the operators' resource definitions: compiled JSON schemas say
// what types, required fields, enumerations and formats are broken; the types, through TypeScript's compiler, which fields do not
// exist, which a schema of Kubernetes lets pass.
import fs from "node:fs";
import path from "node:path";
import ts from "typescript";

const FOLDER = path.dirname(new URL(import.meta.url).pathname);
// Groups of the API that are not in "kubernetes-models".
const OPERATORS = {
  "keda.sh": "@kubernetes-models/keda",
  "cert-manager.io": "@kubernetes-models/cert-manager",
  "monitoring.coreos.com": "@kubernetes-models/prometheus-operator",
};

/** "apps/v1" of the API is the module "kubernetes-models/apps/v1"; the core group has no name. */
function moduleOf(apiVersion) {
  const operator = OPERATORS[apiVersion.split("/")[0]];
  return `${operator ?? "kubernetes-models"}/${apiVersion}`;
}

async function schemaMistakes(manifest) {
  const module = moduleOf(manifest.apiVersion ?? "");
  const models = await import(module).catch(() => ({}));
  const Model = models[manifest.kind];
  if (Model === undefined) return [`${manifest.apiVersion}/${manifest.kind}: no such resource`];
  try {
    new Model(manifest).validate();
    return [];
  } catch (error) {
    return [error.message];
  }
}

/** What the compiler says of each manifest as a literal of its resource's type. */
function typeMistakes(manifests) {
  const sources = new Map();
  for (const [number, [name, manifest]] of Object.entries(manifests).entries()) {
    const text = `import type { I${manifest.kind} } from ${JSON.stringify(moduleOf(manifest.apiVersion))};
export const manifest: I${manifest.kind} = ${JSON.stringify(manifest, null, 1)};\n`;
    sources.set(path.join(FOLDER, `manifest-${number}.ts`), { name, text });
  }
  const options = {
    module: ts.ModuleKind.Node16,
    moduleResolution: ts.ModuleResolutionKind.Node16,
    target: ts.ScriptTarget.ES2022,
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
  };
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (file) => sources.has(file) || fileExists(file);
  host.readFile = (file) => sources.get(file)?.text ?? readFile(file);
  host.getSourceFile = (file, ...rest) =>
    sources.has(file) ? ts.createSourceFile(file, sources.get(file).text, ...rest) : getSourceFile(file, ...rest);
  const program = ts.createProgram([...sources.keys()], options, host);
  return ts
    .getPreEmitDiagnostics(program)
    .filter((found) => sources.has(found.file?.fileName))
    .map((found) => {
      const { name, text } = sources.get(found.file.fileName);
      const { line } = found.file.getLineAndCharacterOfPosition(found.start);
      const where = text.split("\n")[line].trim();
      return `${name}: ${ts.flattenDiagnosticMessageText(found.messageText, " ")} At: ${where}`;
    });
}

const manifests = JSON.parse(fs.readFileSync(0, "utf8"));
const mistakes = [];
for (const [name, manifest] of Object.entries(manifests)) {
  for (const mistake of await schemaMistakes(manifest)) mistakes.push(`${name}: ${mistake}`);
}
process.stdout.write(JSON.stringify([...mistakes, ...typeMistakes(manifests)], null, 1) + "\n");
