// Reads one execution of a tools.json: the command, its mappings, its conditions and what follows the run.

import type { Execution, Mapping, MappingKind, OutputHint, Resolver } from '../../core/command.js';
import type { Json } from '../../core/json.js';
import { type Complain, readShape, type Shape } from '../../core/strict-object.js';
import { quoteOutside } from '../../core/text.js';

const EXECUTION: Shape = {
  tool: '!words',
  binary: '!words',
  subcommand: '!text',
  args: 'list',
  endOfOptions: 'flag',
  paramCondition: 'object',
  condition: 'object',
  successExitCodes: 'whole numbers',
  maxOutputLines: 'whole number',
  truncationHint: 'text',
  hintConditions: 'list',
  postProcess: 'object',
};
const MAPPING: Shape = {
  param: 'words',
  kind: 'words',
  flag: 'words',
  flagIfTrue: 'words',
  flagIfFalse: 'words',
  subcommandOverride: 'text',
  value: 'text',
  normalizeNewlines: 'flag',
  allowDash: 'flag',
  split: 'flag',
  absentDefault: 'value',
  optional: 'flag',
  disambiguateAfterSkippedPositionals: 'flag',
  readPath: 'flag',
  writePath: 'flag',
  unsafePath: 'flag',
  resolveCommand: 'object',
};
const COMMAND: Shape = { script: 'words', binary: 'words', subcommand: 'text', args: 'texts' };
const RESOLVER: Shape = { ...COMMAND, onFailure: 'words' };
const POST_PROCESS: Shape = { ...COMMAND, emptyIsResult: 'flag' };
const HINT: Shape = { hint: '!words', match: 'text', exitCode: 'value', notEmpty: 'flag', whenArg: 'object' };

// Fields that carry a promise wield does not keep: to leave them out would run less safely than was written.
const UNSUPPORTED: Readonly<Record<string, string>> = {
  binaryWrapper: 'it starts a program that the allowlist does not name',
  sideRead: 'it reads files that no parameter names',
  denyPattern: 'it refuses values in a way that a schema can: use "pattern" or "enum" in parameters',
  denyResolveCommand: 'it goes with denyPattern',
  denyAlwaysResolve: 'it goes with denyPattern',
};
const KINDS: readonly MappingKind[] = [
  'positional',
  'flag',
  'flagifboolean',
  'stdin',
  'workingdir',
  'tempfile',
  'literal',
];
const SCRIPT_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/;

export function readExecution(
  value: unknown,
  pointer: string,
  split: boolean,
  complain: Complain,
): { readonly tool: string; readonly execution: Execution } | undefined {
  if (complainOfUnsupported(value, pointer, complain)) return undefined;
  const entry = readShape(value, pointer, EXECUTION, complain);
  if (entry === undefined) return undefined;
  const args = ((entry.args as unknown[] | undefined) ?? []).flatMap((mapping, index) => {
    const read = readMapping(mapping, `${pointer}/args/${index}`, split, complain);
    return read === undefined ? [] : [read];
  });
  if (args.filter((mapping) => mapping.kind === 'stdin').length > 1) {
    complain({
      pointer: `${pointer}/args`,
      message: 'two parameters go to standard input',
      hint: 'keep one',
    });
  }
  const when = readWhen(entry.paramCondition, `${pointer}/paramCondition`, complain);
  const binGroup = readBinGroup(entry.condition, `${pointer}/condition`, complain);
  const postProcess = readResolver(entry.postProcess, `${pointer}/postProcess`, POST_PROCESS, complain);
  const hints = ((entry.hintConditions as unknown[] | undefined) ?? []).flatMap((hint, index) => {
    const read = readHint(hint, `${pointer}/hintConditions/${index}`, complain);
    return read === undefined ? [] : [read];
  });
  return {
    tool: entry.tool as string,
    execution: {
      binary: entry.binary as string,
      subcommand: entry.subcommand as string,
      args,
      endOfOptions: entry.endOfOptions === true,
      ...(when === undefined ? {} : { when }),
      ...(binGroup === undefined ? {} : { binGroup }),
      successExitCodes: (entry.successExitCodes as number[] | undefined) ?? [],
      ...(typeof entry.maxOutputLines === 'number' ? { maxOutputLines: entry.maxOutputLines } : {}),
      ...(typeof entry.truncationHint === 'string' ? { truncationHint: entry.truncationHint } : {}),
      hints,
      ...(postProcess === undefined ? {} : { postProcess }),
    },
  };
}

function complainOfUnsupported(value: unknown, pointer: string, complain: Complain): boolean {
  const keys = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  const found = keys.filter((key) => Object.hasOwn(UNSUPPORTED, key));
  for (const key of found) {
    complain({
      pointer: `${pointer}/${key}`,
      message: `"${key}" is not supported: ${UNSUPPORTED[key]}`,
      hint: 'remove it',
    });
  }
  return found.length > 0;
}

function readMapping(
  value: unknown,
  pointer: string,
  split: boolean,
  complain: Complain,
): Mapping | undefined {
  if (complainOfUnsupported(value, pointer, complain)) return undefined;
  const entry = readShape(value, pointer, MAPPING, complain);
  if (entry === undefined) return undefined;
  const kind = ((entry.kind as string | undefined) ?? 'positional').toLowerCase() as MappingKind;
  if (!KINDS.includes(kind)) {
    complain({
      pointer: `${pointer}/kind`,
      message: `"${quoteOutside(String(entry.kind), 40)}" is not a kind`,
      hint: `use one of ${KINDS.join(', ')}`,
    });
    return undefined;
  }
  const needed = kind === 'literal' ? 'value' : 'param';
  if (typeof entry[needed] !== 'string') {
    complain({
      pointer: `${pointer}/${needed}`,
      message: `"${needed}" is missing`,
      hint: `add it to a ${kind}`,
    });
    return undefined;
  }
  const resolve = readResolver(entry.resolveCommand, `${pointer}/resolveCommand`, RESOLVER, complain);
  const param = (entry.param as string | undefined) ?? '';
  return {
    kind,
    param,
    flag: toFlag((entry.flag as string | undefined) ?? param, split && typeof entry.flag === 'string'),
    ...optionalText('flagIfTrue', entry.flagIfTrue),
    ...optionalText('flagIfFalse', entry.flagIfFalse),
    ...optionalText('subcommandOverride', entry.subcommandOverride),
    ...optionalText('literal', entry.value),
    normalizeNewlines: entry.normalizeNewlines === true,
    allowDash: entry.allowDash === true,
    split: entry.split === true,
    ...(entry.absentDefault === undefined ? {} : { absentDefault: entry.absentDefault as Json }),
    optional: entry.optional === true,
    separateIfSkipped: entry.disambiguateAfterSkippedPositionals === true,
    contained: (entry.readPath === true || entry.writePath === true) && entry.unsafePath !== true,
    ...(resolve === undefined ? {} : { resolve }),
  };
}

// TJS-8: a flag with dashes stays as it is; the split layout writes one letter with one dash.
function toFlag(name: string, shortLetters: boolean): string {
  if (name.startsWith('-')) return name;
  return shortLetters && name.length === 1 ? `-${name}` : `--${name}`;
}

function optionalText<Name extends string>(name: Name, value: unknown): { [Key in Name]?: string } {
  return typeof value === 'string' ? ({ [name]: value } as { [Key in Name]?: string }) : {};
}

function readResolver(
  value: unknown,
  pointer: string,
  shape: Shape,
  complain: Complain,
): Resolver | undefined {
  if (value === undefined) return undefined;
  const entry = readShape(value, pointer, shape, complain);
  if (entry === undefined) return undefined;
  const script = entry.script as string | undefined;
  const binary = entry.binary as string | undefined;
  if (script === undefined && binary === undefined) {
    complain({ pointer, message: 'names neither a script nor a binary', hint: 'give one of them' });
  }
  // TJS-16: a name, never a way to a file.
  if (script !== undefined && (!SCRIPT_NAME.test(script) || script.includes('..'))) {
    complain({
      pointer: `${pointer}/script`,
      message: `"${quoteOutside(script, 60)}" is not the name of a file in scripts/`,
      hint: 'use a plain name, without separators',
    });
  }
  const { onFailure = 'keep' } = entry;
  if (onFailure !== 'keep' && onFailure !== 'reject') {
    complain({
      pointer: `${pointer}/onFailure`,
      message: 'must be "keep" or "reject"',
      hint: 'write "reject"',
    });
  }
  return {
    ...(script === undefined ? {} : { script }),
    ...(binary === undefined ? {} : { binary }),
    subcommand: (entry.subcommand as string | undefined) ?? '',
    args: (entry.args as string[] | undefined) ?? [],
    onFailure: onFailure === 'reject' ? 'reject' : 'keep',
    emptyIsResult: entry.emptyIsResult === true,
  };
}

function readWhen(value: unknown, pointer: string, complain: Complain): Execution['when'] | undefined {
  if (value === undefined) return undefined;
  const entry = readShape(value, pointer, { present: 'texts', absent: 'texts' }, complain);
  return (
    entry && {
      present: (entry.present as string[] | undefined) ?? [],
      absent: (entry.absent as string[] | undefined) ?? [],
    }
  );
}

function readBinGroup(value: unknown, pointer: string, complain: Complain): number | undefined {
  if (value === undefined) return undefined;
  return readShape(value, pointer, { binGroup: '!whole number' }, complain)?.binGroup as number | undefined;
}

function readHint(value: unknown, pointer: string, complain: Complain): OutputHint | undefined {
  const entry = readShape(value, pointer, HINT, complain);
  if (entry === undefined) return undefined;
  const { exitCode } = entry;
  if (exitCode !== undefined && exitCode !== 'nonzero' && !Number.isSafeInteger(exitCode)) {
    complain({
      pointer: `${pointer}/exitCode`,
      message: 'must be a number or "nonzero"',
      hint: 'write "nonzero"',
    });
    return undefined;
  }
  if (
    entry.match === undefined &&
    exitCode === undefined &&
    entry.notEmpty !== true &&
    entry.whenArg === undefined
  ) {
    complain({
      pointer,
      message: 'a hint without a condition',
      hint: 'add match, exitCode, notEmpty or whenArg',
    });
    return undefined;
  }
  return {
    hint: entry.hint as string,
    ...optionalText('match', entry.match),
    ...(exitCode === undefined ? {} : { exitCode: exitCode as number | 'nonzero' }),
    notEmpty: entry.notEmpty === true,
    whenArg: (entry.whenArg as Record<string, Json> | undefined) ?? {},
  };
}
