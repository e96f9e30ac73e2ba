// The module format: a `*.tool.ts` file (or .mts, .js, .mjs) exports typed tools; loaded only if trusted.

import { basename, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Format, type FormatSnapshot, type ModuleOffer, type Reading, rejected } from '../../core/format.js';
import type { Json } from '../../core/json.js';
import { isToolName } from '../../core/name.js';
import { type Origin, type Place, toOrigin } from '../../core/origin.js';
import { toProblem } from '../../core/problem.js';
import type { World } from '../../core/snapshot.js';
import { type ModuleFiles, NO_TRAITS, type Tool } from '../../core/tool.js';
import { closureKey, readClosure, toModuleFile } from '../../files/closure.js';
import { readHead } from '../../files/read.js';
import { createJsonSchema } from '../../schema/json.js';
import {
  createDescriptionCache,
  type DescribedOffer,
  type DescribedTool,
  type Description,
  readDescription,
} from './description.js';
import { baseName } from './function-export.js';

/** Options of `createModuleFormat`. */
export interface ModuleFormatOptions {
  /** Directory of the description cache. */
  readonly cacheDirectory: string;
  /** Loads a module in the tool host and describes it. Throws if it cannot be loaded. */
  readonly describe: (source: ModuleFiles, snapshot: FormatSnapshot) => Promise<Json>;
  /** The environment and clock. */
  readonly world: World;
}

const FILE = /^[^.].*\.tool\.m?[jt]s$/;
const ANY_FILE = /^[^.].*(?<!\.d)\.m?[jt]s$/;
// MOD-14: any other file is read only if its text exports frontmatter, or if a path names it. Nothing is imported to find out.
const FRONTMATTER = /^export\s+(?:const|let|var)\s+frontmatter\b/m;
const HEAD_BYTES = 64 * 1024;

export function isModuleFile(name: string): boolean {
  return FILE.test(name);
}

// A module that failed to load may load later, for example once a package is installed.
const RETRY_MS = 5000;
const MAX_CONCURRENT = 4;

interface Failure {
  readonly description: Description;
  /** When loading is retried; infinite after a timeout. */
  readonly retryAt: number;
}

/** Reads modules (MOD-7). Files without a cached description are loaded in `settle`. */
export function createModuleFormat(options: ModuleFormatOptions): Format {
  const { world } = options;
  const descriptions = createDescriptionCache(options.cacheDirectory, world);
  const failures = new Map<string, Failure>();
  const pending = new Map<string, ModuleFiles>();
  let settling: Promise<void> | undefined;

  const read = (entry: string, place: Place, snapshot?: FormatSnapshot): Reading | undefined => {
    const file = join(place.directory, entry);
    if (!isModuleFile(entry) && place.named !== true && !hasFrontmatter(file, place)) return undefined;
    const closure = readClosure(file, place.boundary);
    if ('fault' in closure) {
      const finding = { message: closure.message, hint: 'check the file and its permissions' };
      return rejected(file, finding);
    }
    const key = closureKey(closure, file);
    const base = {
      states: closure.map(({ identity }) => identity),
      files: closure.map(({ path }) => relative(place.directory, path)),
    };
    const source = { file, files: closure.map(toModuleFile) };
    const known = descriptions.get(key);
    if (known !== undefined) return { ...base, ...toReading(known, source, place) };
    if (place.owner === 'workspace' && !snapshot?.trusted)
      return { ...base, ...toUnknown(source, place), pending: true, unread: true };
    const failure = failures.get(key);
    if (failure !== undefined && world.monotonic() < failure.retryAt)
      return { ...base, ...toReading(failure.description, source, place), pending: true };
    pending.set(key, source);
    return { ...base, tools: [], problems: [], pending: true, unread: true };
  };

  const describeOne = async (key: string, source: ModuleFiles, snapshot: FormatSnapshot): Promise<void> => {
    let description: Description;
    let retryMs = RETRY_MS;
    try {
      description = readDescription(await options.describe(source, snapshot));
    } catch (error) {
      const { message, hint = 'fix the file', code } = error as Error & { hint?: string; code?: string };
      // Otherwise every listing would wait again.
      if (code === 'timeout') retryMs = Number.POSITIVE_INFINITY;
      description = { loaded: false, tools: [], offers: [], findings: [{ message, hint }] };
    }
    if (description.loaded) descriptions.set(key, description);
    else failures.set(key, { description, retryAt: world.monotonic() + retryMs });
  };

  const settleAll = async (snapshot: FormatSnapshot): Promise<void> => {
    const started = new Set<string>();
    const describeNext = async (): Promise<void> => {
      for (const [key, source] of pending) {
        if (started.has(key)) continue;
        started.add(key);
        await describeOne(key, source, snapshot);
        pending.delete(key);
      }
    };
    // Each module is loaded in its own process.
    await Promise.all(Array.from({ length: MAX_CONCURRENT }, describeNext));
    settling = undefined;
  };

  return {
    name: 'module',
    places: ['tools', 'groups', 'skills'],
    entries: 'files',
    claims: (name) => ANY_FILE.test(name),
    read,
    pending,
    settle(snapshot) {
      settling ??= settleAll(snapshot);
      return settling;
    },
  };
}

function hasFrontmatter(file: string, { boundary }: Place): boolean {
  const head = readHead(file, HEAD_BYTES, { within: boundary });
  return !('fault' in head) && FRONTMATTER.test(head.bytes.toString('utf8'));
}

function toReading(
  { tools, offers, findings }: Description,
  source: ModuleFiles,
  place: Place,
): Pick<Reading, 'tools' | 'offers' | 'problems'> {
  const made: Tool[] = [];
  const problems = findings.map((finding) => toProblem(source.file, 'error', finding));
  for (const described of tools) {
    try {
      made.push(toTool(described, source, place));
    } catch (error) {
      const message = `${described.name}: ${(error as Error).message}`;
      problems.push(
        toProblem(source.file, 'error', { message, hint: (error as { hint?: string }).hint ?? 'fix the schema' }),
      );
    }
  }
  return { tools: made, problems, offers: offers.map((offer) => toOffer(offer, source, place)) };
}

function toOffer({ export: name, ...offer }: DescribedOffer, source: ModuleFiles, place: Place): ModuleOffer {
  return { ...offer, action: { kind: 'module', source, export: name }, origin: originOf(source, place) };
}

function toTool(described: DescribedTool, source: ModuleFiles, place: Place): Tool {
  const { name, description, input, output, traits } = described;
  return {
    name,
    description,
    input: createJsonSchema(input, { closed: true }),
    output: output && createJsonSchema(output),
    action: { kind: 'module', source, export: described.export },
    origin: originOf(source, place),
    // MOD-32: the directory names the group, unless the definition does.
    traits: place.kind === 'groups' ? { ...traits, group: traits.group ?? basename(place.directory) } : traits,
  };
}

// POL-20: a file that may not be loaded is listed under its file name, accepts any input and never runs.
function toUnknown(source: ModuleFiles, place: Place): Pick<Reading, 'tools' | 'problems'> {
  const name = baseName(source.file);
  if (!isToolName(name)) {
    const finding = { message: 'the file name is not a tool name', hint: 'use letters, digits, _ and -' };
    return { tools: [], problems: [toProblem(source.file, 'error', finding)] };
  }
  const tool: Tool = {
    name,
    description: 'Not loaded: the tools of a module are known once it is loaded, and this workspace is not trusted.',
    input: createJsonSchema({ type: 'object' }),
    action: { kind: 'module', source, export: null },
    origin: originOf(source, place),
    traits: NO_TRAITS,
  };
  return { tools: [tool], problems: [] };
}

function originOf({ file }: ModuleFiles, place: Place): Origin {
  return toOrigin('module', pathToFileURL(file).href, place);
}
