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
  type Origin,
  type Owner,
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
const PLAIN_TRAITS = JSON.stringify(NO_TRAITS);

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
        formatTraits(tool.traits),
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
    const body = new IndexedBody(fields[at + 3]!, toSchema);
    const origin = new IndexedOrigin(format, name, place, body);
    tools.push(new IndexedTool(fields[at]!, fields[at + 1]!, fields[at + 2]!, origin, body) as Tool);
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

// Classes, since an object with getters of its own takes longer to make than its line takes to parse. Name,
// description and traits are read at once; schema and action when someone asks.
class IndexedTool {
  readonly name: string;
  readonly description: string;
  readonly traits: Traits;
  readonly origin: Origin;
  readonly #body: IndexedBody;

  constructor(name: string, description: string, traits: string, origin: Origin, body: IndexedBody) {
    this.name = name;
    this.description = unescapeField(description);
    this.traits = traits === '' ? NO_TRAITS : (JSON.parse(unescapeField(traits)) as Traits);
    this.origin = origin;
    this.#body = body;
  }

  get input(): Schema {
    return this.#body.schema('input')!;
  }

  get output(): Schema | undefined {
    return this.#body.schema('output');
  }

  get action(): Action {
    return this.#body.read().action;
  }
}

class IndexedOrigin implements Origin {
  readonly format: string;
  readonly directory: string;
  readonly source = null;
  readonly digest = null;
  readonly owner: Owner;
  readonly #file: string;
  readonly #body: IndexedBody;

  constructor(format: string, file: string, place: Place, body: IndexedBody) {
    this.format = format;
    this.directory = place.directory;
    this.owner = place.owner;
    this.#file = file;
    this.#body = body;
  }

  get uri(): string {
    return pathToFileURL(join(this.directory, this.#file)).href;
  }

  get server(): string | null {
    return this.#body.read().server;
  }
}

interface BodyFields {
  readonly input: JsonSchema;
  readonly output?: JsonSchema;
  readonly action: Action;
  readonly server: string | null;
}

class IndexedBody {
  readonly #text: string;
  readonly #toSchema: IndexFileOptions['toSchema'];
  #fields: BodyFields | undefined;

  constructor(text: string, toSchema: IndexFileOptions['toSchema']) {
    this.#text = text;
    this.#toSchema = toSchema;
  }

  read(): BodyFields {
    this.#fields ??= JSON.parse(unescapeField(this.#text)) as BodyFields;
    if (!isRecord(this.#fields.input)) throw new Error('index without a schema');
    return this.#fields;
  }

  schema(face: 'input' | 'output'): Schema | undefined {
    const json = this.read()[face];
    return json === undefined ? undefined : this.#toSchema(json, face);
  }
}

function formatTraits(traits: Traits): string {
  const text = JSON.stringify(traits);
  return text === PLAIN_TRAITS ? '' : escapeField(text);
}

function formatIdentity(identity: FileIdentity): string {
  const { device, inode, size, modifiedMs, changedMs, mode } = identity;
  return `${device},${inode},${size},${modifiedMs},${changedMs},${mode}`;
}

function parseIdentity(text: string): FileIdentity {
  const fields = text.split(',');
  const device = Number(fields[0]);
  const inode = Number(fields[1]);
  const size = Number(fields[2]);
  const modifiedMs = Number(fields[3]);
  const changedMs = Number(fields[4]);
  const mode = Number(fields[5]);
  if (Number.isNaN(device + inode + size + modifiedMs + changedMs + mode))
    throw new Error('a state that is none');
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
