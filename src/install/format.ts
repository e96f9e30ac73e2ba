// The package format: an installed tool with an entrypoint is a tool, under the name that it is installed by.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isToolError } from '../core/error.js';
import type { Format, Place } from '../core/format.js';
import { isToolName } from '../core/name.js';
import type { Problem } from '../core/problem.js';
import { NO_PARAMETERS, type Schema } from '../core/schema.js';
import { quoteOutside } from '../core/text.js';
import { NO_TRAITS, type Tool } from '../core/tool.js';
import { readHead, readTextOrFault } from '../files/read.js';
import { createStatCache, type FileText } from '../files/stat-cache.js';
import { hashTree } from '../files/tree.js';
import { readScriptHeader, type ScriptHeader } from '../formats/script/header.js';
import { toInputSchema, toTraits } from '../formats/script/to-tool.js';
import { readSkillMetadata } from '../formats/skill/metadata.js';
import { createJsonSchema } from '../schema/json.js';
import { type Installed, type InstalledItem, parseInstalled } from './manifest/installed.js';
import { readItemFacts } from './manifest/tool-md.js';

const HEAD_BYTES = 64 * 1024;
const RECORD_BYTES = 256 * 1024 * 1024;
const NATIVE = ['7f454c46', 'cffaedfe', 'cafebabe'];

export interface PackageFormatOptions {
  /** The directory of links to the tools that are installed. */
  readonly store: string;
  /** The record of what is installed. */
  readonly record: string;
  /** The directory of the objects. */
  readonly objects: string;
  readonly now: () => number;
}

/** Reads the tools of the store (INS-22): the record says what they are, and the object what runs. */
export function createPackageFormat({ store, record, objects, now }: PackageFormatOptions): Format {
  const cache = createStatCache<Installed | Problem>({ now, limit: RECORD_BYTES });
  const load = (): Installed | Problem => cache.get(record, [record], ([text]) => parseRecord(text, record));
  return {
    name: 'package',
    places: ['packages'],
    entries: 'directories',
    claims: (entry) => !entry.startsWith('.'),
    entryOf: (toolName) => toolName,
    read(entry, place) {
      // A directory elsewhere that happens to have the name of an installed tool is none.
      if (place.directory !== store) return undefined;
      const installed = load();
      if ('severity' in installed) return { tools: [], problems: [installed], states: [undefined] };
      const item = installed.items.find((one) => one.kind === 'tool' && one.effective === entry);
      if (item === undefined) return undefined;
      const made = toTool(item, join(objects, item.object), place);
      if (made === undefined) return undefined;
      // The record decides too: an entry counts until it is looked at again, and no longer.
      const states = [undefined];
      return 'severity' in made
        ? { tools: [], problems: [made], states }
        : { tools: [made], problems: [], states };
    },
  };
}

function parseRecord(text: FileText, file: string): Installed | Problem {
  try {
    if (typeof text === 'object') throw new Error(text.message);
    return parseInstalled(text ?? '', file);
  } catch (error) {
    const { message } = error as Error;
    const hint = (isToolError(error) ? error.hint : undefined) ?? 'wield doctor says more';
    return { severity: 'error', path: file, message, hint };
  }
}

// Undefined: a tool that nobody calls, since it has no entrypoint (INS-36).
function toTool(item: InstalledItem, object: string, place: Place): Tool | Problem | undefined {
  const { effective, bin, store } = item;
  if (bin === null) return undefined;
  const shown = join(store, bin);
  const refuse = (message: string, hint: string): Problem => ({
    severity: 'error',
    path: shown,
    message,
    hint,
  });
  if (!isToolName(effective))
    return refuse('cannot be called: its name is no tool name', 'others can still refer to it by its path');
  if (item.build === 'skipped')
    return refuse(
      'is not built: its build was skipped',
      `wield install tool:${effective} --run-hooks builds it`,
    );
  const file = join(object, bin);
  const head = readHead(file, HEAD_BYTES);
  if ('fault' in head)
    return refuse(`cannot be read: ${head.message}`, 'wield doctor says what became of it');
  if ((head.identity.mode & 0o111) === 0) return refuse('is not executable', 'tell the author of its source');
  const text = head.bytes.toString('utf8');
  const native = NATIVE.includes(head.bytes.toString('hex', 0, 4));
  const shebang = /^#![ \t]*([^\r\n]+)/.exec(text)?.[1]?.trim();
  if (shebang === undefined && !native)
    return refuse('has no first line that names its interpreter', 'tell the author of its source');
  const facts = readItemFacts(readFacts(object));
  const { header } = native ? { header: undefined } : readScriptHeader(text);
  let input: Schema;
  try {
    input = readInput(header, facts.params);
  } catch (error) {
    return refuse(`has parameters that cannot be used: ${(error as Error).message}`, 'tell its author');
  }
  return {
    name: effective,
    description: quoteOutside(header?.description ?? item.description ?? `The tool ${item.name}.`, 1000),
    input,
    action: {
      kind: 'process',
      runs: 'script',
      file,
      identity: head.identity,
      shebang: shebang ?? '',
      needs: header?.needs ?? [],
      sandbox: header?.sandbox,
    },
    origin: {
      format: 'package',
      uri: pathToFileURL(shown).href,
      directory: store,
      source: item.source,
      digest: null,
      server: item.source,
      owner: place.owner,
    },
    traits: header === undefined ? NO_TRAITS : toTraits(header),
  };
}

function readFacts(object: string): string {
  const reading = readHead(join(object, 'TOOL.md'), HEAD_BYTES);
  return 'fault' in reading ? '' : reading.bytes.toString('utf8');
}

// A header speaks for itself; without one, TOOL.md does.
function readInput(
  header: ScriptHeader | undefined,
  params: ReturnType<typeof readItemFacts>['params'],
): Schema {
  if (header !== undefined && header.parameters.length > 0)
    return createJsonSchema(toInputSchema(header), { closed: true });
  const { metadata, error } = readSkillMetadata(params === undefined ? {} : { params });
  if (error !== undefined) throw new Error(error.message);
  return createJsonSchema(metadata.params ?? NO_PARAMETERS, { closed: true });
}

/** How the files of an installed tool differ from those that were installed; undefined where they do not. */
export function findAlteration(
  { name, origin }: Tool,
  { record, objects }: PackageFormatOptions,
): { readonly reason: string; readonly hint: string } | undefined {
  const installed = parseRecord(readTextOrFault(record, RECORD_BYTES), record);
  const item =
    'severity' in installed
      ? undefined
      : installed.items.find(
          (one) => one.kind === 'tool' && one.effective === name && one.source === origin.source,
        );
  const hash = item === undefined ? undefined : hashOrNothing(join(objects, item.object));
  if (item !== undefined && hash === item.installedHash) return undefined;
  return {
    reason: 'its files are not those that were installed',
    hint: `look at them, then wield install --accept tool:${name}, or --force to install it anew`,
  };
}

function hashOrNothing(directory: string): string | undefined {
  try {
    return hashTree(directory);
  } catch {
    return undefined;
  }
}
