// The tools.json format: a skill's directory declares tools over allowlisted command lines.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FileState, Format, Place, Reading } from '../../core/format.js';
import { isRecord, parseJson } from '../../core/json.js';
import type { Problem } from '../../core/problem.js';
import { NO_TRAITS, type Tool } from '../../core/tool.js';
import { readHead } from '../../files/read.js';
import { createJsonSchema } from '../../schema/json.js';
import { readSkill } from '../skill/parse.js';
import {
  type DeclaredTool,
  type FileComplaint,
  isSplitLayout,
  readToolsDescriptor,
  type ToolsDescriptor,
} from './parse.js';

const FILES = ['tools.json', 'allowlist.json', 'execution.json', 'SKILL.md'] as const;
const MAX_BYTES = 4 * 1024 * 1024;
const BOUNDS = { maxDepth: 64, maxBytes: MAX_BYTES };

export function createToolsJsonFormat(): Format {
  return {
    name: 'tools-json',
    places: ['skills'],
    entries: 'directories',
    claims: (entry) => !entry.startsWith('.'),
    filesOf: (entry) => FILES.map((file) => join(entry, file)),
    read: (entry, place) => readDirectory(join(place.directory, entry), place),
  };
}

function readDirectory(directory: string, place: Place): Reading | undefined {
  const { loaded, complaints } = loadDescriptor(directory);
  if (loaded === undefined) return undefined;
  const problems = complaints.map((complaint) => toProblem(directory, complaint));
  const { states, descriptor } = loaded;
  if (descriptor === undefined) return { tools: [], problems, states };
  const skill = readSkillFacts(join(directory, 'SKILL.md'));
  const tools: Tool[] = [];
  for (const [index, declared] of descriptor.tools.entries()) {
    try {
      tools.push(toTool(declared, descriptor, directory, skill, place));
    } catch (error) {
      // TJS-3: one schema that cannot be used disables the skill's tools, and only those.
      const pointer = loaded.split ? `/${index}/parameters` : `/tools/${index}/parameters`;
      const { message } = error as Error;
      problems.push(toProblem(directory, { file: 'tools.json', pointer, message, hint: 'mend the schema' }));
      return { tools: [], problems, states };
    }
  }
  return { tools, problems, states };
}

export interface LoadedDescriptor {
  readonly descriptor: ToolsDescriptor | undefined;
  readonly states: readonly FileState[];
  readonly split: boolean;
}

/** The descriptor of a skill's directory with what is wrong with it; `loaded` is undefined where it has none. */
export function loadDescriptor(directory: string): {
  readonly loaded: LoadedDescriptor | undefined;
  readonly complaints: readonly FileComplaint[];
} {
  const states: FileState[] = [];
  const complaints: FileComplaint[] = [];
  const load = (file: string): unknown => {
    const reading = readHead(join(directory, file), MAX_BYTES);
    if ('fault' in reading) {
      states.push(undefined);
      if (reading.fault !== 'missing')
        complaints.push(wrong(file, `cannot be read: ${reading.message}`, 'check its permissions'));
      return undefined;
    }
    states.push(reading.identity);
    if (!reading.complete) {
      complaints.push(wrong(file, 'larger than 4 MiB', 'shorten it'));
      return undefined;
    }
    try {
      return parseJson(reading.bytes.toString('utf8').replace(/^\ufeff/, ''), file, BOUNDS);
    } catch (error) {
      complaints.push(wrong(file, (error as Error).message, 'mend the JSON'));
      return undefined;
    }
  };
  const tools = load('tools.json');
  if (tools === undefined && complaints.length === 0) return { loaded: undefined, complaints };
  const split = isSplitLayout(tools);
  const parts = split
    ? { tools, allowlist: load('allowlist.json'), execution: load('execution.json') }
    : { tools };
  while (states.length < FILES.length) states.push(undefined);
  states[FILES.length - 1] = stateOf(join(directory, 'SKILL.md'));
  if (complaints.length > 0) return { loaded: { descriptor: undefined, states, split }, complaints };
  const reading = readToolsDescriptor(parts);
  return { loaded: { descriptor: reading.descriptor, states, split }, complaints: reading.complaints };
}

function wrong(file: string, message: string, hint: string): FileComplaint {
  return { file, pointer: '', message, hint };
}

function stateOf(path: string): FileState {
  const reading = readHead(path, 0);
  return 'fault' in reading ? undefined : reading.identity;
}

/** What the SKILL.md beside it says that counts for its tools. */
interface SkillFacts {
  readonly binGroups: readonly (readonly string[])[];
  readonly allowedTools: readonly string[] | null;
}

// One that is there and is no skill may have named what its tools can call, so they call nothing (SKL-4).
function readSkillFacts(path: string): SkillFacts {
  const reading = readHead(path, MAX_BYTES);
  if ('fault' in reading) return { binGroups: [], allowedTools: reading.fault === 'missing' ? null : [] };
  const { skill } = readSkill(reading.bytes.toString('utf8'));
  return {
    binGroups: toBinGroups(skill?.metadata.requires),
    allowedTools: skill === undefined ? [] : skill.allowedTools,
  };
}

// `metadata.requires.bins` of the skill: alternatives of programs, of which one must be whole.
function toBinGroups(requires: unknown): string[][] {
  const bins = isRecord(requires) ? requires.bins : undefined;
  if (!Array.isArray(bins)) return [];
  return bins.filter(
    (group): group is string[] => Array.isArray(group) && group.every((name) => typeof name === 'string'),
  );
}

function toTool(
  { name, description, parameters, executions }: DeclaredTool,
  { allowlist }: ToolsDescriptor,
  directory: string,
  { binGroups, allowedTools }: SkillFacts,
  place: Place,
): Tool {
  return {
    name,
    description,
    input: createJsonSchema(parameters, { closed: true }),
    action: { kind: 'process', runs: 'command', directory, allowlist, executions, binGroups },
    origin: {
      format: 'tools-json',
      uri: pathToFileURL(join(directory, 'tools.json')).href,
      directory,
      source: null,
      digest: null,
      server: null,
      owner: place.owner,
    },
    traits: allowedTools === null ? NO_TRAITS : { ...NO_TRAITS, allowedTools },
  };
}

function toProblem(directory: string, { file, pointer, message, hint }: FileComplaint): Problem {
  return {
    severity: 'error',
    path: join(directory, file),
    message: pointer === '' ? message : `${pointer}  ${message}`,
    hint,
    ...(pointer === '' ? {} : { pointer }),
  };
}
