// The formats of installed items: tools with an entrypoint, and texts of skills, agents and rules, by their effective names.

import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isToolError } from '../core/error.js';
import type { Format, Reading } from '../core/format.js';
import { isToolName } from '../core/name.js';
import type { Place } from '../core/origin.js';
import { OF_INSTALLED_TOOL, type Problem } from '../core/problem.js';
import { joinRequirements } from '../core/requirements.js';
import { NO_PARAMETERS, type Schema } from '../core/schema.js';
import { quoteOutside } from '../core/text.js';
import { NO_TRAITS, type Tool } from '../core/tool.js';
import { createStatCache, type FileText, readHead, readTextOrFault, statIdentity } from '../files/read.js';
import { checkStateDirectory } from '../files/state.js';
import { readScriptHeader, type ScriptHeader, toInputSchema } from '../formats/script/header.js';
import { readInstalledText } from '../formats/skill/index.js';
import { readSkillMetadata } from '../formats/skill/metadata.js';
import { createJsonSchema } from '../schema/json.js';
import { isModified } from './apply/objects.js';
import { type ItemFacts, parseItemFacts } from './manifest/tool-md.js';
import { type Installed, type InstalledItem, parseInstalled } from './state.js';

const HEAD_BYTES = 64 * 1024;
const RECORD_BYTES = 256 * 1024 * 1024;
// Magic numbers of ELF and Mach-O.
const NATIVE = ['7f454c46', 'cffaedfe', 'cafebabe'];

export interface PackageFormatOptions {
  /** The directory of links to installed items, by kind. */
  readonly store: string;
  /** The file of the record of installed items. */
  readonly record: string;
  /** The directory of the objects. */
  readonly objects: string;
  readonly now: () => number;
}

/** The kinds of items that a catalog has: tools, and texts that are read like skills (INS-80). */
export const LISTED_KINDS = ['tool', 'skill', 'agent', 'rule'] as const;

type ListedKind = (typeof LISTED_KINDS)[number];

/** Items are described by the record; tools run from their object (INS-22). */
export function createPackageFormats({ store, record, objects, now }: PackageFormatOptions): Format[] {
  const cache = createStatCache<Installed | Problem>({ now, limit: RECORD_BYTES, isState: () => true });
  const load = (): Installed | Problem => cache.get(record, [record], ([text]) => parseRecord(text, record));
  const createFormat = (kind: ListedKind): Format => ({
    name: kind === 'tool' ? 'package' : `installed-${kind}`,
    shownAs: kind === 'tool' ? 'package' : kind,
    places: ['packages'],
    entries: 'directories',
    yields: kind !== 'tool',
    claims: (entry) => !entry.startsWith('.'),
    // A skill also has the tools of its scripts.
    ...(kind === 'skill' ? {} : { entryOf: (toolName: string) => toolName }),
    read(entry, place) {
      // A directory of the same name in another place is not an installed item.
      const directory = join(store, kind);
      if (place.directory !== directory) return undefined;
      const installed = load();
      if ('severity' in installed) return { tools: [], problems: [installed], states: [undefined] };
      const item = installed.items.find((one) => one.kind === kind && one.effective === entry);
      if (item === undefined) return undefined;
      const object = join(objects, item.object);
      const unsafe = findUnsafeObject(object, directory);
      if (unsafe === undefined && kind !== 'tool') return readText(item, kind, place, { file: record, installed });
      const made = unsafe ?? toTool(item, object, place);
      if (made === undefined) return undefined;
      // Not cached: the result depends on the record too.
      const states = [undefined];
      return 'severity' in made ? { tools: [], problems: [made], states } : { tools: [made], problems: [], states };
    },
  });
  return LISTED_KINDS.map(createFormat);
}

interface RecordFile {
  readonly file: string;
  readonly installed: Installed;
}

function readText(item: InstalledItem, kind: ListedKind, place: Place, record: RecordFile): Reading {
  const { effective, name, store, source } = item;
  const file = join(store, kind === 'skill' ? 'SKILL.md' : `${name}.md`);
  const description = item.description ?? `The ${kind} ${name}.`;
  const { tools, skills = [], ...reading } = readInstalledText({ file, name: effective, description, place });
  const own = kind === 'agent' ? { agent: true as const } : kind === 'skill' ? ofSkill(item, record) : {};
  const toOwn = (tool: Tool): Tool => ({
    ...tool,
    origin: { ...tool.origin, format: tool.traits.text === true ? kind : tool.origin.format, source, server: source },
  });
  return {
    ...reading,
    tools: tools.map(toOwn),
    skills: skills.map((skill) => ({ ...skill, ...own })),
    files: [...(reading.files ?? []), relative(place.directory, record.file)],
    states: [...reading.states, statIdentity(record.file)],
  };
}

function ofSkill({ path, plugin, source }: InstalledItem, { installed }: RecordFile) {
  const whole = installed.items.find(
    (one) => one.kind === 'plugin' && one.source === source && one.name === (plugin ?? undefined),
  );
  return { sourcePath: path, ...(whole === undefined ? {} : { plugin: whole.store }) };
}

// STA-2: others could have replaced it.
function findUnsafeObject(object: string, store: string): Problem | undefined {
  try {
    for (const directory of [object, store]) checkStateDirectory(directory);
    return undefined;
  } catch (error) {
    return toProblem(error, object);
  }
}

function toProblem(error: unknown, path: string): Problem {
  const hint = (isToolError(error) ? error.hint : undefined) ?? 'run wield doctor';
  const { message } = error as Error;
  // A problem is shown with its path.
  return {
    severity: 'error',
    path,
    message: message.startsWith(`${path} `) ? message.slice(path.length + 1) : message,
    hint,
  };
}

function parseRecord(text: FileText, file: string): Installed | Problem {
  try {
    if (typeof text === 'object') throw new Error(text.message);
    return parseInstalled(text ?? '', file);
  } catch (error) {
    return toProblem(error, file);
  }
}

// Undefined if the tool has no entrypoint (INS-36).
function toTool(item: InstalledItem, object: string, place: Place): Tool | Problem | undefined {
  const { effective, bin, store } = item;
  if (bin === null) return undefined;
  const shown = join(store, bin);
  const refuse = (message: string, hint = 'report it to the author of the source'): Problem => ({
    severity: 'error',
    path: shown,
    kind: OF_INSTALLED_TOOL,
    message,
    hint,
  });
  if (!isToolName(effective))
    return refuse('cannot be called: its name is not a valid tool name', 'other items can still refer to its path');
  if (item.build === 'skipped')
    return refuse('is not built: its build hook was skipped', `wield install tool:${effective} --run-hooks builds it`);
  const file = join(object, bin);
  const head = readHead(file, HEAD_BYTES);
  if ('fault' in head) return refuse(`cannot be read: ${head.message}`, 'run wield doctor');
  if ((head.identity.mode & 0o111) === 0) return refuse('is not executable');
  const text = head.bytes.toString('utf8');
  const native = NATIVE.includes(head.bytes.toString('hex', 0, 4));
  const shebang = /^#![ \t]*([^\r\n]+)/.exec(text)?.[1]?.trim();
  if (shebang === undefined && !native) return refuse('has no shebang line');
  const facts = parseItemFacts(readToolMd(object));
  const { header } = native ? { header: undefined } : readScriptHeader(text);
  let input: Schema;
  try {
    input = readInput(header, facts.params);
  } catch (error) {
    return refuse(`has invalid parameters: ${(error as Error).message}`);
  }
  return {
    name: effective,
    description: quoteOutside(item.description ?? header?.description ?? `The tool ${item.name}.`, 1000),
    input,
    action: {
      kind: 'process',
      runs: 'script',
      file,
      identity: head.identity,
      shebang: shebang ?? '',
      needs: header?.needs ?? [],
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
    traits: {
      ...(header?.traits ?? NO_TRAITS),
      requires: joinRequirements([header?.traits.requires, facts.needs]),
    },
  };
}

function readToolMd(object: string): string {
  const reading = readHead(join(object, 'TOOL.md'), HEAD_BYTES);
  return 'fault' in reading ? '' : reading.bytes.toString('utf8');
}

// Parameters of the script header; without any, those of TOOL.md.
function readInput(header: ScriptHeader | undefined, params: ItemFacts['params']): Schema {
  if (header !== undefined && header.parameters.length > 0)
    return createJsonSchema(toInputSchema(header), { closed: true });
  const { metadata, error } = readSkillMetadata(params === undefined ? {} : { params });
  if (error !== undefined) throw new Error(error.message);
  return createJsonSchema(metadata.params ?? NO_PARAMETERS, { closed: true });
}

/** Returns why the files of a tool are not the installed ones; undefined if they are unchanged. */
export function findAlteration(
  { name, origin, traits }: Tool,
  { record, objects }: PackageFormatOptions,
): { readonly reason: string; readonly hint: string } | undefined {
  // Nothing of it runs, and skills may write notes into their directory.
  if (traits.text === true) return undefined;
  const installed = parseRecord(readTextOrFault(record, RECORD_BYTES, { isState: true }), record);
  const item =
    'severity' in installed
      ? undefined
      : installed.items.find((one) => one.store === origin.directory && one.source === origin.source);
  if (item !== undefined && !isModified(item, { objects })) return undefined;
  return {
    reason: 'its files were modified after it was installed',
    hint: `review them, then run wield install --accept ${item?.kind ?? 'tool'}:${item?.effective ?? name}, or --force to reinstall it`,
  };
}
