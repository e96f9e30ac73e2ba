// The module format: a `*.tool.ts` file (or .mts, .js, .mjs) exports typed tools; it is loaded only where that is trusted.

import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Format, Place, Reading } from '../../core/format.js';
import type { Json } from '../../core/json.js';
import { isToolName } from '../../core/name.js';
import type { Problem } from '../../core/problem.js';
import { type ModuleFiles, NO_TRAITS, type Tool } from '../../core/tool.js';
import type { World } from '../../core/world.js';
import { closureKey, readClosure, toModuleFile } from '../../files/closure.js';
import { createJsonSchema } from '../../schema/json.js';
import { baseName } from './collect.js';
import {
  createDescriptionCache,
  type DescribedTool,
  type Description,
  type ModuleComplaint,
  readDescription,
} from './description.js';

export interface ModuleFormatOptions {
  /** Where descriptions are kept. */
  readonly cacheDirectory: string;
  /** Whether files of a place may be loaded; asked anew each time. */
  readonly mayLoad: (place: Place) => boolean;
  /** Loads a module where nothing it does can harm us, and says what it offers. Throws where that cannot be. */
  readonly describe: (source: ModuleFiles) => Promise<Json>;
  readonly world: World;
}

const FILE = /^[^.].*\.tool\.m?[jt]s$/;

/** Whether a file of this name is a module with tools. */
export function isModuleFile(name: string): boolean {
  return FILE.test(name);
}

// What failed to load may load once a package is installed, or a server is up.
const RETRY_MS = 5000;

interface Failure {
  readonly description: Description;
  /** When it may be tried again; never for one that did not even end. */
  readonly retryAt: number;
}

/** Reads modules of directories of tools (MOD-7). A file that was never loaded is asked about in `settle`. */
export function createModuleFormat(options: ModuleFormatOptions): Format {
  const { mayLoad, world } = options;
  const descriptions = createDescriptionCache(options.cacheDirectory, world);
  const failures = new Map<string, Failure>();
  const waiting = new Map<string, ModuleFiles>();
  let settling: Promise<void> | undefined;

  const read = (entry: string, place: Place): Reading => {
    const file = join(place.directory, entry);
    const closure = readClosure(file);
    if ('fault' in closure) {
      const complaint = { message: closure.message, hint: 'check the file and its permissions' };
      return { tools: [], problems: [toProblem(file, complaint)], states: [undefined] };
    }
    const key = closureKey(closure, file);
    const base = {
      states: closure.map(({ identity }) => identity),
      files: closure.map(({ path }) => relative(place.directory, path)),
    };
    const source = { file, files: closure.map(toModuleFile) };
    const known = descriptions.get(key);
    if (known !== undefined) return { ...base, ...toTools(known, source, place) };
    if (!mayLoad(place)) return { ...base, ...toUnknown(source, place), pending: true };
    const failure = failures.get(key);
    if (failure !== undefined && world.monotonic() < failure.retryAt)
      return { ...base, ...toTools(failure.description, source, place), pending: true };
    waiting.set(key, source);
    return { ...base, tools: [], problems: [], pending: true };
  };

  const describeOne = async (key: string, source: ModuleFiles): Promise<void> => {
    let description: Description;
    let retryMs = RETRY_MS;
    try {
      description = readDescription(await options.describe(source));
    } catch (error) {
      const { message, hint = 'mend the file', code } = error as Error & { hint?: string; code?: string };
      // Whoever lists would wait again each time.
      if (code === 'timeout') retryMs = Number.POSITIVE_INFINITY;
      description = { loaded: false, tools: [], complaints: [{ message, hint }] };
    }
    if (description.loaded) descriptions.set(key, description);
    else failures.set(key, { description, retryAt: world.monotonic() + retryMs });
  };

  const settleAll = async (): Promise<void> => {
    for (const [key, source] of waiting) {
      waiting.delete(key);
      await describeOne(key, source);
    }
    settling = undefined;
  };

  return {
    name: 'module',
    places: ['tools', 'skills'],
    entries: 'files',
    claims: isModuleFile,
    read,
    settle() {
      if (waiting.size > 0) settling ??= settleAll();
      return settling;
    },
  };
}

function toTools(
  { tools, complaints }: Description,
  source: ModuleFiles,
  place: Place,
): { readonly tools: readonly Tool[]; readonly problems: readonly Problem[] } {
  const made: Tool[] = [];
  const problems = complaints.map((complaint) => toProblem(source.file, complaint));
  for (const described of tools) {
    try {
      made.push(toTool(described, source, place));
    } catch (error) {
      const message = `${described.name}: ${(error as Error).message}`;
      problems.push(toProblem(source.file, { message, hint: 'mend the schema' }));
    }
  }
  return { tools: made, problems };
}

function toTool(described: DescribedTool, source: ModuleFiles, place: Place): Tool {
  const { name, description, input, output, traits } = described;
  return {
    name,
    description,
    input: createJsonSchema(input, { closed: true }),
    ...(output === undefined ? {} : { output: createJsonSchema(output) }),
    action: { kind: 'module', source, export: described.export },
    origin: toOrigin(source, place),
    traits,
  };
}

// POL-20: a file that may not be loaded stands under its own name, and takes whatever it is given: it never runs.
function toUnknown(
  source: ModuleFiles,
  place: Place,
): { readonly tools: readonly Tool[]; readonly problems: readonly Problem[] } {
  const name = baseName(source.file);
  if (!isToolName(name)) {
    const complaint = { message: 'the file name is not a tool name', hint: 'use letters, digits, _ and -' };
    return { tools: [], problems: [toProblem(source.file, complaint)] };
  }
  const tool: Tool = {
    name,
    description:
      'Not read: a module says what it offers only when it is loaded, and this workspace is not trusted.',
    input: createJsonSchema({ type: 'object' }),
    action: { kind: 'module', source, export: null },
    origin: toOrigin(source, place),
    traits: NO_TRAITS,
  };
  return { tools: [tool], problems: [] };
}

function toOrigin({ file }: ModuleFiles, place: Place): Tool['origin'] {
  return {
    format: 'module',
    uri: pathToFileURL(file).href,
    directory: place.directory,
    source: null,
    digest: null,
    server: null,
    owner: place.owner,
  };
}

function toProblem(path: string, { message, hint }: ModuleComplaint): Problem {
  return { severity: 'error', path, message, hint };
}
