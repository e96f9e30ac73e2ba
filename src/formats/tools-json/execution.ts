// The shape of an execution in a tools.json: the command, how parameters are passed to it, and hints for its output.

import {
  type Deny,
  type Execution,
  isProgramName,
  type Mapping,
  type MappingKind,
  type OutputHint,
  PROGRAM_NAME,
  type Resolver,
  type SideRead,
} from '../../core/command.js';
import { orNothing } from '../../core/error.js';
import type { Json } from '../../core/json.js';
import { variableName } from '../../core/name.js';
import type { JsonSchema } from '../../core/schema.js';
import {
  anything,
  boolean,
  checked,
  converted,
  custom,
  either,
  type Fail,
  type Infer,
  integer,
  list,
  object,
  oneOf,
  optional,
  type Shape,
  string,
  strings,
  table,
  text,
  toCaselessPattern,
  when,
  withKey,
} from '../../core/shape.js';
import { quoteOutside } from '../../core/text.js';

const SCRIPT_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/;
// Variables that change which code runs, or where programs find things.
const POWERFUL =
  /^(?:LD|DYLD|PYTHON|PERL|GIT|NODE|NPM|RUBY|GEM|BUNDLE|CARGO|RUST|JAVA|JDK|GO|BASH|ZSH|GCONV|MALLOC|GLIBC|XDG|SSH|LUA|TCL|R|CURL|OPENSSL|WIELD|OCTOMIND|CHAI_HOME|NIX)_|^(?:PATH|HOME|SHELL|SHELLOPTS|BASHOPTS|ENV|IFS|PS[0-9]|PROMPT_COMMAND|CDPATH|EDITOR|VISUAL|PAGER|BROWSER|TMPDIR|TERMINFO|RUBYOPT|RUBYLIB|GOFLAGS|MAKEFLAGS|CLASSPATH|PYTHON.*|PERL5.*|LESSOPEN|LESSCLOSE|MANPAGER|.*PROXY|.*_COMMAND|.*_EDITOR|.*_PAGER|.*_PRELOAD|.*_OPTIONS|.*_OPTS)$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const KINDS: readonly MappingKind[] = [
  ...(['positional', 'flag', 'flagifboolean', 'stdin', 'workingdir', 'tempfile', 'envvar', 'literal'] as const),
];
const NULLS = { nullIsMissing: true };

const optionalText = optional(text());
const optionalString = optional(string);
const flag = optional(boolean);
const ANY_INTEGER = integer(Number.MIN_SAFE_INTEGER);
const integers = custom<readonly number[]>(
  'an array of integers',
  (value) => (Array.isArray(value) && value.every((one) => Number.isSafeInteger(one)) ? value : undefined),
  { type: 'array', items: ANY_INTEGER.toSchema() },
);

const COMMAND = { script: optionalText, binary: optionalText, subcommand: optionalString, args: optional(strings) };

interface Command {
  readonly script?: string;
  readonly binary?: string;
  readonly subcommand?: string;
  readonly args?: readonly string[];
  readonly onFailure?: 'keep' | 'reject';
  readonly emptyIsResult?: boolean;
}

const RESOLVER_KEYWORDS = {
  anyOf: [withKey('script'), withKey('binary')],
  allOf: [{ properties: { script: { pattern: `^(?!.*\\.\\.)${SCRIPT_NAME.source.slice(1)}` } } }],
};

function resolver(shape: Shape<Command>): Shape<Resolver> {
  return converted(
    checked(shape, checkResolver, RESOLVER_KEYWORDS),
    ({ script, binary, subcommand = '', args = [], ...more }) => ({
      script,
      binary,
      subcommand,
      args,
      onFailure: more.onFailure ?? 'keep',
      emptyIsResult: more.emptyIsResult === true,
    }),
  );
}

function checkResolver({ script, binary }: Command, fail: Fail): void {
  if (script === undefined && binary === undefined) fail([], 'has neither a script nor a binary', 'add one of them');
  // TJS-16: a file name, never a path.
  if (script === undefined || (SCRIPT_NAME.test(script) && !script.includes('..'))) return;
  const message = `"${quoteOutside(script, 60)}" is not the name of a file in scripts/`;
  fail(['script'], message, 'use a plain name, without separators');
}

const mappingShape = () =>
  object(
    {
      param: optionalText,
      kind: optionalText,
      flag: optionalText,
      flagIfTrue: optionalText,
      flagIfFalse: optionalText,
      subcommandOverride: optionalString,
      value: optionalString,
      normalizeNewlines: flag,
      allowDash: flag,
      split: flag,
      absentDefault: optional(anything),
      optional: flag,
      disambiguateAfterSkippedPositionals: flag,
      readPath: flag,
      writePath: flag,
      unsafePath: flag,
      resolveCommand: optional(resolver(object({ ...COMMAND, onFailure: optional(oneOf('keep', 'reject')) }, NULLS))),
      envVar: optionalText,
      denyPattern: optionalText,
      denyResolveCommand: optional(resolver(object(COMMAND, NULLS))),
      denyAlwaysResolve: flag,
    },
    NULLS,
  );
type MappingEntry = Infer<ReturnType<typeof mappingShape>>;

const ofKind = (...kinds: readonly MappingKind[]) => ({
  type: 'string',
  pattern: toCaselessPattern(new RegExp(`^(?:${kinds.join('|')})$`)),
});
const isKind = (kind: MappingKind) => ({ required: ['kind'], properties: { kind: ofKind(kind) } });
// The same as `checkMapping`, for editors.
const mappingKeywords = (): JsonSchema => ({
  allOf: [
    { properties: { kind: { anyOf: [ofKind(...KINDS), { type: 'null' }] } } },
    when(isKind('literal'), withKey('value'), withKey('param')),
    when(isKind('envvar'), {
      properties: {
        envVar: { pattern: VARIABLE.source, not: { type: 'string', pattern: toCaselessPattern(POWERFUL) } },
      },
    }),
    when({ anyOf: [withKey('denyResolveCommand'), withKey('denyAlwaysResolve')] }, withKey('denyPattern')),
    when(
      { required: ['denyAlwaysResolve'], properties: { denyAlwaysResolve: { const: true } } },
      withKey('denyResolveCommand'),
    ),
  ],
});
const mapping = (): Shape<Mapping> => converted(checked(mappingShape(), checkMapping, mappingKeywords()), toMapping);

const kindOf = ({ kind = 'positional' }: MappingEntry): string => kind.toLowerCase();
const variableOf = ({ envVar, param = '' }: MappingEntry): string => envVar ?? variableName(param);

function checkMapping(entry: MappingEntry, fail: Fail): void {
  const kind = kindOf(entry);
  const needed = kind === 'literal' ? 'value' : 'param';
  if (!KINDS.some((known) => known === kind))
    fail(['kind'], `"${quoteOutside(String(entry.kind), 40)}" is not a kind`, `use one of ${KINDS.join(', ')}`);
  else if (entry[needed] === undefined) fail([needed], `"${needed}" is missing`, `add it to the ${kind}`);
  // TJS-25: a caller chooses the value, so the variable must not be one that programs obey.
  const variable = variableOf(entry);
  if (kind === 'envvar' && (!VARIABLE.test(variable) || POWERFUL.test(variable.toUpperCase())))
    fail(
      ['envVar'],
      `"${quoteOutside(variable, 60)}" cannot be set by a parameter`,
      'use a name that only this program reads, such as NOTES_CONTENT',
    );
  checkDeny(entry, fail);
}

// TJS-26: a part of a deny check without the rest is a promise that cannot be kept.
function checkDeny(entry: MappingEntry, fail: Fail): void {
  const { denyPattern, denyResolveCommand, denyAlwaysResolve } = entry;
  if (denyPattern === undefined) {
    for (const key of ['denyResolveCommand', 'denyAlwaysResolve'] as const)
      if (entry[key] !== undefined) fail([key], `"${key}" without "denyPattern"`, 'add a denyPattern');
    return;
  }
  if (denyAlwaysResolve === true && denyResolveCommand === undefined)
    fail(['denyAlwaysResolve'], 'there is no denyResolveCommand', 'add one, or remove denyAlwaysResolve');
  if (!isPattern(denyPattern))
    fail(
      ['denyPattern'],
      `"${quoteOutside(denyPattern, 60)}" is not a regular expression`,
      'write one as for "pattern" of JSON Schema',
    );
}

function isPattern(source: string): boolean {
  return orNothing(() => new RegExp(source, 'u') instanceof RegExp) ?? false;
}

function toMapping(entry: MappingEntry): Mapping {
  const kind = kindOf(entry) as MappingKind;
  const { param = '', denyPattern: pattern } = entry;
  const deny: Deny | undefined =
    pattern === undefined
      ? undefined
      : { pattern, resolve: entry.denyResolveCommand, always: entry.denyAlwaysResolve === true };
  return {
    kind,
    param,
    flag: toFlag(entry.flag ?? param, entry.flag !== undefined),
    flagIfTrue: entry.flagIfTrue,
    flagIfFalse: entry.flagIfFalse,
    subcommandOverride: entry.subcommandOverride,
    literal: entry.value,
    normalizeNewlines: entry.normalizeNewlines === true,
    allowDash: entry.allowDash === true,
    split: entry.split === true,
    absentDefault: entry.absentDefault as Json | undefined,
    optional: entry.optional === true,
    separateIfSkipped: entry.disambiguateAfterSkippedPositionals === true,
    contained: (entry.readPath === true || entry.writePath === true) && entry.unsafePath !== true,
    resolve: entry.resolveCommand,
    variable: kind === 'envvar' ? variableOf(entry) : undefined,
    deny,
  };
}

// TJS-8: a flag with dashes is used as is, a single letter gets a single dash.
function toFlag(name: string, shortLetters: boolean): string {
  if (name.startsWith('-')) return name;
  return shortLetters && name.length === 1 ? `-${name}` : `--${name}`;
}

const outputHint = (): Shape<OutputHint> =>
  converted(
    checked(
      object(
        {
          hint: text(),
          match: optionalString,
          exitCode: optional(either([ANY_INTEGER, oneOf('nonzero')], 'a number or "nonzero"')),
          notEmpty: flag,
          whenArg: optional(table),
        },
        NULLS,
      ),
      ({ match, exitCode, notEmpty, whenArg }, fail) => {
        if (match === undefined && exitCode === undefined && notEmpty !== true && whenArg === undefined)
          fail([], 'a hint without a condition', 'add match, exitCode, notEmpty or whenArg');
      },
      {
        anyOf: [
          ...['match', 'exitCode', 'whenArg'].map(withKey),
          { required: ['notEmpty'], properties: { notEmpty: { const: true } } },
        ],
      },
    ),
    ({ hint, match, exitCode, notEmpty, whenArg = {} }) => ({
      hint,
      match,
      exitCode,
      notEmpty: notEmpty === true,
      whenArg: whenArg as Record<string, Json>,
    }),
  );

const sideRead = (): Shape<SideRead> =>
  converted(
    // TJS-28: a name, never a path.
    checked(
      object({ pathParam: text(), filename: text(), label: optionalText, oncePerSession: flag }, NULLS),
      ({ filename }, fail) => {
        if (/[/\\\0]/.test(filename) || filename.includes('..') || filename === '.')
          fail(['filename'], `"${quoteOutside(filename, 60)}" is not a file name`, 'write a name without separators');
      },
      { allOf: [{ properties: { filename: { pattern: '^(?![\\s\\S]*\\.\\.)(?!\\.$)[^/\\\\\\x00]*$' } } }] },
    ),
    ({ pathParam, filename, label = filename, oncePerSession }) => ({
      param: pathParam,
      file: filename,
      label,
      oncePerSession: oncePerSession === true,
    }),
  );

// TJS-27: a program of the PATH, never a path into the skill or the checkout.
const wrapper = () =>
  checked(
    strings,
    (words, fail) => {
      if (!isProgramName(words[0] ?? ''))
        fail([0], 'is not a program name', 'write the name as found on PATH, without a directory');
      if (words.some((word) => word === '' || word.includes('\0')))
        fail([], 'an argument is empty or contains NUL', 'remove it');
    },
    {
      minItems: 1,
      prefixItems: [{ type: 'string', pattern: PROGRAM_NAME.source }],
      items: { type: 'string', pattern: '^[^\\x00]+$' },
    },
  );

/** An execution, with the tool that it belongs to. */
export const execution = (): Shape<{ readonly tool: string; readonly execution: Execution }> =>
  converted(
    checked(
      object(
        {
          tool: text(),
          binary: text(),
          subcommand: string,
          args: optional(list(mapping())),
          endOfOptions: flag,
          paramCondition: optional(object({ present: optional(strings), absent: optional(strings) }, NULLS)),
          condition: optional(object({ binGroup: integer() }, NULLS)),
          successExitCodes: optional(integers),
          maxOutputLines: optional(integer()),
          truncationHint: optionalString,
          hintConditions: optional(list(outputHint())),
          postProcess: optional(resolver(object({ ...COMMAND, emptyIsResult: flag }, NULLS))),
          binaryWrapper: optional(wrapper()),
          sideRead: optional(sideRead()),
        },
        NULLS,
      ),
      ({ args = [] }, fail) => {
        if (args.filter(({ kind }) => kind === 'stdin').length > 1)
          fail(['args'], 'two parameters go to stdin', 'keep one');
      },
      { allOf: [{ properties: { args: { contains: isKind('stdin'), minContains: 0, maxContains: 1 } } }] },
    ),
    ({ args = [], endOfOptions, paramCondition: when, condition, successExitCodes = [], ...entry }) => ({
      tool: entry.tool,
      execution: {
        binary: entry.binary,
        subcommand: entry.subcommand,
        args,
        endOfOptions: endOfOptions === true,
        when: when && { present: when.present ?? [], absent: when.absent ?? [] },
        binGroup: condition?.binGroup,
        successExitCodes,
        maxOutputLines: entry.maxOutputLines,
        truncationHint: entry.truncationHint,
        hints: entry.hintConditions ?? [],
        postProcess: entry.postProcess,
        wrapper: entry.binaryWrapper,
        sideRead: entry.sideRead,
      },
    }),
  );
