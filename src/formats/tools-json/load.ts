// Loads the tools.json of a skill's directory, in one file or split into three.

import { join } from 'node:path';
import type { FileState } from '../../core/format.js';
import { parseJson, toJsonFault } from '../../core/json.js';
import type { Boundary } from '../../core/origin.js';
import type { Finding } from '../../core/problem.js';
import { readHead } from '../../files/read.js';
import { isSplitLayout, readToolsDescriptor, type ToolsDescriptor } from './parse.js';

/** The files that the tools of a directory depend on. */
export const FILES = ['tools.json', 'allowlist.json', 'execution.json', 'SKILL.md'] as const;
export const MAX_BYTES = 4 * 1024 * 1024;
const BOUNDS = { maxDepth: 64, maxBytes: MAX_BYTES };

export interface LoadedDescriptor {
  /** Absent if there are findings. */
  readonly descriptor?: ToolsDescriptor;
  /** The parts that could be read, for lint; absent if there are none. */
  readonly draft?: ToolsDescriptor;
  /** Each with the name of its file as `path`. */
  readonly findings: readonly Finding[];
  /** Like findings, for a descriptor that can be used. */
  readonly warnings: readonly Finding[];
  /** The states of `FILES`. */
  readonly states: readonly FileState[];
  readonly split: boolean;
}

/** Returns undefined if the directory has no tools.json. */
export function loadDescriptor(directory: string, within?: Boundary): LoadedDescriptor | undefined {
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
