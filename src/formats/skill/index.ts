// The skill format: a directory with a SKILL.md is a skill, and a tool that answers with its text.

import { readdirSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Format, Place, Reading } from '../../core/format.js';
import { isToolName } from '../../core/name.js';
import type { Problem } from '../../core/problem.js';
import { findReferences } from '../../core/render.js';
import { NO_PARAMETERS, type Schema } from '../../core/schema.js';
import type { Skill } from '../../core/skill.js';
import { isReservedTag } from '../../core/tag.js';
import { quoteOutside } from '../../core/text.js';
import type { Action, FileIdentity, Tool } from '../../core/tool.js';
import { type ReadModuleFile, readImports, toModuleFile } from '../../files/closure.js';
import { readHead } from '../../files/read.js';
import { fillDefaults } from '../../schema/defaults.js';
import { createJsonSchema } from '../../schema/json.js';
import type { Complaint } from '../script/header.js';
import { readSkillMetadata, type SkillMetadata } from './metadata.js';
import { readSkill } from './parse.js';

const MAX_BYTES = 1024 * 1024;
// SKL-2: a listing carries one line of it.
const DESCRIPTION_LENGTH = 200;
const DEFAULT_EXPORT = /\bexport\s+default\b|\bas\s+default\b/;

export function createSkillFormat(): Format {
  return {
    name: 'skill',
    places: ['skills'],
    entries: 'directories',
    yields: true,
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
  const text = reading.bytes.toString('utf8');
  const { skill, errors, warnings } = readSkill(text);
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
  const { body, ...header } = skill;
  const { metadata, warnings: odd, fault } = readSkillMetadata(skill.metadata);
  problems.push(...odd.map((complaint) => toProblem('warning', file, complaint)));
  const { tags, hidden, delegate, inherit, timeoutMs } = metadata;
  const read: Skill = {
    ...header,
    file,
    directory,
    owner: place.owner,
    tags: tags.filter((tag) => !isReservedTag(tag)),
    hidden,
    delegate: delegate !== null && 'ref' in delegate ? delegate.ref : null,
    inherit,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    references: findReferences(body),
  };
  const imports = delegate !== null && 'code' in delegate ? readImports(delegate.code, file) : [];
  const given: SkillFile = { text, identity: reading.identity, imports };
  const made = fault ? toProblem('error', file, fault) : toTool(read, metadata, given);
  const base = { skills: [read], ...toStates(entry, given, place) };
  if (!('severity' in made)) return { tools: [made], problems, ...base };
  return { tools: [], problems: [...problems, made], ...base };
}

/** What was read of a skill's file, and of the files that its code imports. */
interface SkillFile {
  readonly text: string;
  readonly identity: FileIdentity;
  readonly imports: readonly ReadModuleFile[];
}

// What code imports decides what runs, as the file itself does.
function toStates(entry: string, { identity, imports }: SkillFile, place: Place) {
  if (imports.length === 0) return { states: [identity] };
  return {
    states: [identity, ...imports.map((file) => file.identity)],
    files: [join(entry, 'SKILL.md'), ...imports.map(({ path }) => relative(place.directory, path))],
  };
}

// SKL-3: a skill is a tool too, or there is a reason why not.
function toTool(skill: Skill, { params, delegate, tags }: SkillMetadata, given: SkillFile): Tool | Problem {
  if (!isToolName(skill.name)) {
    return toProblem('warning', skill.file, {
      message: `is named "${quoteOutside(skill.name, 64)}", as no tool can be: it can be read, and not called`,
      hint: 'use letters, digits, _ and - in its name',
    });
  }
  if (delegate !== null && 'code' in delegate && !DEFAULT_EXPORT.test(delegate.code)) {
    return toProblem('error', skill.file, {
      message: 'metadata.delegate holds code that exports no function as default, so it cannot be called',
      hint: 'write code: export default (input, context) => …',
    });
  }
  let input: Schema;
  try {
    input = createJsonSchema(params ?? NO_PARAMETERS, { closed: true });
    if (delegate !== null && 'code' in delegate) input = withDefaults(input);
  } catch (error) {
    return toProblem('error', skill.file, {
      message: `metadata.params cannot be used: ${(error as Error).message}`,
      hint: 'mend the schema',
    });
  }
  return {
    name: skill.name,
    description: quoteOutside(skill.description, DESCRIPTION_LENGTH),
    input,
    action: toAction(skill, delegate, params !== undefined, given),
    origin: {
      format: 'skill',
      uri:
        delegate !== null && 'code' in delegate ? `inline://${skill.name}` : pathToFileURL(skill.file).href,
      directory: skill.directory,
      source: null,
      digest: null,
      server: null,
      owner: skill.owner,
    },
    traits: {
      tags,
      hidden: skill.hidden,
      terminal: false,
      ...(delegate === null ? { text: true, readOnly: true } : {}),
      ...(skill.timeoutMs === undefined ? {} : { timeoutMs: skill.timeoutMs }),
      ...(skill.allowedTools === null ? {} : { allowedTools: skill.allowedTools }),
      examples: [],
    },
  };
}

function toAction(
  { file, start }: Skill,
  delegate: SkillMetadata['delegate'],
  ownInput: boolean,
  { text, identity, imports }: SkillFile,
): Action {
  if (delegate === null) return { kind: 'text', file, identity, start };
  if ('ref' in delegate) return { kind: 'delegate', ref: delegate.ref, ownInput };
  const source = { inline: atItsLine(delegate.code, text), file, files: imports.map(toModuleFile) };
  return { kind: 'module', source, export: 'default' };
}

// Code gets the defaults of its parameters, as the function of a module does (MOD-4).
function withDefaults({ json, check }: Schema): Schema {
  return {
    json,
    check: async (value) => {
      const checked = await check(value);
      return checked.ok ? { ok: true, value: fillDefaults(checked.value, json) } : checked;
    },
  };
}

// Whoever has to say where the code fails names a line of the file that it stands in.
function atItsLine(code: string, text: string): string {
  const first = code.split('\n').find((line) => line.trim() !== '') ?? '';
  const at = text.indexOf(first.trim(), Math.max(0, text.search(/^\s*code\s*:/m)));
  const before = code.slice(0, code.indexOf(first)).split('\n').length - 1;
  const line = text.slice(0, Math.max(0, at)).split('\n').length - 1;
  return '\n'.repeat(Math.max(0, line - before)) + code;
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
