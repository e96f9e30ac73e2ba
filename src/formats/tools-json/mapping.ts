// Parses how a parameter of a tools.json is passed to its command, and the commands that resolve values.

import type { Mapping, MappingKind } from '../../core/command.js';
import type { Json } from '../../core/json.js';
import { readShape, type Shape } from '../../core/strict-object.js';
import { quoteOutside } from '../../core/text.js';
import { type ReadAt, readDeny, readVariable } from './guards.js';
import { COMMAND, optionalString, RESOLVER, readResolver } from './resolver.js';

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
