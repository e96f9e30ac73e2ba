// Differences between the generations of tools.json.

import { isRecord } from '../../core/json.js';

const EXECUTION = new Set(['tool', 'binary', 'subcommand', 'args']);
const MAPPING = new Set([
  ...['param', 'kind', 'flag', 'flagIfTrue', 'flagIfFalse', 'normalizeNewlines', 'resolveCommand'],
]);
const KINDS = new Set(['positional', 'flag', 'flagifboolean']);
const RESOLVER = new Set(['script', 'binary', 'subcommand', 'args']);

/**
 * Whether a subcommand with spaces is one argument (TJS-6): in the first generation, which is one file without any field
 * that was added later.
 */
export function hasWholeSubcommands(document: unknown): boolean {
  const { execution } = isRecord(document) ? document : {};
  return Array.isArray(execution) && execution.every(isFirstGeneration);
}

function isFirstGeneration(execution: unknown): boolean {
  if (!isRecord(execution)) return true;
  const args = Array.isArray(execution.args) ? execution.args : [];
  return hasOnly(execution, EXECUTION) && args.every(isFirstMapping);
}

function isFirstMapping(mapping: unknown): boolean {
  if (!isRecord(mapping)) return true;
  const kind = typeof mapping.kind === 'string' ? mapping.kind.toLowerCase() : 'positional';
  const { resolveCommand } = mapping;
  return (
    hasOnly(mapping, MAPPING) && KINDS.has(kind) && (!isRecord(resolveCommand) || hasOnly(resolveCommand, RESOLVER))
  );
}

function hasOnly(value: object, known: ReadonlySet<string>): boolean {
  return Object.keys(value).every((key) => known.has(key));
}
