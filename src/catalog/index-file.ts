// The index of a directory on disk: a line a file, so that listing a thousand tools parses no schema.

import { rmSync } from 'node:fs';
import { join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FileState, Format, Place } from '../core/format.js';
import type { Problem } from '../core/problem.js';
import type { JsonSchema, Schema } from '../core/schema.js';
import type { Skill } from '../core/skill.js';
import { type Action, NO_TRAITS, type Origin, type Tool, type Traits } from '../core/tool.js';
import type { World } from '../core/world.js';
import { checksum } from '../files/checksum.js';
import { readHead } from '../files/read.js';
import { writeFileAtomic } from '../files/write.js';
import type { Entry, Snapshot } from './directory.js';
import { loadShippedIndex } from './shipped-index.js';

export interface IndexFile {
  /** What was known of a place; undefined where nothing usable is there. */
  load(place: Place, format: Format): Snapshot | undefined;
  save(place: Place, format: Format, snapshot: Snapshot): void;
  remove(place: Place, format: Format): void;
}

export interface IndexFileOptions {
  /** Where index files lie. */
  readonly directory: string;
  /** Changes whenever the meaning of a line does. */
  readonly version: string;
  readonly toSchema: (json: JsonSchema, face: 'input' | 'output') => Schema;
  readonly world: World;
}

// Below this a directory is read as fast as its index.
const MIN_ENTRIES = 16;
const MAX_BYTES = 256 * 1024 * 1024;

export function createIndexFile({ directory, version, toSchema, world }: IndexFileOptions): IndexFile {
  // What is passed over decides what is in it, so it is part of the key.
  const firstLine = (place: Place, format: Format): string =>
    [
      'wield-index',
      version,
      format.name,
      ...[place.directory, ...(place.ignore ?? [])].map(escapeField),
    ].join('\t');
  const fileOf = (place: Place, format: Format): string =>
    join(directory, `${hashName(firstLine(place, format))}.index`);
  const loadOwn = (place: Place, format: Format): Snapshot | undefined => {
    const file = fileOf(place, format);
    try {
      const reading = readHead(file, MAX_BYTES);
      if ('fault' in reading) return undefined;
      return parseIndex(reading.bytes, {
        place,
        format: format.name,
        firstLine: firstLine(place, format),
        prefix: join(place.directory, sep),
        toSchema,
      });
    } catch (error) {
      world.debug(`${file}: index discarded: ${(error as Error).message}`);
      return undefined;
    }
  };
  return {
    load: (place, format) =>
      loadOwn(place, format) ??
      (place.external ? loadShippedIndex({ place, format, version, toSchema, world }) : undefined),
    save(place, format, snapshot) {
      if (snapshot.entries.size < MIN_ENTRIES) return;
      const file = fileOf(place, format);
      try {
        writeFileAtomic(file, formatIndex(snapshot, firstLine(place, format), place), { durable: false });
      } catch (error) {
        world.debug(`${file}: index not written: ${(error as Error).message}`);
      }
    },
    remove(place, format) {
      try {
        rmSync(fileOf(place, format), { force: true });
      } catch (error) {
        world.debug(`an index was not removed: ${(error as Error).message}`);
      }
    },
  };
}

// A line: entry, states, settled, problems, skills, server, uri, directory, files, then four fields a tool: name,
// description, traits, body. Uri and directory are empty where they are those of the entry and its place.
function formatIndex(snapshot: Snapshot, firstLine: string, place: Place): Buffer {
  const lines = [firstLine, `${formatState(snapshot.identity)}\t${snapshot.settled ? 1 : 0}`];
  for (const { name, states, settled, reading, files = [] } of snapshot.entries.values()) {
    const { server = '', uri = '', directory = '' } = reading?.tools[0]?.origin ?? {};
    const fields = [
      escapeField(name),
      states.map(formatState).join(';'),
      settled ? '1' : '0',
      reading === undefined ? '-' : formatList(reading.problems),
      formatList(reading?.skills ?? []),
      escapeField(server ?? ''),
      uri === toFileUri(join(place.directory, name)) ? '' : escapeField(uri ?? ''),
      directory === place.directory ? '' : escapeField(directory ?? ''),
      formatList(files),
    ];
    for (const tool of reading?.tools ?? []) {
      const body = { input: tool.input.json, output: tool.output?.json, action: tool.action };
      fields.push(
        tool.name,
        escapeField(tool.description),
        formatTraits(tool.traits),
        escapeField(JSON.stringify(body)),
      );
    }
    lines.push(fields.join('\t'));
  }
  const body = Buffer.from(`${lines.join('\n')}\n`);
  return Buffer.concat([body, Buffer.from(endLine(body))]);
}

const END_LENGTH = 'end\t00000000\n'.length;

// A single wrong byte would otherwise show only when someone looks at that tool.
function endLine(body: Buffer): string {
  return `end\t${checksum(body)}\n`;
}

/** Whose index is read, and what its lines become. */
interface IndexReading {
  readonly place: Place;
  readonly format: string;
  readonly firstLine: string;
  /** The directory with its separator, made once: `join` would take the path apart again for each line. */
  readonly prefix: string;
  readonly toSchema: IndexFileOptions['toSchema'];
}

function parseIndex(bytes: Buffer, reading: IndexReading): Snapshot {
  const body = bytes.subarray(0, Math.max(0, bytes.length - END_LENGTH));
  if (bytes.toString('latin1', body.length) !== endLine(body)) throw new Error('cut short or altered');
  const lines = body.toString('utf8').split('\n');
  if (lines[0] !== reading.firstLine) throw new Error('made by another version, or for another directory');
  const [state = '', settled] = lines[1]!.split('\t');
  const identity = parseState(state);
  if (identity === undefined) throw new Error('without a state');
  const entries = new Map<string, Entry>();
  for (let line = 2; line < lines.length - 1; line++) {
    const entry = parseLine(lines[line]!, reading);
    entries.set(entry.name, entry);
  }
  return { identity, settled: settled === '1', entries, shipped: false };
}

function parseLine(line: string, index: IndexReading): Entry {
  const fields = line.split('\t');
  const [escaped = '', states = '', settled, problems = '', skills = ''] = fields;
  const files = parseList<string>(fields[8] ?? '');
  const name = unescapeField(escaped);
  const tools: Tool[] = [];
  for (let at = 9; at + 3 < fields.length; at += 4) {
    tools.push(reviveTool(fields, at, toOrigin(fields, name, index), index.toSchema));
  }
  return {
    name,
    states: states.split(';').map(parseState),
    ...(files.length === 0 ? {} : { files }),
    settled: settled === '1',
    reading:
      problems === '-'
        ? undefined
        : { tools, problems: parseList<Problem>(problems), skills: parseList<Skill>(skills) },
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

// What a plain path becomes is known; only an odd one is worth asking for.
function toFileUri(path: string): string {
  return /^[\w./-]*$/.test(path) ? `file://${path}` : pathToFileURL(path).href;
}

// Name, description and traits are read at once; schema and action when someone asks.
function reviveTool(
  fields: readonly string[],
  at: number,
  origin: Origin,
  toSchema: IndexFileOptions['toSchema'],
): Tool {
  const traits = fields[at + 2]!;
  let body: BodyFields | undefined;
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
      return toSchema(read().input, 'input');
    },
    get output() {
      const { output } = read();
      return output && toSchema(output, 'output');
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
  if (Number.isNaN(state.inode + state.changedMs + state.mode)) throw new Error('a state that is none');
  return state;
}

function formatList(list: readonly unknown[]): string {
  return list.length === 0 ? '' : escapeField(JSON.stringify(list));
}

function parseList<T>(text: string): readonly T[] {
  return text === '' ? [] : (JSON.parse(unescapeField(text)) as T[]);
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

function escapeField(text: string): string {
  return /[\\\t\n\r]/.test(text) ? text.replace(/[\\\t\n\r]/g, (character) => ESCAPES[character]!) : text;
}

function unescapeField(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(
    /\\(.)/g,
    (_match, letter: string) => ({ t: '\t', n: '\n', r: '\r' })[letter] ?? letter,
  );
}

// A name for a file, not a proof: the first line has the whole path.
function hashName(text: string): string {
  const bytes = Buffer.from(text);
  return checksum(bytes) + checksum(Buffer.from(bytes.toString('hex')));
}
