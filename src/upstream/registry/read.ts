// Reads an entry of the MCP registry: from a file, a directory or a registry (API v0.1).

import { join, resolve } from 'node:path';
import { ToolError } from '../../core/error.js';
import { DOCUMENT_BOUNDS, isRecord, type JsonObject, parseJson } from '../../core/json.js';
import { quoteOutside } from '../../core/text.js';
import { readTextFile, statOrNothing } from '../../files/read.js';
import type { CreateFetch } from '../../net/fetch.js';

export const REGISTRY = 'https://registry.modelcontextprotocol.io';
const PREFIX = 'registry:';
const MAX_BYTES = 1024 * 1024;

/** Whether an argument of `mcp add` is an entry of a registry and not the name of a server. */
export function isRegistryReference(text: string, cwd: string): boolean {
  return isRegistryEntry(text, cwd) || (/[./]/.test(text) && statOrNothing(resolve(cwd, text)) !== undefined);
}

/** Whether an argument after a name can only be an entry, and not a program to start. */
export function isRegistryEntry(text: string, cwd: string): boolean {
  // Also a file that does not exist: that is the error to report.
  if (text.startsWith(PREFIX) || text.endsWith('.json')) return true;
  return /[./]/.test(text) && statOrNothing(resolve(cwd, text))?.isDirectory() === true;
}

export interface ReadOptions {
  readonly cwd: string;
  /** The address of the registry. */
  readonly registry: string;
  readonly signal: AbortSignal;
  readonly createFetch: CreateFetch;
}

/** Throws `not_found`, `unavailable`, or `invalid_definition`. */
export async function readRegistryEntry(reference: string, options: ReadOptions): Promise<JsonObject> {
  if (reference.startsWith(PREFIX)) return fetchEntry(reference.slice(PREFIX.length), options);
  const path = resolve(options.cwd, reference);
  const file = statOrNothing(path)?.isDirectory() ? join(path, 'server.json') : path;
  const text = readTextFile(file, MAX_BYTES);
  if (text === undefined)
    throw new ToolError('not_found', `file not found: ${quoteOutside(file, 200)}`, { hint: 'pass a server.json' });
  return toObject(text, file);
}

async function fetchEntry(named: string, { registry, signal, createFetch }: ReadOptions): Promise<JsonObject> {
  const [, name, version = 'latest'] = /^([A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*)(?:@([\w.+-]+))?$/.exec(named) ?? [];
  if (name === undefined)
    throw new ToolError('usage', `"${quoteOutside(named, 80)}" is not the name of a server`, {
      hint: 'write registry:io.github.owner/name, or add @VERSION',
    });
  const base = registry.replace(/\/+$/, '');
  if (!/^https:\/\/|^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\])[:/]/.test(`${base}/`))
    throw new ToolError('usage', 'the address of a registry must begin with https://', { hint: `such as ${REGISTRY}` });
  const url = `${base}/v0.1/servers/${encodeURIComponent(name)}/versions/${encodeURIComponent(version)}`;
  const response = await createFetch({ url })(url, { headers: { accept: 'application/json' }, signal });
  if (response.status === 404)
    throw new ToolError('not_found', `the registry has no server ${name} ${version}`, { hint: `looked at ${url}` });
  if (!response.ok)
    throw new ToolError('unavailable', `the registry responded with status ${response.status}`, { hint: url });
  const text = await response.text();
  if (text.length > MAX_BYTES)
    throw new ToolError('too_large', 'the response of the registry is too large', { hint: url });
  const { server } = toObject(text, url);
  const found = isRecord(server) ? (server as JsonObject) : {};
  const isOther = found.name !== name || (version !== 'latest' && found.version !== version);
  if (isOther)
    throw new ToolError('integrity', `the registry returned a different server than ${name} ${version}`, {
      hint: 'do not use this registry until you know why',
    });
  return found;
}

function toObject(text: string, what: string): JsonObject {
  const document = parseJson(text.replace(/^\ufeff/, ''), what, DOCUMENT_BOUNDS);
  if (isRecord(document)) return document as JsonObject;
  throw new ToolError('invalid_definition', `${what} must be an object`, { hint: 'pass a server.json' });
}
