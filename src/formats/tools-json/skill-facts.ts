// Reads what the SKILL.md beside a tools.json says about its tools.

import { basename, dirname } from 'node:path';
import { isRecord } from '../../core/json.js';
import type { Boundary } from '../../core/origin.js';
import type { SandboxRequest } from '../../core/sandbox.js';
import { readHead } from '../../files/read.js';
import { parseSkillFile, readSkillSandbox } from '../shared/skill-file.js';
import { MAX_BYTES } from './load.js';

/** The fields of SKILL.md that apply to the tools of its directory. */
export interface SkillFacts {
  readonly binGroups: readonly (readonly string[])[];
  readonly allowedTools: readonly string[] | null;
  readonly sandbox?: SandboxRequest | undefined;
}

// SKL-4: an invalid SKILL.md may have restricted what its tools can call, so they may call nothing.
export function readSkillFacts(path: string, within: Boundary | undefined): SkillFacts {
  const reading = readHead(path, MAX_BYTES, { within });
  if ('fault' in reading) return { binGroups: [], allowedTools: reading.fault === 'missing' ? null : [] };
  const { skill, errors } = parseSkillFile(reading.bytes.toString('utf8'), basename(dirname(path)));
  return {
    binGroups: toBinGroups(skill?.metadata.requires),
    allowedTools: skill === undefined || errors.length > 0 ? [] : skill.allowedTools,
    sandbox: skill && readSkillSandbox(skill.metadata),
  };
}

// `metadata.requires.bins` of the skill: groups of programs; all programs of one group must be installed.
function toBinGroups(requires: unknown): string[][] {
  const bins = isRecord(requires) ? requires.bins : undefined;
  if (!Array.isArray(bins)) return [];
  return bins.filter(
    (group): group is string[] => Array.isArray(group) && group.every((name) => typeof name === 'string'),
  );
}
