// The skill format: a directory with a SKILL.md is a skill.

import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Format, Place, Reading } from '../core/format.js';
import type { Problem } from '../core/tool.js';
import type { Complaint } from '../descriptor/script-header.js';
import { readSkill } from '../descriptor/skill.js';
import { readHead } from '../files/read.js';

const MAX_BYTES = 1024 * 1024;

export function createSkillFormat(): Format {
  return {
    name: 'skill',
    places: ['skills'],
    entries: 'directories',
    claims: (entry) => !entry.startsWith('.'),
    filesOf: (entry) => [join(entry, 'SKILL.md')],
    read: readSkillDirectory,
  };
}

function readSkillDirectory(entry: string, place: Place): Reading | undefined {
  const directory = join(place.directory, entry);
  const file = join(directory, 'SKILL.md');
  const reading = readHead(file, MAX_BYTES);
  if ('fault' in reading) {
    if (reading.fault !== 'missing') {
      return refuse(file, { message: `cannot be read: ${reading.message}`, hint: 'check its permissions' });
    }
    const other = otherSpelling(directory);
    // A directory without one is no skill; one in another case was meant as one.
    return other === undefined
      ? undefined
      : refuse(join(directory, other), {
          message: 'not listed: the name must be SKILL.md',
          hint: 'rename it to SKILL.md',
        });
  }
  const states = [reading.identity];
  if (!reading.complete)
    return { ...refuse(file, { message: 'larger than 1 MiB', hint: 'shorten it' }), states };
  const { skill, errors, warnings } = readSkill(reading.bytes.toString('utf8'));
  const problems = [
    ...errors.map((complaint) => toProblem('error', file, complaint)),
    ...warnings.map((complaint) => toProblem('warning', file, complaint)),
  ];
  if (skill === undefined) return { tools: [], problems, states };
  if (skill.name !== basename(directory)) {
    problems.push(
      toProblem('warning', file, {
        message: `is named "${skill.name}", and its directory "${basename(directory)}"`,
        hint: 'give both the same name: some readers refuse it otherwise',
      }),
    );
  }
  const { body: _, ...header } = skill;
  return { tools: [], skills: [{ ...header, file, directory, owner: place.owner }], problems, states };
}

function otherSpelling(directory: string): string | undefined {
  try {
    return readdirSync(directory).find((name) => name.toLowerCase() === 'skill.md');
  } catch {
    return undefined;
  }
}

function refuse(path: string, complaint: Complaint): Reading {
  return { tools: [], problems: [toProblem('error', path, complaint)], states: [undefined] };
}

function toProblem(severity: Problem['severity'], path: string, { message, hint }: Complaint): Problem {
  return { severity, path, message, hint };
}
