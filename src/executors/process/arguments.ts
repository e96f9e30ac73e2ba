// Maps an input to the arguments of a declared command, in declaration order.

import type { Execution, Mapping } from '../../core/command.js';
import { ToolError } from '../../core/error.js';
import { escapePointer, type Json, type JsonObject, showValue } from '../../core/json.js';
import type { Slot } from '../../core/plan.js';
import { quoteOutside } from '../../core/text.js';
import { containedPath } from '../../files/contained-path.js';

/** The arguments, stdin and directory of a command. */
export interface CommandInput {
  readonly argv: readonly string[];
  readonly stdin: string;
  /** Environment variables that parameters set. */
  readonly variables: Readonly<Record<string, string>>;
  /** The working directory, if a parameter sets it. */
  readonly directory: string | undefined;
}

/** Returns the execution that an input selects (TJS-24). Throws `invalid_input` if none or several match. */
export function selectExecution(executions: readonly Execution[], input: JsonObject, tool: string): Execution {
  const given = (name: string): boolean => input[name] !== undefined && input[name] !== null;
  const conditional = executions.filter(({ when }) => when !== undefined);
  const matching = conditional.filter(({ when }) => when!.present.every(given) && !when!.absent.some(given));
  if (matching.length > 1) {
    throw new ToolError('invalid_input', `these parameters of ${tool} cannot be combined`, {
      hint: `use only one of ${matching.flatMap(({ when }) => when!.present).join(', ')}`,
    });
  }
  const chosen = matching[0] ?? executions.find(({ when }) => when === undefined);
  if (chosen !== undefined) return chosen;
  const options = conditional.map(({ when }) => when!.present.join(' and ')).filter((text) => text !== '');
  throw new ToolError('invalid_input', `${tool} cannot be run with these parameters`, {
    hint: options.length > 0 ? `use ${options.join(', or ')}` : 'remove some parameters',
  });
}

/** Returns the values of an execution's mappings, in order. Throws `too_large` for more than a command line has. */
export function toSlots(execution: Execution, input: JsonObject): Slot[] {
  return execution.args.map((mapping) => {
    const given = mapping.kind === 'literal' ? undefined : input[mapping.param];
    const value = given === null || given === undefined ? mapping.absentDefault : given;
    if (Array.isArray(value) && mapping.kind !== 'stdin' && value.length > mostOf(mapping)) throw tooMany(mapping);
    return { mapping, value: mapping.normalizeNewlines ? normalizeNewlines(value) : value };
  });
}

// TJS-29: arguments of one parameter. Each path is resolved on the disk, for the plan and again for the run.
const MAX_ARGUMENTS = 10_000;
const MAX_PATHS = 250;

function mostOf({ contained }: Mapping): number {
  return contained ? MAX_PATHS : MAX_ARGUMENTS;
}

function tooMany(mapping: Mapping): ToolError {
  const what = mapping.contained ? 'paths' : 'arguments';
  return new ToolError('too_large', `${mapping.param} has more than ${mostOf(mapping)} ${what}`, {
    hint: 'call the tool several times with less',
    data: toFault(mapping.param, `at most ${mostOf(mapping)} ${what}`, 'more'),
  });
}

/** What is wrong with the value of a parameter, for the data of an error. */
export function toFault(param: string, expected: string, got: string, kind = 'value') {
  return { faults: [{ kind, path: `/${escapePointer(param)}`, expected, got }] };
}

/** Splits a value into the arguments of its mapping. Throws `too_large`. */
function splitValue(mapping: Mapping, value: Json | undefined, split = mapping.split): string[] {
  const most = mostOf(mapping);
  const texts: string[] = [];
  for (const text of textsOf(value)) {
    // White space at both ends makes an empty word.
    const words = split ? text.split(/\s+/, most + 3).filter((word) => word !== '') : [text];
    if (texts.length + words.length > most && mapping.kind !== 'stdin') throw tooMany(mapping);
    for (const word of words) texts.push(word);
  }
  return texts;
}

/** Returns the subcommand to run; a boolean parameter may override it. */
export function selectSubcommand(execution: Execution, slots: readonly Slot[]): string {
  const override = slots.find(({ mapping, value }) => mapping.subcommandOverride !== undefined && isTrue(value));
  return override?.mapping.subcommandOverride ?? execution.subcommand;
}

export function splitWords(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

/**
 * Returns the arguments of slots (TJS-7 to 10, 12, 13). Throws `invalid_input` for values that contain NUL, or that
 * the program could read as an option. `temporaryFile` returns the path of a file with a value.
 */
export function toArguments(
  execution: Execution,
  slots: readonly Slot[],
  temporaryFile: (text: string) => string = () => '',
): CommandInput {
  const argv: string[] = [];
  const variables: Record<string, string> = {};
  let stdin = '';
  let missing: string | undefined;
  let directory: string | undefined;
  let afterOptions = false;
  let skipped = false;
  for (const { mapping, value } of slots) {
    switch (mapping.kind) {
      case 'literal':
        argv.push(mapping.literal ?? '');
        break;
      case 'flagifboolean':
        argv.push(...switchArgument(mapping, value));
        break;
      case 'flag':
        argv.push(...textsOf(value).flatMap((text) => flagArguments(mapping, text)));
        break;
      case 'tempfile':
        for (const text of textsOf(value)) argv.push(mapping.flag, temporaryFile(text));
        break;
      case 'stdin':
        stdin = textsOf(value).join('\n');
        break;
      case 'workingdir':
        directory = textsOf(value)[0];
        break;
      case 'envvar':
        for (const text of textsOf(value)) variables[mapping.variable!] = assertVariable(mapping, text);
        break;
      case 'positional': {
        const values = splitValue(mapping, value);
        if (values.length === 0) {
          skipped ||= mapping.optional;
          if (!mapping.optional && !execution.when?.absent.includes(mapping.param)) missing ??= mapping.param;
          break;
        }
        if (missing !== undefined) throw missingError(missing, mapping.param);
        if (!afterOptions && (execution.endOfOptions || (mapping.separateIfSkipped && skipped))) {
          argv.push('--');
          afterOptions = true;
        }
        for (const text of values) {
          const argument = (mapping.prefix ?? '') + text;
          if (!afterOptions) refuseDash(mapping, argument, execution.binary);
          argv.push(argument);
        }
      }
    }
  }
  for (const text of argv) refuseNul(text);
  if (directory !== undefined) refuseNul(directory);
  return { argv, stdin, variables, directory };
}

// TJS-7: without it, the value of another parameter would be read as this one.
function missingError(param: string, next: string): ToolError {
  return new ToolError('invalid_input', `missing parameter "${param}": it comes before "${next}" on the command line`, {
    hint: `pass ${param} too, or leave out ${next}`,
    data: toFault(param, 'a value', 'nothing', 'missing'),
  });
}

// Longer values cannot be passed in the environment.
const MAX_VARIABLE_BYTES = 96 * 1024;

function assertVariable({ param }: Mapping, text: string): string {
  refuseNul(text);
  if (Buffer.byteLength(text) <= MAX_VARIABLE_BYTES) return text;
  throw new ToolError('too_large', `${param} is larger than ${MAX_VARIABLE_BYTES / 1024} KiB`, {
    hint: 'pass less; it is passed as an environment variable',
  });
}

// TJS-9: as text, "true" in any case; as a number, anything but 0.
function isTrue(value: Json | undefined): boolean {
  if (typeof value === 'string') return value.toLowerCase() === 'true';
  return value === true || (typeof value === 'number' && value !== 0);
}

function switchArgument({ flagIfTrue, flagIfFalse, subcommandOverride }: Mapping, value: Json | undefined): string[] {
  if (subcommandOverride !== undefined) return [];
  const flag = isTrue(value) ? flagIfTrue : flagIfFalse;
  return flag === undefined ? [] : [flag];
}

// TJS-8: two arguments, or one joined by = if the value starts with a dash.
function flagArguments(mapping: Mapping, text: string): string[] {
  if (!text.startsWith('-') || mapping.allowDash) return [mapping.flag, text];
  if (mapping.flag.startsWith('--')) return [`${mapping.flag}=${text}`];
  throw dashError(mapping, `${mapping.flag} could read it as another option`);
}

function refuseDash(mapping: Mapping, text: string, binary: string): void {
  if (text.startsWith('-') && !mapping.allowDash) throw dashError(mapping, `${binary} could read it as an option`);
}

function dashError({ param }: Mapping, why: string): ToolError {
  return new ToolError('invalid_input', `${param} starts with "-": ${why}`, {
    hint: 'remove the leading "-"; the author of the tool can allow it with "allowDash": true',
    data: toFault(param, 'text that does not start with "-"', 'a leading "-"'),
  });
}

function refuseNul(text: string): void {
  if (!text.includes('\0')) return;
  throw new ToolError('invalid_input', `an argument contains a NUL character: ${quoteOutside(text, 40)}`, {
    hint: 'remove it; a command line cannot contain NUL',
  });
}

/** Returns the texts of a value: one per element, objects as JSON, none for a missing value (TJS-10). */
export function textsOf(value: Json | undefined): string[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((entry) => (entry === null ? [] : [showValue(entry)]));
  return [showValue(value)];
}

// TJS-11
function normalizeNewlines(value: Json | undefined): Json | undefined {
  return typeof value === 'string' ? value.replaceAll('\\n', '\n').replaceAll('\\t', '\t') : value;
}

interface ContainOptions {
  readonly workdir: string;
  /** Directories that paths must stay in. */
  readonly roots: readonly string[];
  /** Which slots are final; the value of another is not known yet. */
  readonly isFinal: (slot: Slot, index: number) => boolean;
}

/**
 * Replaces paths by their canonical form (TJS-24); `directory` is the one that a parameter sets, if it is known. Throws
 * `path_escape` for a path outside the roots.
 */
export function containSlots(
  slots: readonly Slot[],
  { workdir, roots, isFinal }: ContainOptions,
): { readonly slots: readonly Slot[]; readonly directory: string | undefined } {
  if (slots.every(({ mapping }) => !isPath(mapping))) return { slots, directory: undefined };
  const contain = (slot: Slot, path: string, base: string): string => {
    // Refused with the other arguments.
    if (path.includes('\0')) return path;
    const canonical = containedPath(path, { base, roots });
    // The links of a planned path changed since; it is not what was approved.
    if (canonical !== undefined && (slot.given === undefined || canonical === path)) return canonical;
    throw new ToolError('path_escape', `${slot.mapping.param} is outside ${workdir}`, {
      hint: 'use a path inside the working directory',
      data: { path },
    });
  };
  let directory: string | undefined;
  const moved = slots.map((slot, index): Slot => {
    const [first] = textsOf(slot.value);
    if (slot.mapping.kind !== 'workingdir' || first === undefined || !isFinal(slot, index)) return slot;
    directory = contain(slot, first, workdir);
    return { ...slot, value: directory, given: slot.given ?? slot.value };
  });
  // Relative to the directory that the program runs in.
  const base = directory ?? workdir;
  const contained = moved.map((slot, index): Slot => {
    const { mapping, value } = slot;
    if (!mapping.contained || mapping.kind === 'workingdir' || !isFinal(slot, index)) return slot;
    const split = mapping.split && slot.given === undefined;
    const paths = splitValue(mapping, value, split);
    if (paths.length === 0) return slot;
    const values: Json[] = paths.map((path) => contain(slot, path, base));
    return {
      // A canonical path may contain spaces.
      mapping: { ...mapping, split: false },
      value: values.length === 1 ? values[0] : values,
      given: slot.given ?? value,
    };
  });
  return { slots: contained, directory };
}

/** Returns the canonical values of parameters that are paths. */
export function containedValues(slots: readonly Slot[]): Record<string, Json> {
  return Object.fromEntries(
    slots.flatMap(({ mapping, value, given }) =>
      given === undefined || value === undefined ? [] : [[mapping.param, value]],
    ),
  );
}

function isPath({ contained, kind }: Slot['mapping']): boolean {
  return contained || kind === 'workingdir';
}
