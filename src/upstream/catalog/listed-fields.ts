// Fields of an upstream definition that clients get as they are, unless they are too large or contain invisible characters.

import { isRecord, type Json, type JsonObject } from '../../core/json.js';
import { OWN_SCHEMES, toPublicUri } from '../../core/resource.js';
import { formatBytes, sanitize } from '../../core/text.js';
import type { ServerEntry } from '../../core/upstream.js';
import type { RemoteTool } from '../remote-tool.js';

// Of one field; icons may be embedded.
const MAX_CHARACTERS = 16 * 1024;
// Hints that a tool has as traits.
const HINTS: readonly string[] = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];

/** Returns the fields to pass on; undefined if there are none. */
export function readListed(
  remote: RemoteTool,
  server: ServerEntry,
  warn: (warning: string) => void,
): JsonObject | undefined {
  const { icons, annotations, execution, _meta } = remote;
  const other = Object.entries(annotations ?? {}).filter(([hint]) => !HINTS.includes(hint));
  const given: Readonly<Record<string, unknown>> = remote.fields ?? {
    icons,
    annotations: other.length === 0 ? undefined : Object.fromEntries(other),
    // Here it can be called without a task too (UPS-99).
    execution: execution?.taskSupport === 'required' ? { ...execution, taskSupport: 'optional' } : execution,
    _meta,
  };
  const kept = Object.entries(given).flatMap(([key, value]) => {
    if (value === undefined || value === null) return [];
    const text = JSON.stringify(value);
    const fault =
      text.length > MAX_CHARACTERS
        ? `is larger than ${formatBytes(MAX_CHARACTERS)}`
        : sanitize(text) === text
          ? undefined
          : 'contains invisible characters';
    if (fault !== undefined) warn(`has a field ${key} that ${fault}, which is not passed on`);
    return fault === undefined ? [[key, key === '_meta' ? toPublicMeta(value as Json, server) : value]] : [];
  });
  return kept.length === 0 ? undefined : (Object.fromEntries(kept) as JsonObject);
}

type Named = Pick<ServerEntry, 'name' | 'prefix'>;

/**
 * Returns the URI of a server's resource for clients. A page of an MCP App has its server as authority even if the
 * server keeps its names, so that no server can name the page of another (RSC-21).
 */
export function toServerUri({ name, prefix }: Named, uri: string): string {
  return prefix === false && !OWN_SCHEMES.test(uri) ? uri : toPublicUri(name, uri);
}

/** Rewrites the page of an MCP App in `_meta`, so that clients can read it. */
export function toPublicMeta(meta: Json, server: Named): Json {
  if (!isRecord(meta)) return meta;
  const rewrite = (uri: unknown): unknown => (typeof uri === 'string' ? toServerUri(server, uri) : uri);
  const { ui } = meta;
  return {
    ...meta,
    ...(isRecord(ui) && ui.resourceUri !== undefined ? { ui: { ...ui, resourceUri: rewrite(ui.resourceUri) } } : {}),
    // An older spelling.
    ...(meta['ui/resourceUri'] === undefined ? {} : { 'ui/resourceUri': rewrite(meta['ui/resourceUri']) }),
  } as Json;
}
