// Parses how a parameter of a tools.json is passed to its command, and the commands that resolve values.

import type { Mapping, MappingKind, Resolver } from '../../core/command.js';
import type { Json } from '../../core/json.js';
import { type Report, readShape, type Shape } from '../../core/strict-object.js';
import { quoteOutside } from '../../core/text.js';
import { type ReadAt, readDeny, readVariable } from './guards.js';

const MAPPING: Shape = {
  param: 'non-empty string',
  kind: 'non-empty string',
  flag: 'non-empty string',
  flagIfTrue: 'non-empty string',
  flagIfFalse: 'non-empty string',
  subcommandOverride: 'string',
  value: 'string',
  normalizeNewlines: 'boolean',
  allowDash: 'boolean',
  split: 'boolean',
  absentDefault: 'value',
  optional: 'boolean',
  disambiguateAfterSkippedPositionals: 'boolean',
  readPath: 'boolean',
  writePath: 'boolean',
  unsafePath: 'boolean',
  resolveCommand: 'object',
  envVar: 'non-empty string',
  denyPattern: 'non-empty string',
  denyResolveCommand: 'object',
  denyAlwaysResolve: 'boolean',
};
const COMMAND: Shape = {
  script: 'non-empty string',
  binary: 'non-empty string',
  subcommand: 'string',
  args: 'strings',
};
const RESOLVER: Shape = { ...COMMAND, onFailure: 'non-empty string' };
export const POST_PROCESS: Shape = { ...COMMAND, emptyIsResult: 'boolean' };

const KINDS: readonly MappingKind[] = [
  'positional',
  'flag',
  'flagifboolean',
  'stdin',
  'workingdir',
  'tempfile',
  'envvar',
  'literal',
];
const SCRIPT_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/;

export function readMapping(value: unknown, at: ReadAt): Mapping | undefined {
  const { pointer, report } = at;
  const entry = readShape(value, pointer, MAPPING, report);
  if (entry === undefined) return undefined;
  const kind = ((entry.kind as string | undefined) ?? 'positional').toLowerCase() as MappingKind;
  if (!KINDS.includes(kind)) {
    report(
      `${pointer}/kind`,
      `"${quoteOutside(String(entry.kind), 40)}" is not a kind`,
      `use one of ${KINDS.join(', ')}`,
    );
    return undefined;
  }
  const needed = kind === 'literal' ? 'value' : 'param';
  if (typeof entry[needed] !== 'string') {
    report(`${pointer}/${needed}`, `"${needed}" is missing`, `add it to the ${kind}`);
    return undefined;
  }
  const param = (entry.param as string | undefined) ?? '';
  return {
    kind,
    param,
    flag: toFlag((entry.flag as string | undefined) ?? param, typeof entry.flag === 'string'),
    flagIfTrue: optionalString(entry.flagIfTrue),
    flagIfFalse: optionalString(entry.flagIfFalse),
    subcommandOverride: optionalString(entry.subcommandOverride),
    literal: optionalString(entry.value),
    normalizeNewlines: entry.normalizeNewlines === true,
    allowDash: entry.allowDash === true,
    split: entry.split === true,
    absentDefault: entry.absentDefault as Json | undefined,
    optional: entry.optional === true,
    separateIfSkipped: entry.disambiguateAfterSkippedPositionals === true,
    contained: (entry.readPath === true || entry.writePath === true) && entry.unsafePath !== true,
    resolve: readResolver(entry.resolveCommand, `${pointer}/resolveCommand`, RESOLVER, report),
    variable: kind === 'envvar' ? readVariable(entry.envVar, param, at) : undefined,
    deny: readDeny(entry, readResolver(entry.denyResolveCommand, `${pointer}/denyResolveCommand`, COMMAND, report), at),
  };
}

// TJS-8: a flag with dashes is used as is, a single letter gets a single dash.
function toFlag(name: string, shortLetters: boolean): string {
  if (name.startsWith('-')) return name;
  return shortLetters && name.length === 1 ? `-${name}` : `--${name}`;
}

export function optionalString(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function readResolver(value: unknown, pointer: string, shape: Shape, report: Report): Resolver | undefined {
  if (value === undefined) return undefined;
  const entry = readShape(value, pointer, shape, report);
  if (entry === undefined) return undefined;
  const script = optionalString(entry.script);
  const binary = optionalString(entry.binary);
  if (script === undefined && binary === undefined)
    report(pointer, 'has neither a script nor a binary', 'add one of them');
  // TJS-16: a file name, never a path.
  if (script !== undefined && (!SCRIPT_NAME.test(script) || script.includes('..'))) {
    report(
      `${pointer}/script`,
      `"${quoteOutside(script, 60)}" is not the name of a file in scripts/`,
      'use a plain name, without separators',
    );
  }
  const { onFailure = 'keep' } = entry;
  if (onFailure !== 'keep' && onFailure !== 'reject') {
    report(`${pointer}/onFailure`, 'must be "keep" or "reject"', 'write "reject"');
  }
  return {
    script,
    binary,
    subcommand: optionalString(entry.subcommand) ?? '',
    args: (entry.args as string[] | undefined) ?? [],
    onFailure: onFailure === 'reject' ? 'reject' : 'keep',
    emptyIsResult: entry.emptyIsResult === true,
  };
}
