// Asks the questions of a tool at the terminal, field by field.

import type { ElicitAnswer, Question } from '../core/elicit.js';
import { escapePointer, isRecord, type Json } from '../core/json.js';
import { count, quoteOutside, spellOut } from '../core/text.js';
import { readLine, type Terminal, widthOf, wrap } from './terminal.js';

interface Field {
  readonly name: string;
  readonly type: string;
  readonly title: string;
  readonly description: string;
  /** Allowed values with their titles; empty if any value is allowed. */
  readonly choices: readonly { readonly value: string; readonly title: string }[];
  readonly fallback: Json | undefined;
  readonly required: boolean;
}

const MAX_LINE = 64 * 1024;
const SHOWN_CHOICES = 40;
const CANCEL: ElicitAnswer = { action: 'cancel' };

/** Asks a tool's question after all earlier questions are answered. */
export function askFields(terminal: Terminal, question: Question, signal: AbortSignal): Promise<ElicitAnswer> {
  return terminal.inTurn(() => ask(terminal, question, signal));
}

async function ask(terminal: Terminal, question: Question, signal: AbortSignal): Promise<ElicitAnswer> {
  const { tool, message, url } = question;
  if (signal.aborted) return CANCEL;
  terminal.err(`${terminal.paint('bold', spellOut(tool), 'err')} asks\n`);
  printIndented(terminal, message);
  if (url !== undefined) return askToVisit(terminal, url, signal);
  const content: Record<string, Json> = {};
  for (const field of fieldsOf(question)) {
    const value = await askField(terminal, field, question, signal);
    if (value === null) return CANCEL;
    if (value !== undefined) content[field.name] = value;
  }
  return { action: 'accept', content };
}

async function askToVisit(terminal: Terminal, url: string, signal: AbortSignal): Promise<ElicitAnswer> {
  printIndented(terminal, url);
  terminal.err('Open the page, then press Enter (n to decline): ');
  const answer = await answerLine(terminal, signal);
  if (answer === null) return CANCEL;
  return { action: ['', 'y', 'yes'].includes(answer.trim().toLowerCase()) ? 'accept' : 'decline' };
}

// Returns null if the input ends, undefined if an optional field is left empty.
async function askField(
  terminal: Terminal,
  field: Field,
  { check }: Question,
  signal: AbortSignal,
): Promise<Json | undefined | null> {
  printField(terminal, field);
  for (;;) {
    terminal.err(`${field.title}${suffixOf(field)}: `);
    const line = await answerLine(terminal, signal);
    if (line === null) return null;
    if (line === '' && field.fallback !== undefined) return field.fallback;
    if (line === '' && !field.required) return undefined;
    const value = toValue(line, field);
    const pointer = `/${escapePointer(field.name)}`;
    const faults = (await check({ [field.name]: value })).filter(
      ({ path }) => path === pointer || path.startsWith(`${pointer}/`),
    );
    if (faults.length === 0) return value;
    for (const { expected, got } of faults)
      terminal.err(
        `  ${terminal.paint('yellow', 'no:', 'err')} expected ${quoteOutside(expected, 400)}, got ${quoteOutside(got)}\n`,
      );
  }
}

function printField(terminal: Terminal, { description, choices, type }: Field): void {
  if (description !== '') printIndented(terminal, description);
  if (choices.length === 0) return;
  for (const [at, { value, title }] of choices.slice(0, SHOWN_CHOICES).entries())
    printIndented(terminal, `${at + 1}  ${title}${title === value ? '' : ` (${value})`}`);
  const hidden = choices.length - SHOWN_CHOICES;
  if (hidden > 0) printIndented(terminal, `… and ${count(hidden, 'more choice')}`);
  if (type === 'array') printIndented(terminal, 'separate several with commas');
}

// Formats the type and the default after the title of a field.
function suffixOf({ type, choices, fallback, required }: Field): string {
  const kind = choices.length > 0 || type === 'string' ? '' : type === 'boolean' ? 'yes or no' : `${type}`;
  const notes = [kind, required || fallback !== undefined ? '' : 'optional'].filter(Boolean);
  const shown = fallback === undefined ? '' : ` [${spellOut(toText(fallback))}]`;
  return `${notes.length === 0 ? '' : ` (${notes.join(', ')})`}${shown}`;
}

function toText(value: Json): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return Array.isArray(value) ? value.join(', ') : String(value);
}

// Text that does not fit is returned as text, so that validation reports it.
function toValue(line: string, { type, choices }: Field): Json {
  const text = line.trim();
  const choose = (word: string): string =>
    (
      choices.find(({ value }) => value === word) ??
      choices.find(({ title }) => title.toLowerCase() === word.toLowerCase()) ??
      (/^\d{1,4}$/.test(word) ? choices[Number(word) - 1] : undefined)
    )?.value ?? word;
  if (type === 'array') return text.split(',').map((word) => choose(word.trim()));
  if (choices.length > 0) return choose(text);
  if (type === 'boolean') {
    if (/^(?:y|yes|true)$/i.test(text)) return true;
    return /^(?:n|no|false)$/i.test(text) ? false : text;
  }
  if (type === 'string') return line;
  return text === '' || Number.isNaN(Number(text)) ? text : Number(text);
}

function fieldsOf({ schema }: Question): Field[] {
  const { properties, required } = schema ?? {};
  const needed: readonly Json[] = Array.isArray(required) ? required : [];
  return Object.entries(isRecord(properties) ? properties : {}).map(([name, field]) => {
    const { type, title, description, items, default: fallback } = field as Readonly<Record<string, Json>>;
    return {
      name,
      type: String(type),
      title: spellOut(String(title ?? name)),
      description: String(description ?? ''),
      choices: choicesOf(isRecord(items) ? items : (field as Record<string, unknown>)),
      fallback,
      required: needed.includes(name),
    };
  });
}

function choicesOf(field: Record<string, unknown>): Field['choices'] {
  const { enum: values, enumNames: names } = field;
  if (Array.isArray(values))
    return values.map((value, at) => ({ value, title: Array.isArray(names) ? String(names[at]) : value }));
  const titled = field.oneOf ?? field.anyOf;
  return Array.isArray(titled) ? titled.map((choice) => ({ value: choice.const, title: choice.title })) : [];
}

// Indents and wraps, so that text of a tool cannot look like a line of wield (A41).
function printIndented(terminal: Terminal, text: string): void {
  const width = widthOf(terminal) - 3;
  const lines = text.split('\n').flatMap((line) => wrap(spellOut(line), width));
  terminal.err(lines.map((line) => `  ${line}\n`).join(''));
}

async function answerLine(terminal: Terminal, signal: AbortSignal): Promise<string | null> {
  const text = await readLine(terminal, signal, MAX_LINE);
  const end = text.indexOf('\n');
  if (end === -1) return signal.aborted || text === '' ? null : text;
  return text.slice(0, end).replace(/\r$/, '');
}
