// `wield new`: creates a tool that works, and its test.

import { existsSync, readFileSync } from 'node:fs';
import { extname, join, relative, resolve } from 'node:path';
import { findDestructiveWord } from '../../core/destructive-words.js';
import { ToolError } from '../../core/error.js';
import { isToolName } from '../../core/name.js';
import { quoteOutside, quoteWord, spellOut } from '../../core/text.js';
import { removeFile } from '../../files/remove.js';
import type { NodeToolbox } from '../../node.js';
import { renewTrust } from '../clients.js';
import { ASKS } from '../consent.js';
import { printJson, report } from '../print.js';
import { findOthers, mayTrust, TRUST_ALL } from '../runnable.js';
import { createFile, findTaken, type NewFile, TEMPLATES, testFile, toFiles } from '../templates.js';
import { option, required, toggle, usageError, type Verb, type VerbCall } from '../verb.js';

export const newTool: Verb = {
  usage: 'new NAME [--bash | --python | --node | --ts | --tools-json | --openapi FILE] [--dry-run] [--yes]',
  summary: 'Create a tool of this workspace that works, with a test. Existing files are not changed.',
  examples: ['wield new greet', 'wield new greet --python', 'wield new petstore --openapi ./petstore.yaml'],
  flags: {
    bash: toggle('A bash script (default)'),
    python: toggle('A Python script'),
    node: toggle('A Node script'),
    ts: toggle('A TypeScript module'),
    'tools-json': toggle('A command line, declared by a tools.json'),
    openapi: option('FILE', 'The operations of an OpenAPI document, which is copied'),
    'dry-run': ASKS['dry-run'],
    yes: TRUST_ALL,
  },
  positionals: 1,
  async run(call) {
    const { terminal, json, cwd, flags, positionals, dryRun } = call;
    const name = required(positionals[0], 'name; usage: wield new NAME', 'wield new --help');
    if (!isToolName(name) || name.includes(':'))
      throw usageError(`"${quoteOutside(name, 60)}" is not a tool name`, describeName(name));
    const kinds = [...TEMPLATES, 'openapi' as const].filter((kind) => flags.has(kind));
    if (kinds.length > 1) throw usageError(`--${kinds[0]} and --${kinds[1]} exclude each other`, 'choose one');
    const [kind = 'bash'] = kinds;
    const toolbox = call.toolbox();
    const { workdir } = toolbox.workspace;
    const files = kind === 'openapi' ? await documentFiles(call, name, workdir) : toFiles(name, kind, workdir);
    assertNew(workdir, files);
    if (kind !== 'openapi') await assertFree(toolbox, name, join(workdir, files[0]!.path));
    const shorten = (path: string): string => spellOut(relative(cwd, join(workdir, path)));
    const created = files.map(({ path }) => path);
    if (dryRun) {
      const text = created.map((path) => `  create   ${shorten(path)}\n`).join('');
      return report(call, { dryRun: true, name, workdir, created }, text);
    }
    const { insideCall, world } = toolbox.machine;
    const { trust } = toolbox.state;
    const wasTrusted = trust.isTrusted(workdir);
    const found = await findOthers(toolbox);
    const write = async (): Promise<void> => writeAll(workdir, files);
    if (insideCall) await write();
    else await renewTrust(toolbox, write);
    // Like wield init (CLI-5).
    if (!insideCall && !wasTrusted && (await mayTrust(call, found))) await trust.trust(workdir, new Date(world.now()));
    const isTrusted = trust.isTrusted(workdir);
    if (json) return printJson(terminal, { ok: true, name, workdir, created, trusted: isTrusted });
    for (const path of created) terminal.out(`  created  ${shorten(path)}\n`);
    // A tools.json has no mark for it.
    const word = kind === 'openapi' || kind === 'tools-json' ? undefined : findDestructiveWord(name);
    if (word !== undefined) terminal.out(`  asks     before a model calls it: "${word}" may be destructive\n`);
    if (!isTrusted) terminal.out('  note     models may call it after: wield trust\n');
    else if (!wasTrusted) terminal.out('  trusted  this workspace; wield trust --revoke undoes it\n');
    terminal.out(kind === 'openapi' ? `  Try      wield ${name}\n` : `  Try      wield call ${name} --text hello\n`);
    terminal.out(`  Test     sh ${quoteWord(shorten(`.agents/tests/${name}.sh`))}\n  Undo     wield remove ${name}\n`);
    return 0;
  },
};

const EXTENSIONS: Readonly<Record<string, string>> = { py: 'python', sh: 'bash', js: 'node', mjs: 'node', ts: 'ts' };

// Names of files are names of tools with the flag of a template.
function describeName(written: string): string {
  const [, name = '', extension = ''] = /^(.+)\.(\w+)$/.exec(written) ?? [];
  const flag = EXTENSIONS[extension];
  return flag !== undefined && isToolName(name)
    ? `wield new ${name} --${flag}`
    : 'use at most 64 letters, digits, _ and -';
}

async function documentFiles({ cwd, flags }: VerbCall, name: string, workdir: string): Promise<NewFile[]> {
  const { inspectDocument } = await import('../add-document.js');
  const source = resolve(cwd, String(flags.get('openapi')));
  if (!existsSync(source)) throw new ToolError('not_found', `file not found: ${quoteOutside(source, 200)}`);
  const bytes = readFileSync(source);
  const path = `.agents/tools/${name}.openapi${extname(source)}`;
  const { tools } = await inspectDocument(bytes, name, join(workdir, path), source);
  const check = tools
    .slice(0, 3)
    .map((tool) => `wield show ${tool.name} > /dev/null || exit 1`)
    .join('\n');
  return [{ path, text: bytes.toString('utf8'), mode: 0o644 }, testFile(name, check)];
}

// All or nothing: what exists is not changed.
function assertNew(workdir: string, files: readonly NewFile[]): void {
  const existing = files.find(({ path }) => existsSync(join(workdir, path)));
  if (existing !== undefined) throw exists(existing.path);
}

function exists(path: string): ToolError {
  return new ToolError('conflict', `${path} exists`, { hint: 'choose another name, or remove it first' });
}

// A tool that another one precedes could not be called.
async function assertFree(toolbox: NodeToolbox, name: string, file: string): Promise<void> {
  const taken = await findTaken(toolbox, name, file);
  if (taken === undefined) return;
  throw new ToolError('conflict', `"${name}" is the name of ${taken}, which would be called instead`, {
    hint: `choose another name; wield show ${name} shows that tool`,
  });
}

function writeAll(workdir: string, files: readonly NewFile[]): void {
  assertNew(workdir, files);
  const made: string[] = [];
  try {
    for (const { path, text, mode } of files) {
      const file = join(workdir, path);
      if (!createFile(file, text, mode)) throw exists(path);
      made.push(file);
    }
  } catch (error) {
    for (const file of made) removeFile(file);
    throw error;
  }
}
