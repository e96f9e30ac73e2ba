// The skill formats: a directory with a SKILL.md, or a Markdown file, is a skill and a tool that returns its text.

import { readdirSync, readlinkSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { orNothing } from '../../core/error.js';
import { type Format, type Reading, rejected } from '../../core/format.js';
import { isReservedTag } from '../../core/name.js';
import type { FileIdentity, Place } from '../../core/origin.js';
import { type Finding, type Problem, toProblem } from '../../core/problem.js';
import { isSkillDirectory, type Skill } from '../../core/skill.js';
import { quoteOutside, words } from '../../core/text.js';
import type { Tool } from '../../core/tool.js';
import { admittedPath } from '../../files/boundary.js';
import { readImports } from '../../files/closure.js';
import { readHead } from '../../files/read.js';
import { isWithin } from '../../files/within.js';
import { readFrontmatter } from '../shared/frontmatter.js';
import { findReferences } from '../shared/render.js';
import { parseSkillFile, type SkillHeader } from '../shared/skill-file.js';
import { findRulesLine, readSkillMetadata, unreadableRules } from './metadata.js';
import { readSkillScripts, type SkillScripts } from './scripts.js';
import { type SkillSource, toTool } from './to-tool.js';

const MAX_BYTES = 1024 * 1024;

/**
 * Creates the format of skills, `SKILL.md` in a directory. `store` is the directory of installed skills: links to them are
 * skipped, because they are listed by themselves (INS-80).
 */
export function createSkillFormat(store?: string): Format {
  return {
    name: 'skill',
    places: ['skills'],
    entries: 'directories',
    yields: true,
    claims: (entry) => !entry.startsWith('.'),
    filesOf: (entry) => [join(entry, 'SKILL.md')],
    read: (entry, place) =>
      store !== undefined && isLinkInto(store, join(place.directory, entry))
        ? undefined
        : readSkillDirectory(entry, place),
  };
}

function isLinkInto(store: string, path: string): boolean {
  return orNothing(() => isWithin(store, resolve(dirname(path), readlinkSync(path)))) ?? false;
}

/** Reads Markdown files with frontmatter directly in a directory of skills, named as they like (SKL-7). */
export function createFlatSkillFormat(): Format {
  return {
    name: 'skill-file',
    places: ['skills'],
    entries: 'files',
    yields: true,
    claims: (entry) => /^[^.].*\.md$/i.test(entry) && !OTHER_FILES.has(entry.toLowerCase()),
    read: readFlatSkill,
  };
}

// The main skill of the directory, and files that repositories have.
const OTHER_FILES = new Set(['skill.md', 'readme.md', 'changelog.md', 'contributing.md', 'license.md', 'agents.md']);

function readSkillDirectory(entry: string, place: Place): Reading | undefined {
  const directory = join(place.directory, entry);
  const file = join(directory, 'SKILL.md');
  const reading = readHead(file, MAX_BYTES, { within: place.boundary });
  if ('fault' in reading && reading.fault === 'missing') return checkSpelling(directory, place);
  return readSkill(file, basename(directory), reading, place);
}

// A file without a name and a description is some other document, unless a path names it.
function readFlatSkill(entry: string, place: Place): Reading | undefined {
  const file = join(place.directory, entry);
  const reading = readHead(file, MAX_BYTES, { within: place.boundary });
  if ('fault' in reading || !reading.complete) return undefined;
  const frontmatter = readFrontmatter(reading.bytes.toString('utf8'));
  if (place.named !== true && !isNamed(frontmatter)) {
    const fault = findMissing(frontmatter);
    return fault && { tools: [], problems: [toProblem(file, 'warning', fault)], states: [reading.identity] };
  }
  return readSkill(file, entry.replace(/\.md$/i, ''), reading, place);
}

function isNamed(frontmatter: ReturnType<typeof readFrontmatter>): boolean {
  if ('message' in frontmatter) return false;
  const { name, description } = frontmatter.fields;
  return [name, description].every((text) => typeof text === 'string' && text.trim() !== '');
}

const SKILL_FIELDS = words('name description allowed-tools metadata license compatibility requires trust');

// A file with fields of skills and no others was meant to be one; pages of other systems have a title and more.
function findMissing(frontmatter: ReturnType<typeof readFrontmatter>): Finding | undefined {
  if ('message' in frontmatter) return undefined;
  const names = Object.keys(frontmatter.fields);
  const missing = ['name', 'description'].filter((field) => !names.includes(field));
  if (missing.length !== 1 || names.some((name) => !SKILL_FIELDS.includes(name))) return undefined;
  return { message: `not listed as a skill: it has no ${missing[0]}`, hint: `add ${missing[0]}: to its frontmatter` };
}

// `name` is that of its path.
function readSkill(file: string, name: string, reading: ReturnType<typeof readHead>, place: Place): Reading {
  if ('fault' in reading)
    return rejected(file, { message: `cannot be read: ${reading.message}`, hint: 'check its permissions' });
  const states = [reading.identity];
  if (!reading.complete) return rejected(file, { message: 'larger than 1 MiB', hint: 'shorten it' }, states);
  const text = reading.bytes.toString('utf8');
  const { skill: header, errors, warnings } = parseSkillFile(text, name);
  const problems = [
    ...errors.map((error) => toProblem(file, 'error', error)),
    ...warnings.map((warning) => toProblem(file, 'warning', warning)),
  ];
  if (header === undefined) return { tools: [], problems, states };
  if (header.name !== name) {
    problems.push(
      toProblem(file, 'warning', {
        message: `name "${quoteOutside(header.name, 60)}" differs from ${isSkillDirectory({ file }) ? `the directory "${name}"` : `the file "${basename(file)}"`}`,
        hint: 'use the same name for both; some agents require it',
      }),
    );
  }
  if (errors.length > 0) {
    const { warnings: odd } = readSkillMetadata(header.metadata);
    return { tools: [], problems: [...problems, ...odd.map((one) => toProblem(file, 'warning', one))], states };
  }
  return toReading(header, { file, text, identity: reading.identity, place }, problems);
}

/** An installed skill, agent or rule: named by the record, whatever its frontmatter is. */
export interface InstalledText {
  readonly file: string;
  readonly name: string;
  readonly description: string;
  readonly place: Place;
}

/** Reads an installed text. Its author is not here, so that only what prevents it from being read is a problem. */
export function readInstalledText({ file, name, description, place }: InstalledText): Reading {
  const reading = readHead(file, MAX_BYTES);
  if ('fault' in reading)
    return rejected(file, { message: `cannot be read: ${reading.message}`, hint: 'run wield doctor' });
  const text = reading.bytes.toString('utf8');
  const { skill } = parseSkillFile(text, name);
  const header = skill ?? { allowedTools: null, metadata: {}, body: text, start: 0, description: '' };
  const named = { ...header, name, description: header.description || description };
  const { tools, skills, ...rest } = toReading(named, { file, text, identity: reading.identity, place }, []);
  // Scripts are compared with the record of the install; other code of a package is an item of its own.
  const isKept = ({ action: { kind } }: Tool): boolean => kind === 'text' || kind === 'process';
  return { ...rest, tools: tools.filter(isKept), skills, problems: [] };
}

interface SkillText {
  readonly file: string;
  readonly text: string;
  readonly identity: FileIdentity;
  readonly place: Place;
}

function toReading(header: SkillHeader, { file, text, identity, place }: SkillText, problems: Problem[]): Reading {
  const directory = dirname(file);
  const { metadata, warnings: odd, error } = readSkillMetadata(header.metadata);
  problems.push(...odd.map((warning) => toProblem(file, 'warning', warning)));
  const { tags, hidden, delegate, inherit, timeoutMs, middleware, paths } = metadata;
  const { body, ...fields } = header;
  const skill: Skill = {
    ...fields,
    file,
    directory,
    owner: place.owner,
    tags: tags.filter((tag) => !isReservedTag(tag)),
    hidden,
    delegate: delegate !== null && 'ref' in delegate ? delegate.ref : null,
    inherit,
    timeoutMs,
    trust: toTrust(text.slice(0, header.start), header.metadata, metadata.trust),
    middleware,
    paths,
    references: findReferences(body),
  };
  const scripts = isSkillDirectory(skill) ? readSkillScripts(skill, place) : undefined;
  const own: Skill =
    scripts === undefined || scripts.scripts.length === 0 ? skill : { ...skill, scripts: scripts.scripts };
  const imports = delegate !== null && 'code' in delegate ? readImports(delegate.code, file, place.boundary) : [];
  const fault = error ?? ('fault' in imports ? { message: imports.message, hint: 'import less' } : undefined);
  const source: SkillSource = { text, identity, imports: 'fault' in imports ? [] : imports };
  const made = fault ? toProblem(file, 'error', fault) : toTool(skill, metadata, source);
  const base = { skills: [own], ...toStates(file, source, scripts, place) };
  const more = scripts?.tools ?? [];
  return 'severity' in made
    ? { tools: more, problems: [...problems, made], ...base }
    : { tools: [made, ...more], problems, ...base };
}

// Frontmatter that is read line by line has no metadata, but may declare rules.
function toTrust(text: string, metadata: SkillHeader['metadata'], trust: Skill['trust']): Skill['trust'] {
  if (trust !== undefined) return { ...trust, line: findRulesLine(text) };
  const isLoose = Object.keys(metadata).length === 0 && /^metadata\s*:/m.test(text) && findRulesLine(text) !== null;
  return isLoose ? unreadableRules('metadata is not valid YAML') : undefined;
}

// A directory without SKILL.md is not a skill, but one with another spelling of it was meant to be.
function checkSpelling(directory: string, { boundary }: Place): Reading | undefined {
  const all = orNothing(() => readdirSync(admittedPath(directory, boundary) ?? '')) ?? [];
  const names = all.filter((name) => name.toLowerCase() === 'skill.md');
  const [other] = names;
  if (other === undefined) return undefined;
  if (names.includes('SKILL.md'))
    return rejected(join(directory, 'SKILL.md'), { message: 'is a link that leads to nothing', hint: 'fix the link' });
  return rejected(join(directory, other), {
    message: 'not listed: the name must be SKILL.md',
    hint: 'rename it to SKILL.md',
  });
}

// Files that inline code imports decide what runs, as SKILL.md itself does.
function toStates(file: string, { identity, imports }: SkillSource, scripts: SkillScripts | undefined, place: Place) {
  const files = [file, ...imports.map(({ path }) => path), ...(scripts?.files ?? [])];
  return {
    states: [identity, ...imports.map((file) => file.identity), ...(scripts?.states ?? [])],
    files: files.map((path) => relative(place.directory, path)),
  };
}
