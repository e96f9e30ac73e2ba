// The context tools write, edit, copy, delete and restore.

import type { ToolContext } from '../../core/context.js';
import { ToolError } from '../../core/error.js';
import { parseWithPosition } from '../../core/json.js';
import type { DocumentVersion } from '../../core/store.js';
import { formatBytes, quoteOutside } from '../../core/text.js';
import type { LinePatch } from '../line-patch.js';
import { applyLinePatches } from '../line-patch.js';
import { answer, assertText, type OnConflict, readText, storeOf } from './answer.js';

interface Target {
  readonly path: string;
}

type Write = Target & { readonly content: string; readonly on_conflict?: OnConflict };

export async function write({ path, content, on_conflict }: Write, context: ToolContext) {
  const { documents } = storeOf(context);
  const written = await documents.write(path, Buffer.from(content), { overwrite: on_conflict === 'overwrite' });
  return answer(describe('wrote', written), describeWritten(written));
}

export async function edit(
  { path, patches }: Target & { readonly patches: readonly LinePatch[] },
  context: ToolContext,
) {
  const { documents } = storeOf(context);
  const source = await documents.open(path);
  let before: string;
  try {
    assertText(source);
    before = readText(source);
  } finally {
    source.close();
  }
  const after = applyLinePatches(before, patches);
  if (source.kind === 'json') assertJson(source.path, after);
  const written = await documents.write(source.path, Buffer.from(after), { replaces: source.version });
  return answer(describe('edited', written), { ...describeWritten(written), patches: patches.length });
}

// An edit must not turn a JSON document into invalid JSON, which could no longer be queried.
function assertJson(path: string, text: string): void {
  try {
    parseWithPosition(text);
  } catch (error) {
    throw new ToolError(
      'invalid_input',
      `the edit would make ${quoteOutside(path)} invalid JSON: ${quoteOutside((error as Error).message)}`,
      { hint: 'fix the patches, or replace the document with context_write', data: { path } },
    );
  }
}

type Copy = { readonly from: string; readonly to: string; readonly on_conflict?: OnConflict };

export async function copy({ from, to, on_conflict }: Copy, context: ToolContext) {
  const { documents } = storeOf(context);
  const written = await documents.copy(from, to, { overwrite: on_conflict === 'overwrite' });
  return answer(describe('wrote', written), describeWritten(written));
}

export async function remove({ path }: Target, context: ToolContext) {
  const removed = await storeOf(context).documents.remove(path);
  return answer(`deleted ${removed.path}; restore brings it back`, {
    path: removed.path,
    version: removed.version,
    deleted: true,
  });
}

export async function restore({ path, version }: Target & { readonly version?: number }, context: ToolContext) {
  const { documents } = storeOf(context);
  const [newest, ...older] = await documents.versions(path);
  // Throws `not_found`.
  if (newest === undefined) await documents.read(path);
  if (version === undefined && newest?.size != null) {
    throw new ToolError('invalid_input', `${quoteOutside(path)} is not deleted`, {
      hint: 'pass the version to restore; context_versions lists them',
      data: { path },
    });
  }
  const wanted = version ?? older.find(({ size }) => size !== null)?.version;
  const source = await documents.read(path, wanted ?? 0);
  const written = await documents.write(source.path, source.content, { replaces: newest!.version });
  return answer(`${describe('restored', written)}, from version ${source.version}`, {
    ...describeWritten(written),
    restored_version: source.version,
  });
}

function describe(verb: string, { path, version, size }: DocumentVersion): string {
  return `${verb} ${path}: ${formatBytes(size ?? 0)}, version ${version}`;
}

function describeWritten({ path, version, size, kind }: DocumentVersion) {
  return { path, version, bytes_written: size, kind };
}
