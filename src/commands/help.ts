// Formats the help of a tool from its schema (MOD-24).

import { describeConstraints } from '../core/constraints.js';
import { fieldsOf } from '../core/fields.js';
import { isRecord, type Json, type JsonObject } from '../core/json.js';
import { quoteOutside, quoteWord, sanitize } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { toCommandLine } from './line.js';
import { isSwitch, isVariadic, OWN_FLAGS, type Parameter, toParameters, toPositionals } from './parameters.js';
import { sampleOf } from './sample.js';
import { choicesOf, entryOf, typesOf } from './shape.js';
import { firstSentences, HELP_WIDTH, wrap, wrapWords } from './wrap.js';

/** Options of `formatToolHelp`. */
export interface ToolHelpOptions {
  /** Where the tool comes from; its URI by default. */
  readonly from?: string;
}

// Column limits in characters.
const ABOUT_LIMIT = 240;
const NAME_LIMIT = 28;
const TYPE_LIMIT = 24;

/** Formats `--help` of a tool; `command` precedes its arguments. */
export function formatToolHelp(tool: Tool, command: string, options: ToolHelpOptions = {}): string {
  const parameters = toParameters(tool.input.json);
  const positionals = toPositionals(parameters, tool.traits.positional);
  const lines = [
    ...wrap(sanitize(tool.description).trim(), HELP_WIDTH),
    '',
    ...hang(`  ${command}`, usage(parameters, positionals)),
    '',
  ];
  if (parameters.length > 0) lines.push(...parameterRows(tool), '');
  const example = exampleArguments(tool);
  const from = options.from ?? tool.origin.uri ?? tool.origin.format;
  if (example !== undefined) lines.push('Example', `  ${[command, ...example].join(' ')}`, '');
  lines.push(...ownFlagNote(parameters, command), `from ${from}`, '');
  return sanitize(lines.join('\n'));
}

// CLI-13: says where the flags of wield go if the tool has parameters of the same name.
function ownFlagNote(parameters: readonly Parameter[], command: string): string[] {
  const names = parameters.map(({ flag }) => flag).filter((flag) => OWN_FLAGS.has(flag));
  if (names.length === 0) return [];
  const [program = '', ...words] = command.split(' ');
  const flags = names.map((name) => `--${name}`).join(', ');
  const where = [program, `--${names[0]}`, ...words].join(' ');
  return [`${flags} set parameters of this tool; flags of ${program} go before its name: ${where}`, ''];
}

// Wraps words with a hanging indent.
function hang(head: string, words: readonly string[]): string[] {
  if (words.length === 0) return [head];
  const indent = Math.min(head.length + 1, 40);
  const [first, ...others] = wrapWords(words, HELP_WIDTH - indent);
  return [`${head} ${first}`, ...others.map((line) => ' '.repeat(indent) + line)];
}

function usage(parameters: readonly Parameter[], positionals: readonly Parameter[]): string[] {
  return [
    ...positionals.map((parameter) => {
      const name = `${quoteOutside(parameter.flag, 60)}${isVariadic(parameter) ? '...' : ''}`;
      return parameter.required ? `<${name}>` : `[${name}]`;
    }),
    ...parameters
      .filter((parameter) => !positionals.includes(parameter))
      .map((parameter) => (parameter.required ? flagUsage(parameter) : `[${flagUsage(parameter)}]`)),
  ];
}

function flagUsage(parameter: Parameter): string {
  if (isSwitch(parameter)) return parameter.default === true ? `--no-${parameter.flag}` : `--${parameter.flag}`;
  const shown = (parameter.default ?? null) === null ? '' : shownValue(parameter.default!);
  const value = shown !== '' && shown.length <= 20 ? shown : typeName(parameter).toUpperCase();
  return `--${parameter.flag} ${value}${isVariadic(parameter) ? ' …' : ''}`;
}

/** Formats one row per parameter: a star if required, flag, type, description. */
export function parameterRows(tool: Tool): string[] {
  const rows = toParameters(tool.input.json).map((parameter) => ({
    name: `${parameter.required ? '*' : ' '}${parameter.flag}`,
    type: typeName(parameter),
    about: aboutParameter(parameter, tool),
  }));
  const nameWidth = Math.min(NAME_LIMIT, Math.max(...rows.map(({ name }) => name.length)));
  const typeWidth = Math.min(TYPE_LIMIT, Math.max(...rows.map(({ type }) => type.length)));
  const indent = 2 + nameWidth + 3 + typeWidth + 3;
  return rows.flatMap(({ name, type, about }) => {
    const head = `  ${name.padEnd(nameWidth)}   ${type.padEnd(typeWidth)}   `;
    const lines = wrapWords(about.split(' '), HELP_WIDTH - indent);
    // A head that is wider than its columns gets its own line.
    const [first = '', ...others] = head.length > indent ? ['', ...lines] : lines;
    return [`${head}${first}`, ...others.map((line) => ' '.repeat(indent) + line)].map((line) => line.trimEnd());
  });
}

function aboutParameter({ description, choices, default: standard, schema, types }: Parameter, tool: Tool): string {
  const fields = types.includes('object') ? fieldsOf(schema, tool.input.json) : [];
  return [
    firstSentences(sanitize(description), ABOUT_LIMIT).replace(/\.$/, ''),
    choices.length > 0 ? `one of ${choices.map(shownValue).join(', ')}` : '',
    ...describeConstraints(schema),
    types.includes('array') ? itemText(entryOf(schema, 0, tool.input.json), tool) : '',
    fields.length > 0 ? `fields ${fields.map((field) => quoteOutside(field.name, 60)).join(', ')}` : '',
    standard === undefined ? '' : `default ${shownValue(standard)}`,
  ]
    .filter((text) => text !== '')
    .join('; ');
}

function typeName(parameter: Parameter): string {
  return parameter.types.length === 0 ? 'any' : parameter.types.join('|');
}

// Describes the items of an array: `each one of a, b`, `each integer, 1 to 10`.
function itemText(item: unknown, tool: Tool): string {
  const root = tool.input.json;
  const choices = choicesOf(item, root);
  if (choices.length > 0) return `each one of ${choices.map(shownValue).join(', ')}`;
  const node = isRecord(item) ? item : {};
  const parts = [typesOf(item, root).join('|'), ...describeConstraints(node)].filter((text) => text !== '');
  return parts.length === 0 || parts.join() === 'string' ? '' : `each ${parts.join(', ')}`;
}

// Formats a value inside a sentence; empty and padded text is quoted.
function shownValue(value: Json): string {
  const plain = typeof value === 'string' && value.trim() === value && value !== '';
  return quoteOutside(plain ? value : JSON.stringify(value), 80);
}

/**
 * Returns example arguments in shell quotes: the tool's own example, else a sample of each required parameter; undefined
 * if no valid one is known (MOD-41).
 */
export function exampleArguments(tool: Tool): string[] | undefined {
  const [example] = tool.traits.examples;
  const input = isRecord(example) ? example : sampleOf(tool.input.json, '', tool.input.json);
  return isRecord(input)
    ? toCommandLine(tool, input as JsonObject).map((word) => quoteWord(sanitize(word)))
    : undefined;
}
