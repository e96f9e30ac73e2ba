// The index of a directory on disk: a line a file, so that listing a thousand tools parses no schema.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Place } from '../core/format.js';
import { isRecord } from '../core/json.js';
import type { JsonSchema, Schema } from '../core/schema.js';
import {
  type Action,
  type FileIdentity,
  NO_TRAITS,
  type Problem,
  type Tool,
  type Traits,
} from '../core/tool.js';
import type { World } from '../core/world.js';
import { digestParts } from '../files/digest.js';
import { readTextFile } from '../files/read.js';
import { writeFileAtomic } from '../files/write.js';
import type { Entry, Snapshot } from './directory.js';

export interface IndexFile {
  /** What was known of a place; undefined where nothing usable is there. */
  load(place: Place): Snapshot | undefined;
  save(place: Place, snapshot: Snapshot): void;
}

export interface IndexFileOptions {
  /** Where index files lie; undefined keeps none. */
  readonly directory: string | undefined;
  /** Changes whenever the meaning of a line does. */
  readonly version: string;
  readonly toSchema: (json: JsonSchema, face: 'input' | 'output') => Schema;
  readonly world: World;
}

// Below this a directory is read as fast as its index.
const MIN_ENTRIES = 16;
const MAX_BYTES = 256 * 1024 * 1024;

export function createIndexFile({ directory, version, toSchema, world }: IndexFileOptions): IndexFile {
  const fileOf = (place: Place): string => join(directory!, `${hash(place.directory)}.index`);
  const firstLine = (place: Place): string =>
    ['wield-index', version, escapeField(place.directory)].join('\t');
  return {
    load(place) {
      if (directory === undefined) return undefined;
      try {
        const text = readTextFile(fileOf(place), MAX_BYTES);
        return text === undefined ? undefined : parseIndex(text, firstLine(place), place, toSchema);
      } catch (error) {
        world.debug(`${fileOf(place)}: index discarded: ${(error as Error).message}`);
        return undefined;
      }
    },
    save(place, snapshot) {
      if (directory === undefined || snapshot.entries.size < MIN_ENTRIES) return;
      try {
        writeFileAtomic(fileOf(place), formatIndex(snapshot, firstLine(place)), { durable: false });
      } catch (error) {
        world.debug(`${fileOf(place)}: index not written: ${(error as Error).message}`);
      }
    },
  };
}

// A line: file, format, state, settled, problems, then four fields a tool: name, description, traits, body.
function formatIndex(snapshot: Snapshot, firstLine: string): string {
  const lines = [firstLine, `${formatIdentity(snapshot.identity)}\t${snapshot.settled ? 1 : 0}`];
  for (const { file, format, identity, settled, reading } of snapshot.entries.values()) {
    const fields = [
      escapeField(file),
      format,
      identity === undefined ? '' : formatIdentity(identity),
      settled ? '1' : '0',
      reading === undefined
        ? '-'
        : reading.problems.length === 0
          ? ''
          : escapeField(JSON.stringify(reading.problems)),
    ];
    for (const tool of reading?.tools ?? []) {
      fields.push(
        tool.name,
        escapeField(tool.description),
        isPlain(tool.traits) ? '' : escapeField(JSON.stringify(tool.traits)),
        escapeField(
          JSON.stringify({
            input: tool.input.json,
            output: tool.output?.json,
            action: tool.action,
            server: tool.origin.server,
          }),
        ),
      );
    }
    lines.push(fields.join('\t'));
  }
  const body = `${lines.join('\n')}\n`;
  return `${body}end\t${digestParts([body])}\n`;
}

function parseIndex(
  text: string,
  firstLine: string,
  place: Place,
  toSchema: IndexFileOptions['toSchema'],
): Snapshot {
  if (!text.startsWith(`${firstLine}\n`))
    throw new Error('made by another version, or for another directory');
  const end = text.lastIndexOf('end\t');
  // A single wrong byte would otherwise show only when someone looks at that tool.
  if (text.slice(end) !== `end\t${digestParts([text.slice(0, end)])}\n`)
    throw new Error('cut short or altered');
  const lines = text.slice(0, end).split('\n');
  const [state = '', settled] = lines[1]!.split('\t');
  const entries = new Map<string, Entry>();
  for (let line = 2; line < lines.length - 1; line++) {
    const entry = parseLine(lines[line]!, place, toSchema);
    entries.set(entry.file, entry);
  }
  return { identity: parseIdentity(state), settled: settled === '1', entries };
}

function parseLine(line: string, place: Place, toSchema: IndexFileOptions['toSchema']): Entry {
  const fields = line.split('\t');
  const [file = '', format = '', state = '', settled, problems = ''] = fields;
  const name = unescapeField(file);
  const tools: Tool[] = [];
  for (let at = 5; at + 3 < fields.length; at += 4) {
    tools.push(reviveTool(fields.slice(at, at + 4), name, format, place, toSchema));
  }
  return {
    file: name,
    format,
    identity: state === '' ? undefined : parseIdentity(state),
    settled: settled === '1',
    reading:
      problems === '-'
        ? undefined
        : { tools, problems: problems === '' ? [] : (JSON.parse(unescapeField(problems)) as Problem[]) },
    indexed: true,
  };
}

// Name, description and traits are read at once; schema and action when someone asks.
function reviveTool(
  [name = '', description = '', traits = '', body = '']: readonly string[],
  file: string,
  format: string,
  place: Place,
  toSchema: IndexFileOptions['toSchema'],
): Tool {
  let parsed: { input: JsonSchema; output?: JsonSchema; action: Action; server: string | null } | undefined;
  const read = () => {
    parsed ??= JSON.parse(unescapeField(body)) as NonNullable<typeof parsed>;
    if (!isRecord(parsed.input)) throw new Error('index without a schema');
    return parsed;
  };
  return {
    name,
    description: unescapeField(description),
    traits: traits === '' ? NO_TRAITS : (JSON.parse(unescapeField(traits)) as Traits),
    origin: {
      format,
      get uri() {
        return pathToFileURL(join(place.directory, file)).href;
      },
      directory: place.directory,
      source: null,
      digest: null,
      get server() {
        return read().server;
      },
      owner: place.owner,
    },
    get input() {
      return toSchema(read().input, 'input');
    },
    get output() {
      const { output } = read();
      return output === undefined ? undefined : toSchema(output, 'output');
    },
    get action() {
      return read().action;
    },
  } as Tool;
}

function isPlain(traits: Traits): boolean {
  return JSON.stringify(traits) === JSON.stringify(NO_TRAITS);
}

function formatIdentity(identity: FileIdentity): string {
  const { device, inode, size, modifiedMs, changedMs, mode } = identity;
  return `${device},${inode},${size},${modifiedMs},${changedMs},${mode}`;
}

function parseIdentity(text: string): FileIdentity {
  const numbers = text.split(',').map(Number);
  if (numbers.length !== 6 || numbers.some(Number.isNaN)) throw new Error('a state that is none');
  const [device, inode, size, modifiedMs, changedMs, mode] = numbers as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  return { device, inode, size, modifiedMs, changedMs, mode };
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
function hash(text: string): string {
  let low = 0x811c9dc5;
  let high = 0x01000193;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x85ebca6b) ^ (low >>> 13);
  }
  return [low, high].map((part) => (part >>> 0).toString(16).padStart(8, '0')).join('');
}
