// The tools.json format: a skill's directory declares tools over allowlisted command lines.

import { join } from 'node:path';
import type { Format } from '../../core/format.js';
import type { Place } from '../../core/origin.js';
import { type Finding, type Problem, toProblem } from '../../core/problem.js';
import type { Tool } from '../../core/tool.js';
import { FILES, type LoadedDescriptor, loadDescriptor } from './load.js';
import { readSkillFacts } from './skill-facts.js';
import { toTool } from './to-tool.js';

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

export interface DirectoryReading extends LoadedDescriptor {
  /** Empty if there are findings (TJS-3). */
  readonly tools: readonly Tool[];
}

/** Reads the tools.json of a directory; undefined if it has none. */
export function readDirectory(directory: string, { owner, boundary }: Place): DirectoryReading | undefined {
  const loaded = loadDescriptor(directory, boundary);
  if (loaded?.descriptor === undefined) return loaded && { ...loaded, tools: [] };
  const { descriptor, split } = loaded;
  const skill = readSkillFacts(join(directory, 'SKILL.md'), boundary);
  const tools: Tool[] = [];
  for (const [index, declared] of descriptor.tools.entries()) {
    try {
      tools.push(toTool(declared, { descriptor, directory, skill, owner }));
    } catch (error) {
      const finding: Finding = {
        path: 'tools.json',
        pointer: `${split ? '' : '/tools'}/${index}/parameters`,
        message: (error as Error).message,
        hint: 'fix the schema',
      };
      return { ...loaded, tools: [], findings: [finding] };
    }
  }
  return { ...loaded, tools };
}
