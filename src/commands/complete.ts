// Completes flags, values and positionals at the cursor (CLI-9).

import { fieldsOf } from '../core/fields.js';
import { type Json, showValue } from '../core/json.js';
import { quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { type FlagKind, splitArguments } from './arguments.js';
import { kebab } from './names.js';
import { isSwitch, isVariadic, type Parameter, toParameters, toPositionals } from './parameters.js';
import { choicesOf, entryOf, typesOf } from './shape.js';
import { createTargetFinder, kindOfTarget, type Target } from './target.js';
import { firstSentences } from './wrap.js';

export interface Candidate {
  readonly value: string;
  readonly description: string;
}

export interface Completion {
  readonly candidates: readonly Candidate[];
  /** Whether file names are offered too. */
  readonly files: boolean;
}

/** The flags and positionals of a command. */
export interface Completable {
  readonly kindOf: (flag: string) => FlagKind | undefined;
  /** Returns the flags that can follow those given. */
  flags(given: readonly string[], current: string): readonly Candidate[];
  values(flag: string, current: string): Completion;
  positional(index: number, given: readonly string[]): Completion;
}

export const NOTHING: Completion = { candidates: [], files: false };

/** A flag of the program itself. */
export interface OwnFlag {
  readonly kind: FlagKind;
  readonly description: string;
}

// A placeholder for the word at the cursor; how it parses shows what is expected there.
const CURSOR = '--\u0000';

/** Completes `current`, the word after `words`. */
export function completeWords(completable: Completable, words: readonly string[], current: string): Completion {
  const { parsed } = splitArguments([...words, CURSOR], completable.kindOf);
  const last = parsed[parsed.length - 1];
  if (last?.kind === 'flag') return matching(completable.values(last.name, current), current);
  const before = parsed.slice(0, -1);
  const given = before.flatMap((argument) => (argument.kind === 'flag' ? [argument.name] : []));
  const inline = last?.kind === 'positional' ? null : /^--([^=]+)=(.*)$/s.exec(current);
  if (inline) {
    const { candidates, files } = completable.values(inline[1]!, inline[2]!);
    const values = candidates.map((one) => ({ ...one, value: `--${inline[1]}=${one.value}` }));
    return matching({ candidates: values, files }, current);
  }
  if (current.startsWith('-') && last?.kind !== 'positional')
    return matching({ candidates: completable.flags(given, current), files: false }, current);
  const index = before.filter((argument) => argument.kind === 'positional').length;
  return matching(completable.positional(index, given), current);
}

// Returns the candidates that start with `current`.
function matching({ candidates, files }: Completion, current: string): Completion {
  return { candidates: candidates.filter((one) => one.value.startsWith(current)), files };
}

/** Returns the flags that were not given. */
export function flagCandidates(flags: Readonly<Record<string, OwnFlag>>, given: readonly string[]): Candidate[] {
  return Object.entries(flags)
    .filter(([name]) => !given.includes(name))
    .map(([name, { description }]) => ({ value: `--${name}`, description }));
}

/** Returns the completions of a tool's arguments and the program's own flags, whose values `ownValues` returns. */
export function toCompletable<F extends OwnFlag>(
  tool: Tool,
  all: Readonly<Record<string, F>>,
  ownValues: (flag: F, current: string) => Completion,
): Completable {
  const root = tool.input.json;
  const parameters = toParameters(root);
  const find = createTargetFinder(parameters);
  const own = Object.fromEntries(Object.entries(all).filter(([name]) => find(name) === undefined));
  const ownKind = (name: string): FlagKind | undefined => (Object.hasOwn(own, name) ? own[name]!.kind : undefined);
  const flagsOf = (parameter: Parameter, current: string): readonly Candidate[] => {
    const description = firstSentences(quoteOutside(parameter.description, 400), 80);
    const flag = { value: `--${parameter.flag}`, description };
    if (isSwitch(parameter)) {
      const negated = { value: `--no-${parameter.flag}`, description };
      return parameter.default === true ? [negated, flag] : current.startsWith('--no') ? [flag, negated] : [flag];
    }
    if (!current.startsWith(`--${parameter.flag}.`)) return [flag];
    return fieldsOf(parameter.schema, root).map((field) => ({
      value: `--${parameter.flag}.${field.name}`,
      description: '',
    }));
  };
  return {
    kindOf: (name) => kindOfTarget(find(name)) ?? ownKind(name),
    flags(given, current) {
      const used = new Set(given.map((name) => find(name)?.parameter));
      const open = parameters.filter((one) => !used.has(one) || isVariadic(one) || one.types.includes('object'));
      return [...open.flatMap((parameter) => flagsOf(parameter, current)), ...flagCandidates(own, given)];
    },
    values(flag, current) {
      const target = find(flag);
      if (target === undefined) return Object.hasOwn(own, flag) ? ownValues(own[flag]!, current) : NOTHING;
      return target.json ? NOTHING : valuesOf(target);
    },
    positional(index, given) {
      const used = new Set(given.map((name) => find(name)?.parameter));
      const free = toPositionals(parameters, tool.traits.positional).filter((one) => !used.has(one));
      const last = free[free.length - 1];
      const parameter = free[index] ?? (last && isVariadic(last) ? last : undefined);
      return parameter === undefined ? NOTHING : valuesOf({ parameter, path: [], json: false, negated: false });
    },
  };

  function valuesOf({ parameter, path }: Target): Completion {
    let node: unknown = parameter.schema;
    for (const step of path) node = fieldsOf(node, root).find((field) => field.name === step)?.node ?? {};
    const types = typesOf(node, root);
    const wanted = types.includes('array') ? entryOf(node, 0, root) : node;
    const choices: readonly Json[] = typesOf(wanted, root).includes('boolean')
      ? [true, false]
      : choicesOf(wanted, root);
    return {
      candidates: choices.map((choice) => ({ value: showValue(choice), description: '' })),
      files: choices.length === 0 && isPath(path[path.length - 1] ?? parameter.name),
    };
  }
}

function isPath(name: string): boolean {
  return /(?:^|-)(?:path|file|filename|dir|directory|folder)s?$/.test(kebab(name));
}
