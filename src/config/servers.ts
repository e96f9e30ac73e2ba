// Parses the servers of a configuration file: `[mcpServers.NAME]` and `[[mcp.servers]]`.

import { isRecord } from '../core/json.js';
import type { Problem } from '../core/problem.js';
import { readServer } from '../upstream/entries/entry.js';
import { describeFinding } from '../upstream/entries/file.js';
import { toMaskedServer } from '../upstream/entries/mask.js';
import type { ConfigValue, Layer } from './value.js';

export interface ServerTable {
  readonly path: readonly string[];
  readonly value: unknown;
  readonly file: string;
  readonly layer: Layer;
  /** Returns the line of a key below the table. */
  readonly lineOf: (keyPath: readonly string[]) => number;
}

/** Parses the table of a server. Only `server` may contain secrets. */
export function readServerTable({ path, value, file, layer, lineOf }: ServerTable): {
  readonly values: readonly ConfigValue[];
  readonly problems: readonly Problem[];
} {
  const line = lineOf([]);
  const { name, table } = path[0] === 'mcp' ? splitName(value) : { name: path[1]!, table: value };
  const owner = layer === 'project' ? 'workspace' : 'user';
  const { entry, findings } = readServer(name, table, { owner, place: { file, pointer: null, line } });
  const problems = findings.map(({ severity, keyPath, message, hint }) => ({
    severity,
    path: file,
    message: `line ${lineOf(keyPath)}: ${describeFinding(name, keyPath, message)}`,
    hint,
  }));
  if (entry === undefined) return { values: [], problems };
  const shown = toMaskedServer(entry);
  const written = JSON.stringify(shown);
  return {
    values: [{ path: ['mcpServers', name], value: shown, written, layer, file, line, server: entry }],
    problems,
  };
}

function splitName(value: unknown): { readonly name: string; readonly table: unknown } {
  if (!isRecord(value)) return { name: '', table: value };
  const { name, ...table } = value;
  return { name: typeof name === 'string' ? name : '', table };
}
