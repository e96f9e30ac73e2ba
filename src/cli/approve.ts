// What the command line asks at the terminal during a call: approvals, and the questions of tools, field by field.

import { type ApprovalAnswer, type ApprovalRequest, type Approve, approveBy } from '../core/approval.js';
import type { Elicit, ElicitAnswer, Question } from '../core/elicit.js';
import { ToolError } from '../core/error.js';
import { escapePointer, isRecord, type Json } from '../core/json.js';
import { count, quoteOutside, spellOut } from '../core/text.js';
import { approvalRows, changeLines } from '../policy/approval-text.js';
import { readLine, type Terminal, widthOf, wrap } from './terminal.js';

const INDENT = 12;

/** Creates the approval callback; undefined if the user cannot be asked. `yes` approves without asking. */
export function createApprove(terminal: Terminal, yes: boolean, insideCall: boolean): Approve | undefined {
  // A tool that starts wield cannot approve anything, even on a terminal it created (A44).
  if (insideCall) return yes ? approveBy('yes', refuseYes) : undefined;
  if (yes) return approveBy('yes', async () => 'once');
  if (!terminal.canAsk) return undefined;
  return approveBy('terminal', (request) => terminal.inTurn(() => askApproval(terminal, request)));
}

/** Creates the elicitation callback; undefined if the user cannot be asked (MOD-18). */
export function createElicit(terminal: Terminal, insideCall: boolean): Elicit<Question> | undefined {
  if (insideCall || !terminal.canAsk) return undefined;
  return (question, signal) => terminal.inTurn(() => ask(terminal, question, signal));
}

async function refuseYes({ tool, id }: ApprovalRequest): Promise<ApprovalAnswer> {
  throw new ToolError('denied', `${tool.name} was not run: --yes is ignored inside a tool call`, {
    hint: 'omit --yes: the call is then recorded, and a person can approve it',
    data: { id },
  });
}

async function askApproval(terminal: Terminal, request: ApprovalRequest): Promise<ApprovalAnswer> {
  if (request.signal.aborted) return 'deny';
  terminal.err(formatQuestion(terminal, request));
  const answer = (await readLine(terminal, request.signal)).trim().toLowerCase();
  if (['y', 'yes'].includes(answer)) return 'once';
  return ['a', 'always'].includes(answer) ? 'always' : 'deny';
}

function formatQuestion(terminal: Terminal, { record, changes }: ApprovalRequest): string {
  const width = widthOf(terminal) - INDENT - 1;
  const indented = (label: string, text: string): string[] =>
    wrap(text, width).map((line, at) => `${at === 0 ? `  ${label}`.padEnd(INDENT) : ' '.repeat(INDENT)}${line}`);
  const since = changes?.since?.slice(0, 16).replace('T', ' ') ?? 'it was approved';
  const lines = [
    `${terminal.paint('bold', spellOut(record.tool), 'err')} needs your approval`,
    ...approvalRows(record).flatMap(([label, value]) => indented(label, value)),
    ...(changes === undefined
      ? []
      : [
          `  ${terminal.paint('yellow', 'changed', 'err')}   since ${since}`,
          ...changeLines(changes).flatMap((line) => indented('', line)),
        ]),
    'always: approves this version of the tool with any input, for your calls in this directory',
  ];
  return `${lines.join('\n')}\nRun it? [y]es, [N]o, [a]lways: `;
}

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
