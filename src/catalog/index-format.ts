// Text format of an index file: one tab-separated line per entry, with a checksum at the end.

import { join, sep } from 'node:path';
import type { FileState, ModuleOffer } from '../core/format.js';
import type { Origin, Place } from '../core/origin.js';
import type { Problem } from '../core/problem.js';
import type { JsonSchema, Schema } from '../core/schema.js';
import type { Skill } from '../core/skill.js';
import { type Action, NO_TRAITS, type Tool, type Traits } from '../core/tool.js';
import { checksum } from '../files/checksum.js';
import { toFileUri } from '../files/within.js';
import type { DirectoryState, Entry } from './entry.js';

export type ToSchema = (json: JsonSchema, face: 'input' | 'output') => Schema;

// Fields of a line: entry, states, settled, problems, skills, server, uri, directory, files, offers, then four per tool:
// name, description, traits, body. Uri and directory are empty if they follow from the entry and its place.
export function formatIndex(state: DirectoryState, firstLine: string, place: Place): Buffer {
  const lines = [firstLine, `${formatState(state.identity)}\t${state.settled ? 1 : 0}`];
  const prefix = join(place.directory, sep);
  for (const entry of state.entries.values()) {
    let line = knownLines.get(entry);
    if (line === undefined) {
      line = formatLine(entry, place, prefix);
      knownLines.set(entry, line);
    }
    lines.push(line);
  }
  const body = Buffer.from(`${lines.join('\n')}\n`);
  return Buffer.concat([body, Buffer.from(endLine(body))]);
}

// An entry never changes, so its line is formatted once: an index of 1,000 tools is written in 2 ms instead of 20.
const knownLines = new WeakMap<Entry, string>();

function formatLine({ name, states, settled, reading, files = [] }: Entry, place: Place, prefix: string): string {
  const { server = '', uri = '', directory = '' } = reading?.tools[0]?.origin ?? {};
  const fields = [
    escapeField(name),
    states.map(formatState).join(';'),
    settled ? '1' : '0',
    reading === undefined ? '-' : formatList(reading.problems),
    formatList(reading?.skills ?? []),
    escapeField(server ?? ''),
    uri === toFileUri(prefix + name) ? '' : escapeField(uri ?? ''),
    directory === place.directory ? '' : escapeField(directory ?? ''),
    formatList(files),
    formatList(reading?.offers ?? []),
  ];
  for (const tool of reading?.tools ?? []) {
    const body = { input: tool.input.json, output: tool.output?.json, action: tool.action };
    fields.push(tool.name, escapeField(tool.description), formatTraits(tool.traits), escapeField(JSON.stringify(body)));
  }
  return fields.join('\t');
}

const END_LENGTH = 'end\t00000000\n'.length;

// Detects damage at once; otherwise a wrong byte would only show when its tool is used.
function endLine(body: Buffer): string {
  return `end\t${checksum(body)}\n`;
}

/** What is needed to turn lines into entries. */
export interface IndexReading {
  readonly place: Place;
  readonly format: string;
  readonly firstLine: string;
  /** The directory with a trailing separator, computed once for all lines. */
  readonly prefix: string;
  readonly toSchema: ToSchema;
}

/** Parses an index file. Throws if it is damaged or belongs to another version or place. */
export function parseIndex(bytes: Buffer, reading: IndexReading): DirectoryState {
  const body = bytes.subarray(0, Math.max(0, bytes.length - END_LENGTH));
  if (bytes.toString('latin1', body.length) !== endLine(body)) throw new Error('truncated or altered');
  const lines = body.toString('utf8').split('\n');
  if (lines[0] !== reading.firstLine) throw new Error('written by another version, or for another directory');
  const [state = '', settled] = lines[1]!.split('\t');
  const identity = parseState(state);
  if (identity === undefined) throw new Error('no state of the directory');
  const entries = new Map<string, Entry>();
  for (let line = 2; line < lines.length - 1; line++) {
    const entry = parseLine(lines[line]!, reading);
    knownLines.set(entry, lines[line]!);
    entries.set(entry.name, entry);
  }
  return { identity, settled: settled === '1', entries, shipped: false };
}

const FIRST_TOOL = 10;

function parseLine(line: string, index: IndexReading): Entry {
  const fields = line.split('\t');
  const [escaped = '', states = '', settled, problems = '', skills = ''] = fields;
  const files = parseList<string>(fields[8] ?? '');
  const name = unescapeField(escaped);
  const tools: Tool[] = [];
  for (let at = FIRST_TOOL; at + 3 < fields.length; at += 4) {
    tools.push(reviveTool(fields, at, toOrigin(fields, name, index), index.toSchema));
  }
  return {
    name,
    states: states.split(';').map(parseState),
    files: files.length === 0 ? undefined : files,
    settled: settled === '1',
    reading:
      problems === '-'
        ? undefined
        : {
            tools,
            problems: parseList<Problem>(problems),
            skills: parseList<Skill>(skills),
            offers: parseList<ModuleOffer>(fields[FIRST_TOOL - 1] ?? ''),
          },
    indexed: true,
  };
}

function toOrigin(fields: readonly string[], entry: string, { place, format, prefix }: IndexReading): Origin {
  const server = fields[5]!;
  const uri = fields[6]!;
  const directory = fields[7]!;
  return {
    format,
    uri: uri === '' ? toFileUri(prefix + entry) : unescapeField(uri),
    directory: directory === '' ? place.directory : unescapeField(directory),
    source: null,
    digest: null,
    server: server === '' ? null : unescapeField(server),
    owner: place.owner,
  };
}

// Schema and action are parsed on first access.
function reviveTool(fields: readonly string[], at: number, origin: Origin, toSchema: ToSchema): Tool {
  const traits = fields[at + 2]!;
  let body: BodyFields | undefined;
  let input: Schema | undefined;
  let output: Schema | undefined;
  const read = (): BodyFields => {
    body ??= JSON.parse(unescapeField(fields[at + 3]!)) as BodyFields;
    return body;
  };
  return {
    name: fields[at]!,
    description: unescapeField(fields[at + 1]!),
    traits: traits === '' ? NO_TRAITS : (JSON.parse(unescapeField(traits)) as Traits),
    origin,
    get input() {
      input ??= toSchema(read().input, 'input');
      return input;
    },
    get output() {
      const { output: json } = read();
      if (json !== undefined) output ??= toSchema(json, 'output');
      return output;
    },
    get action() {
      return read().action;
    },
  } as Tool;
}

interface BodyFields {
  readonly input: JsonSchema;
  readonly output?: JsonSchema;
  readonly action: Action;
}

const PLAIN_TRAITS = JSON.stringify(NO_TRAITS);

function formatTraits(traits: Traits): string {
  const text = JSON.stringify(traits);
  return text === PLAIN_TRAITS ? '' : escapeField(text);
}

function formatState(state: FileState): string {
  if (state === undefined) return '';
  return `${state.device},${state.inode},${state.size},${state.changedMs},${state.mode}`;
}

function parseState(text: string): FileState {
  if (text === '') return undefined;
  const fields = text.split(',');
  const state = {
    device: Number(fields[0]),
    inode: Number(fields[1]),
    size: Number(fields[2]),
    changedMs: Number(fields[3]),
    mode: Number(fields[4]),
  };
  if (Number.isNaN(state.inode + state.changedMs + state.mode)) throw new Error('invalid state');
  return state;
}

function formatList(list: readonly unknown[]): string {
  return list.length === 0 ? '' : escapeField(JSON.stringify(list));
}

function parseList<T>(text: string): readonly T[] {
  return text === '' ? [] : (JSON.parse(unescapeField(text)) as T[]);
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

export function escapeField(text: string): string {
  return /[\\\t\n\r]/.test(text) ? text.replace(/[\\\t\n\r]/g, (character) => ESCAPES[character]!) : text;
}

function unescapeField(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\(.)/g, (_match, letter: string) => ({ t: '\t', n: '\n', r: '\r' })[letter] ?? letter);
}
