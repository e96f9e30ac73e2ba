// The tools.json format: a skill's directory declares tools over allowlisted command lines.

import { basename, join } from 'node:path';
import type { Allowlist } from '../../core/command.js';
import type { FileState, Format } from '../../core/format.js';
import { isRecord, parseJson, toJsonFault } from '../../core/json.js';
import { type Boundary, type Place, toOrigin } from '../../core/origin.js';
import { type Finding, type Problem, toProblem } from '../../core/problem.js';
import { joinRequirements, type Requirements } from '../../core/requirements.js';
import type { SandboxRequest } from '../../core/sandbox.js';
import { NO_TRAITS, type Tool } from '../../core/tool.js';
import { readHead } from '../../files/read.js';
import { toFileUri } from '../../files/within.js';
import { createJsonSchema } from '../../schema/json.js';
import { parseSkillFile, readSkillSandbox } from '../shared/skill-file.js';
import { type DeclaredTool, type DescriptorReading, isSplitLayout, readToolsDescriptor } from './parse.js';

// The files that the tools of a directory depend on.
const FILES = ['tools.json', 'allowlist.json', 'execution.json', 'SKILL.md'] as const;
const MAX_BYTES = 4 * 1024 * 1024;
const BOUNDS = { maxDepth: 64, maxBytes: MAX_BYTES };

/** Creates the format of `tools.json`. */
export function createToolsJsonFormat(): Format {
  return {
    name: 'tools-json',
    places: ['skills'],
    entries: 'directories',
    claims: (entry) => !entry.startsWith('.'),
    filesOf: (entry) => FILES.map((file) => join(entry, file)),
    read(entry, place) {
      const directory = join(place.directory, entry);
      const reading = readDirectory(directory, place);
      return (
        reading && {
          tools: reading.tools,
          problems: [
            ...reading.findings.map((finding) => placeIn(directory, 'error', finding)),
            ...reading.warnings.map((finding) => placeIn(directory, 'warning', finding)),
          ],
          states: reading.states,
        }
      );
    },
  };
}

function placeIn(directory: string, severity: Problem['severity'], finding: Finding): Problem {
  const { path = '', pointer, message } = finding;
  return toProblem(join(directory, path), severity, {
    ...finding,
    pointer: pointer || undefined,
    message: pointer ? `${pointer}  ${message}` : message,
  });
}

export interface DirectoryReading extends DescriptorReading {
  /** The states of `FILES`. */
  readonly states: readonly FileState[];
  readonly split: boolean;
  /** Empty if there are findings (TJS-3). */
  readonly tools: readonly Tool[];
}

/** Reads the tools.json of a directory; undefined if it has none. */
export function readDirectory(directory: string, { owner, boundary }: Place): DirectoryReading | undefined {
  const loaded = loadDescriptor(directory, boundary);
  if (loaded?.descriptor === undefined || loaded.findings.length > 0) return loaded && { ...loaded, tools: [] };
  const { descriptor, split } = loaded;
  const skill = readSkillFacts(directory, boundary);
  const tools: Tool[] = [];
  for (const [index, declared] of descriptor.tools.entries()) {
    try {
      tools.push(toTool(declared, descriptor.allowlist, skill, { directory, owner }));
    } catch (error) {
      const finding: Finding = {
        path: 'tools.json',
        pointer: `${split ? '' : '/tools'}/${index}/parameters`,
        message: (error as Error).message,
        hint: (error as { hint?: string }).hint ?? 'fix the schema',
      };
      return { ...loaded, tools: [], findings: [finding] };
    }
  }
  return { ...loaded, tools };
}

// Returns undefined if the directory has no tools.json.
function loadDescriptor(directory: string, within?: Boundary): Omit<DirectoryReading, 'tools'> | undefined {
  const findings: Finding[] = [];
  const states: FileState[] = FILES.map(() => undefined);
  const load = (index: number): unknown => {
    const path = FILES[index]!;
    const reading = readHead(join(directory, path), MAX_BYTES, { within });
    if ('fault' in reading) {
      if (reading.fault !== 'missing')
        findings.push({
          path,
          message: `cannot be read: ${reading.message}`,
          hint: reading.hint ?? 'check its permissions',
        });
      return undefined;
    }
    states[index] = reading.identity;
    if (!reading.complete) {
      findings.push({ path, message: 'larger than 4 MiB', hint: 'shorten it' });
      return undefined;
    }
    try {
      return parseJson(reading.bytes.toString('utf8').replace(/^\ufeff/, ''), path, BOUNDS);
    } catch (error) {
      findings.push({ path, ...toJsonFault(error), hint: 'fix the JSON' });
      return undefined;
    }
  };
  const tools = load(0);
  if (tools === undefined && findings.length === 0) return undefined;
  const split = isSplitLayout(tools);
  const files = split ? { tools, allowlist: load(1), execution: load(2) } : { tools };
  const skill = readHead(join(directory, 'SKILL.md'), 0, { within });
  if (!('fault' in skill)) states[3] = skill.identity;
  if (findings.length > 0) return { findings, warnings: [], states, split };
  return { ...readToolsDescriptor(files), states, split };
}

function toTool(
  { name, description, parameters, executions, sandbox, requires, labels, background }: DeclaredTool,
  allowlist: Allowlist,
  skill: SkillFacts,
  { directory, owner }: Pick<Place, 'directory' | 'owner'>,
): Tool {
  const { binGroups, allowedTools } = skill;
  return {
    name,
    description,
    input: createJsonSchema(parameters, { closed: true }),
    action: { kind: 'process', runs: 'command', directory, allowlist, executions, binGroups },
    origin: toOrigin('tools-json', toFileUri(join(directory, 'tools.json')), { directory, owner }),
    traits: {
      ...NO_TRAITS,
      ...(allowedTools === null ? {} : { allowedTools }),
      sandbox: sandbox ?? skill.sandbox,
      requires: joinRequirements([withoutGroups(skill.requires, executions), requires]),
      ...(labels === undefined ? {} : { labels }),
      background,
    },
  };
}

// The fields of SKILL.md that apply to the tools of its directory.
interface SkillFacts {
  readonly binGroups: readonly (readonly string[])[];
  readonly allowedTools: readonly string[] | null;
  readonly sandbox?: SandboxRequest | undefined;
  readonly requires?: Requirements | undefined;
}

// SKL-4: an invalid SKILL.md may have restricted what its tools can call, so they may call nothing.
function readSkillFacts(directory: string, within: Boundary | undefined): SkillFacts {
  const reading = readHead(join(directory, 'SKILL.md'), MAX_BYTES, { within });
  if ('fault' in reading) return { binGroups: [], allowedTools: reading.fault === 'missing' ? null : [] };
  const { skill, errors } = parseSkillFile(reading.bytes.toString('utf8'), basename(directory));
  return {
    binGroups: toBinGroups(skill?.metadata.requires),
    allowedTools: skill === undefined || errors.length > 0 ? [] : skill.allowedTools,
    sandbox: skill && readSkillSandbox(skill.metadata),
    requires: skill?.requires,
  };
}

// Executions that name a group are chosen by what is installed.
function withoutGroups(requires: Requirements | undefined, executions: DeclaredTool['executions']) {
  if (requires === undefined || executions.every(({ binGroup }) => binGroup === undefined)) return requires;
  return { ...requires, programs: [] };
}

// `metadata.requires.bins` of the skill: groups of programs; all programs of one group must be installed.
function toBinGroups(requires: unknown): string[][] {
  const bins = isRecord(requires) ? requires.bins : undefined;
  if (!Array.isArray(bins)) return [];
  return bins.filter(
    (group): group is string[] => Array.isArray(group) && group.every((name) => typeof name === 'string'),
  );
}
