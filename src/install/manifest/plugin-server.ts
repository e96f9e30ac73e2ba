// One MCP server of a plugin: its entry, checked as if it were configured.

import { isToolError } from '../../core/error.js';
import type { Json, JsonObject } from '../../core/json.js';
import { readServer } from '../../upstream/entries/entry.js';
import { findNameFault } from './item-name.js';

export interface PluginServer {
  readonly name: string;
  /** The entry; placeholders such as `${CLAUDE_PLUGIN_ROOT}` are not expanded. */
  readonly entry: JsonObject;
}

/** Called with each server that cannot be installed. */
export type SkipServer = (name: string, reason: string) => void;

/** Returns undefined for an entry with an error, which is a reason not to install it. */
export function toServer(name: string, entry: Json, skip: SkipServer): PluginServer | undefined {
  const fault = findNameFault(name);
  if (fault !== undefined) {
    skip(name, `its name ${fault}`);
    return undefined;
  }
  const place = { file: '', pointer: null, line: null };
  const { findings, entry: read } = readServer(name, entry, { owner: 'package', place });
  if (read !== undefined) return { name, entry: entry as JsonObject };
  const first = findings.find(({ severity }) => severity === 'error');
  skip(name, [first?.keyPath.join('.'), first?.message].filter(Boolean).join(': '));
  return undefined;
}

/** Reads something; a ToolError is a reason to skip it. */
export function attempt(name: string, skip: SkipServer, read: () => JsonObject | undefined): JsonObject[] {
  try {
    const value = read();
    return value === undefined ? [] : [value];
  } catch (error) {
    if (!isToolError(error)) throw error;
    skip(name, error.message);
    return [];
  }
}
