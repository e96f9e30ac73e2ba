// `wield add FILE` of an OpenAPI document: copies it into your tools directory and shows what it offers.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, extname, join, resolve } from 'node:path';
import { assertPerson } from '../core/caller.js';
import { ToolError } from '../core/error.js';
import { isToolName } from '../core/name.js';
import { type Finding, formatPosition } from '../core/problem.js';
import { count, sanitize } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { withFileLock } from '../files/change.js';
import { makeDirectory } from '../files/make-directory.js';
import { readHead, statOrNothing } from '../files/read.js';
import { removeTree } from '../files/remove.js';
import { writeFileAtomic } from '../files/write.js';
import { prepareDocument } from '../formats/openapi/documents.js';
import type { Prepared } from '../formats/openapi/prepare.js';
import { type NamedTools, toTools } from '../formats/openapi/to-tools.js';
import { type AddressClass, classifyHost, isWithinReach } from '../net/address.js';
import type { CreateFetch } from '../net/fetch.js';
import { confirm } from './consent.js';
import { printJson } from './print.js';
import { usageError, type VerbCall } from './verb.js';

const DOCUMENT = /\.(?:json|ya?ml)$/i;
const MAX_BYTES = 64 * 1024 * 1024;
const TIMEOUT_MS = 60_000;

/** Whether what is to be added is a document, and not a source of items. */
export function isDocument(source: string, cwd: string): boolean {
  if (/^https?:\/\//i.test(source)) return DOCUMENT.test(new URL(source).pathname);
  return DOCUMENT.test(source) && statOrNothing(resolve(cwd, source))?.isFile() === true;
}

/** Adds a document to the tools of the user. */
export async function addDocument(call: VerbCall, source: string): Promise<number> {
  const { terminal, json, cwd, flags, dryRun } = call;
  const { machine, state } = call.toolbox();
  if (!dryRun) assertPerson(machine.insideCall, 'adding tools');
  const { home } = machine.world;
  if (home === undefined) throw new ToolError('unavailable', 'there is no home directory', { hint: 'set HOME' });
  const isRemote = /^https?:\/\//i.test(source);
  const path = isRemote ? new URL(source).pathname : source;
  const bytes = isRemote ? await download(source, state.network.createFetch) : readFile(resolve(cwd, source));
  const name = flags.get('namespace')?.toString() ?? nameOf(path);
  if (!isToolName(name) || name.includes(':'))
    throw usageError(`"${sanitize(name)}" cannot be the name of a group`, 'choose one: --namespace NAME');
  const file = join(home, '.agents', 'tools', `${name}.openapi${extname(path)}`);
  const found = await inspectDocument(bytes, name, file, isRemote ? new URL(source) : resolve(cwd, source));
  const { wieldHome } = machine;
  if (!json) print(call, found);
  if (!json && (dryRun || !flags.has('yes')))
    terminal.out(`  ${dryRun ? 'would write' : 'file   '}  ${sanitize(file)}\n`);
  const assertFree = (): void => {
    const known = readHead(file, MAX_BYTES);
    if (!('fault' in known) && !known.bytes.equals(bytes) && !flags.has('force'))
      throw new ToolError('conflict', `${file} exists and is different`, { hint: 'pass --force, or --namespace NAME' });
  };
  assertFree();
  if (!dryRun && !(await confirm(call, 'Add it to your tools?', file))) return 0;
  const write = (): Promise<void> =>
    withFileLock(file, { wieldHome, signal: call.signal, doing: `writing ${file}` }, async () => {
      assertFree();
      makeDirectory(join(home, '.agents', 'tools'), 0o755);
      writeFileAtomic(file, bytes, { mode: 0o644 });
    });
  if (!dryRun) await write();
  if (json)
    printJson(terminal, {
      ok: true,
      dryRun,
      document: { name, file, ...summarize(found.tools), problems: found.findings },
    });
  else if (!dryRun) {
    const shown = found.tools.find(({ traits }) => traits.readOnly === true) ?? found.tools[0]!;
    terminal.out(`  Try      wield ${name} ${shown.name.replaceAll('_', '-')} --help\n`);
  }
  return 0;
}

// Reserved names (RFC 2606), and those that ask for a name.
const PLACEHOLDER =
  /(?:^|\.)(?:example\.(?:com|net|org)|example|test|invalid)$|(?:^|[.-])(?:your|my)-?(?:domain|host|server|company|instance|tenant|site|org|api)(?:$|[.-])/i;

function readFile(path: string): Buffer {
  const reading = readHead(path, MAX_BYTES);
  if (!('fault' in reading) && reading.complete) return reading.bytes;
  const [reason, hint] =
    'fault' in reading ? [reading.message, 'check the path'] : ['it is larger than 64 MB', 'keep what you need of it'];
  throw new ToolError('unavailable', `${path} cannot be read: ${reason}`, { hint });
}

async function download(url: string, createFetch: CreateFetch): Promise<Buffer> {
  const response = await createFetch({ url, maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS })(url);
  if (!response.ok)
    throw new ToolError('unavailable', `${sanitize(url)} responded with status ${response.status}`, {
      hint: 'check the address',
    });
  return Buffer.from(await response.arrayBuffer());
}

function nameOf(path: string): string {
  return basename(path)
    .replace(/(?:\.openapi)?\.(?:json|ya?ml)$/i, '')
    .replace(/[^A-Za-z0-9_-]+/g, '_');
}

/** Reads a document where it is, to find files beside it; of a download there is only a copy. Checks its servers. */
export async function inspectDocument(
  bytes: Buffer,
  name: string,
  file: string,
  source: string | URL,
): Promise<NamedTools> {
  const original = typeof source === 'string' ? source : undefined;
  const directory = original === undefined ? mkdtempSync(join(tmpdir(), 'wield-')) : undefined;
  const path = original ?? join(directory!, basename(file));
  try {
    if (directory !== undefined) writeFileSync(path, bytes);
    const document = await prepareDocument(path, { name, settings: {} });
    const named = toTools(document.drafts, name, { directory: join(file, '..'), owner: 'user' }, new Set());
    const placeholders = serversOf(named.tools).filter((server) => PLACEHOLDER.test(new URL(server).hostname));
    const findings = [
      ...document.findings,
      ...named.findings,
      ...placeholders.map(
        (server): Finding => ({
          severity: 'warning',
          message: `the server ${sanitize(server)} is a placeholder`,
          hint: `set server = "https://…" in [openapi.${name}] of ~/.wield/config.toml`,
        }),
      ),
    ];
    const found = { tools: named.tools, findings };
    assertWhole(document, name, path);
    assertReachableServers(found.tools, typeof source === 'string' ? 'loopback' : classifyHost(source.hostname).class);
    if (found.tools.length > 0) return found;
    const { message = 'has no operations', hint = 'add some', line } = found.findings[0] ?? {};
    const position = formatPosition(original ?? sanitize(basename(file)), { line });
    throw new ToolError('invalid_definition', `${position}: ${message}`, { hint });
  } finally {
    if (directory !== undefined) removeTree(directory);
  }
}

function assertWhole({ files }: Prepared, name: string, path: string): void {
  if (files.length < 2) return;
  throw new ToolError('invalid_definition', `${path} refers to ${count(files.length - 1, 'other file')}`, {
    hint: `use it where it is, in ~/.wield/config.toml: [openapi.${name}] spec = ${JSON.stringify(path)}`,
  });
}

// A document of another machine must not lead a model to services of this one or of its network (A54); nobody calls a
// metadata address.
function assertReachableServers(tools: readonly Tool[], own: AddressClass): void {
  for (const server of serversOf(tools)) {
    const { class: found, label } = classifyHost(new URL(server).hostname);
    if (own !== 'forbidden' && isWithinReach(found, own)) continue;
    throw new ToolError('invalid_definition', `the document names the server ${sanitize(server)}, which is ${label}`, {
      hint:
        found === 'forbidden'
          ? 'remove it from the document'
          : 'if that is correct, download the document and add the file',
    });
  }
}

function serversOf(tools: readonly Tool[]): string[] {
  const all = tools.map(({ action }) => (action.kind === 'http' ? action.server : ''));
  return [...new Set(all)].filter((server) => server !== '');
}

function summarize(tools: readonly Tool[]) {
  const readOnly = tools.filter(({ traits }) => traits.readOnly === true).length;
  const [server = '', ...others] = serversOf(tools);
  return { server, others, operations: tools.length, readOnly, asks: tools.length - readOnly };
}

function print({ terminal }: VerbCall, { tools, findings }: NamedTools): void {
  const { server, others, operations, readOnly, asks } = summarize(tools);
  const at = server === '' ? '' : ` at ${[server, ...others].map(sanitize).join(', ')}`;
  terminal.out(`  found    ${count(operations, 'operation')}${at}    ${readOnly} read-only, ${asks} ask first\n`);
  for (const { message, hint } of findings)
    terminal.err(`  ${terminal.paint('yellow', 'warning', 'err')}  ${sanitize(message)}; ${sanitize(hint)}\n`);
}
