// Turns an input into the arguments of a declared command: pure, in declaration order, nothing guessed.

import type { Execution, Mapping } from '../../core/command.js';
import { ToolError } from '../../core/error.js';
import { escapePointer, type Json, type JsonObject } from '../../core/json.js';
import type { Slot } from '../../core/plan.js';
import { quoteOutside } from '../../core/text.js';

/** What a command gets besides its arguments. */
export interface CommandInput {
  readonly argv: readonly string[];
  readonly stdin: string;
  /** The directory a parameter names, if one does. */
  readonly directory: string | undefined;
}

/** The execution that an input selects (TJS-24). Throws `invalid_input` where none or several fit. */
export function selectExecution(
  executions: readonly Execution[],
  input: JsonObject,
  tool: string,
): Execution {
  const given = (name: string): boolean => input[name] !== undefined && input[name] !== null;
  const conditional = executions.filter(({ when }) => when !== undefined);
  const fitting = conditional.filter(({ when }) => when!.present.every(given) && !when!.absent.some(given));
  if (fitting.length > 1) {
    throw new ToolError(
      'invalid_input',
      `these parameters of ${tool} do not go together: they ask for two things`,
      {
        hint: `give only one of ${fitting.flatMap(({ when }) => when!.present).join(', ')}`,
      },
    );
  }
  const chosen = fitting[0] ?? executions.find(({ when }) => when === undefined);
  if (chosen !== undefined) return chosen;
  const ways = conditional.map(({ when }) => when!.present.join(' and ')).filter((way) => way !== '');
  throw new ToolError('invalid_input', `${tool} cannot tell what to do from these parameters`, {
    hint: ways.length > 0 ? `give ${ways.join(', or ')}` : 'leave some parameters out',
  });
}

/** The values of an execution's mappings, in order. */
export function toSlots(execution: Execution, input: JsonObject): Slot[] {
  return execution.args.map((mapping) => {
    const given = mapping.kind === 'literal' ? undefined : input[mapping.param];
    const value = given === null || given === undefined ? mapping.absentDefault : given;
    return { mapping, value: mapping.normalizeNewlines ? normalizeNewlines(value) : value };
  });
}

/** The subcommand that runs: a true switch may name another. */
export function selectSubcommand(execution: Execution, slots: readonly Slot[]): string {
  const override = slots.find(
    ({ mapping, value }) => mapping.subcommandOverride !== undefined && value === true,
  );
  return override?.mapping.subcommandOverride ?? execution.subcommand;
}

/** The words of a subcommand on the command line (TJS-6). */
export function splitSubcommand(subcommand: string): string[] {
  return subcommand.split(/\s+/).filter((word) => word !== '');
}

export interface ArgumentOptions {
  /** The path of the temporary file that holds a value. */
  readonly temporaryFile: (mapping: Mapping, text: string) => string;
}

/**
 * The arguments of slots (TJS-7 to 10, 12, 13). Throws `invalid_input` for a value that the program could take for
 * an option, and for NUL.
 */
export function toArguments(
  execution: Execution,
  slots: readonly Slot[],
  options: ArgumentOptions,
): CommandInput {
  const argv: string[] = [];
  let stdin = '';
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
        argv.push(...texts(value).flatMap((text) => flagArguments(mapping, text)));
        break;
      case 'tempfile':
        for (const text of texts(value)) argv.push(mapping.flag, options.temporaryFile(mapping, text));
        break;
      case 'stdin':
        stdin = texts(value).join('\n');
        break;
      case 'workingdir':
        directory = texts(value)[0];
        break;
      case 'positional': {
        const values = texts(value).flatMap((text) => (mapping.split ? splitSubcommand(text) : [text]));
        if (values.length === 0) {
          skipped ||= mapping.optional;
          break;
        }
        if (!afterOptions && (execution.endOfOptions || (mapping.separateIfSkipped && skipped))) {
          argv.push('--');
          afterOptions = true;
        }
        for (const text of values) {
          if (!afterOptions) refuseDash(mapping, text, execution.binary);
          argv.push(text);
        }
      }
    }
  }
  for (const text of argv) refuseNul(text);
  if (directory !== undefined) refuseNul(directory);
  return { argv, stdin, directory };
}

function switchArgument(
  { flagIfTrue, flagIfFalse, subcommandOverride }: Mapping,
  value: Json | undefined,
): string[] {
  if (subcommandOverride !== undefined) return [];
  const flag = value === true ? flagIfTrue : flagIfFalse;
  return flag === undefined ? [] : [flag];
}

// TJS-8: as two arguments, or joined where the value itself begins with a dash.
function flagArguments(mapping: Mapping, text: string): string[] {
  if (!text.startsWith('-') || mapping.allowDash) return [mapping.flag, text];
  if (mapping.flag.startsWith('--')) return [`${mapping.flag}=${text}`];
  throw dashError(mapping, `${mapping.flag} could take it for another option`);
}

function refuseDash(mapping: Mapping, text: string, binary: string): void {
  if (text.startsWith('-') && !mapping.allowDash)
    throw dashError(mapping, `${binary} could read it as an option`);
}

function dashError({ param }: Mapping, why: string): ToolError {
  return new ToolError('invalid_input', `${param} begins with "-": ${why}`, {
    hint: 'give it without the leading "-"; the author of the tool can allow it with "allowDash": true',
    data: {
      faults: [
        {
          kind: 'value',
          path: `/${escapePointer(param)}`,
          expected: 'text that does not begin with "-"',
          got: 'a leading "-"',
        },
      ],
    },
  });
}

function refuseNul(text: string): void {
  if (!text.includes('\0')) return;
  throw new ToolError('invalid_input', `an argument contains a NUL character: ${quoteOutside(text, 40)}`, {
    hint: 'leave it out: no command line can hold one',
  });
}

// TJS-10: one text an element, objects as JSON, nothing for what is missing.
function texts(value: Json | undefined): string[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((entry) => (entry === null ? [] : [oneText(entry)]));
  return [oneText(value)];
}

function oneText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

// TJS-11
function normalizeNewlines(value: Json | undefined): Json | undefined {
  return typeof value === 'string' ? value.replaceAll('\\n', '\n').replaceAll('\\t', '\t') : value;
}
