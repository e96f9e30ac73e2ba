// Checks a skill, a directory of skills or a workspace for authors: errors, and what could be better.

import { readdirSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { orNothing, ToolError } from '../core/error.js';
import type { Reading } from '../core/format.js';
import { withoutReservedTags } from '../core/name.js';
import type { Boundary, Place } from '../core/origin.js';
import { type Finding, type Problem, withoutRepeats } from '../core/problem.js';
import type { Skill } from '../core/skill.js';
import type { World } from '../core/snapshot.js';
import { compareText, quoteOutside, quoteWord } from '../core/text.js';
import { anchorRef } from '../files/anchor.js';
import { admittedPath, readWithin, toDeparture, traceBoundary } from '../files/boundary.js';
import { statOrNothing } from '../files/read.js';
import { isModuleFile } from './module/index.js';
import { isDocument } from './openapi/index.js';
import { createScriptFormat } from './script/index.js';
import { createSkillFormat } from './skill/index.js';
import { readDirectory } from './tools-json/index.js';
import { lintToolsDescriptor } from './tools-json/lint.js';

export interface CheckFinding {
  readonly level: 'error' | 'warning';
  /** Relative to the checked directory; starts with the skill's name if a skill is checked. */
  readonly path: string;
  readonly pointer: string;
  /** Counted from 1. */
  readonly line?: number;
  readonly column?: number;
  readonly message: string;
  readonly hint: string;
}

/** Findings are sorted by file, errors before warnings. */
export interface CheckReport {
  readonly checked: number;
  readonly findings: readonly CheckFinding[];
}

export interface CheckOptions {
  readonly world: World;
  /** Whether a reference leads to a tool or skill outside the checked directory. */
  readonly isThere: (ref: string) => Promise<boolean>;
  /** Returns the problems of a module file, if it may be loaded, or of an OpenAPI document. */
  readonly problemsOf: (file: string) => Promise<readonly Problem[]>;
  /** The workspace that links must not lead out of (RES-46). */
  readonly boundary?: Boundary | undefined;
}

const NOTHING: Reading = { tools: [], problems: [], states: [] };

/** Throws `not_found` if the directory does not exist, and `usage` if it is a file. */
export async function checkDirectory(
  directory: string,
  { world, isThere, problemsOf, boundary }: CheckOptions,
): Promise<CheckReport> {
  const root = resolve(directory);
  const found = statOrNothing(root);
  if (found !== undefined && !found.isDirectory()) {
    throw new ToolError('usage', `not a directory: ${directory}`, {
      hint: `check the directory that it is in: wield check ${quoteWord(dirname(root))}`,
    });
  }
  if (found === undefined) {
    throw new ToolError('not_found', `directory not found: ${directory}`, {
      hint: 'name a skill, a source or a workspace',
    });
  }
  const trace = boundary && traceBoundary(boundary);
  const entries = findEntries(root, trace?.boundary);
  const problems: Problem[] = (trace?.refused ?? []).map((path) => toDeparture(path, boundary!));
  const skills: Skill[] = [];
  const names = new Set<string>();
  for (const { kind, path } of entries) {
    const reading = kind === 'skills' ? readSkillEntry(path, boundary) : readScriptEntry(path, world, boundary);
    problems.push(...reading.problems);
    problems.push(...reading.tools.flatMap((tool) => withoutReservedTags(tool, () => path).problem ?? []));
    const { tools, skills: own = [] } = reading;
    for (const { name } of [...tools, ...own]) names.add(name);
    skills.push(...own);
    if (isModuleFile(basename(path)) || (kind === 'tools' && isDocument(basename(path))))
      problems.push(...(await problemsOf(path)));
  }
  const isKnown = async (ref: string): Promise<boolean> => names.has(ref) || (await isThere(ref));
  for (const skill of skills) problems.push(...(await checkReferences(skill, isKnown)));
  const base = isSkill(root, boundary) ? dirname(root) : root;
  const findings = withoutRepeats(problems).map(({ severity, path, pointer = '', line, column, message, hint }) => ({
    level: severity,
    path: relative(base, path),
    pointer,
    line,
    column,
    message,
    hint,
  }));
  findings.sort(
    (a, b) =>
      compareText(a.path, b.path) ||
      compareText(a.level, b.level) ||
      compareText(a.pointer, b.pointer) ||
      (a.line ?? 0) - (b.line ?? 0),
  );
  return { checked: entries.length, findings };
}

interface CheckedEntry {
  readonly kind: Place['kind'];
  readonly path: string;
}

function findEntries(root: string, boundary: Boundary | undefined): CheckedEntry[] {
  const modulesOf = (folder: string): CheckedEntry[] =>
    childrenOf(folder, 'tools', boundary).filter(({ path }) => isModuleFile(basename(path)));
  if (isSkill(root, boundary)) return [{ kind: 'skills', path: root }, ...modulesOf(root)];
  if (basename(root) === 'tools' && basename(dirname(root)) === '.agents') return childrenOf(root, 'tools', boundary);
  const folders = [root, join(root, '.agents', 'skills'), join(root, 'skills'), join(root, 'plugins')];
  return [
    ...folders.flatMap((folder) =>
      childrenOf(folder, 'skills', boundary).filter(({ path }) => isSkill(path, boundary)),
    ),
    ...[...folders, join(root, 'tools')].flatMap(modulesOf),
    ...childrenOf(join(root, '.agents', 'tools'), 'tools', boundary),
  ];
}

// A SKILL.md in another case was meant as one, and is reported.
function isSkill(directory: string, boundary: Boundary | undefined): boolean {
  return listNames(directory, boundary).some((name) => name.toLowerCase() === 'skill.md' || name === 'tools.json');
}

function childrenOf(directory: string, kind: CheckedEntry['kind'], boundary: Boundary | undefined): CheckedEntry[] {
  return listNames(directory, boundary)
    .sort(compareText)
    .map((name) => ({ kind, path: join(directory, name) }));
}

function listNames(directory: string, boundary: Boundary | undefined): string[] {
  return orNothing(() => readdirSync(admittedPath(directory, boundary) ?? '')) ?? [];
}

function readScriptEntry(path: string, world: World, boundary: Boundary | undefined): Reading {
  const format = createScriptFormat(world);
  const entry = basename(path);
  const place = placeOf(path, 'tools', boundary);
  return (format.claims(entry) ? readWithin(format, entry, place).reading : undefined) ?? NOTHING;
}

function readSkillEntry(path: string, boundary: Boundary | undefined): Reading {
  const place = placeOf(path, 'skills', boundary);
  const format = createSkillFormat();
  if (!format.claims(basename(path))) return NOTHING;
  const reading = readWithin(format, basename(path), place).reading ?? NOTHING;
  const declared = readDirectory(path, place);
  const toProblems = (severity: Problem['severity'], findings: readonly Finding[]): Problem[] =>
    findings.map((finding) => ({ ...finding, severity, path: join(path, finding.path ?? 'tools.json') }));
  const { descriptor, findings = [] } = declared ?? {};
  const warnings = descriptor ? lintToolsDescriptor(descriptor, findings.length === 0) : [];
  return {
    ...reading,
    tools: [...reading.tools, ...(declared?.tools ?? [])],
    problems: [
      ...reading.problems,
      ...toProblems('error', findings),
      ...toProblems('warning', declared?.warnings ?? []),
      ...toProblems('warning', declared?.split ? warnings.map(toSplitLayout) : warnings),
    ],
  };
}

function placeOf(path: string, kind: Place['kind'], boundary: Boundary | undefined): Place {
  return { directory: dirname(path), owner: 'workspace', kind, boundary };
}

// In the split layout the first segment of a pointer is the file.
function toSplitLayout(finding: Finding): Finding {
  const [, part = 'tools', ...rest] = (finding.pointer ?? '').split('/');
  return { ...finding, path: `${part}.json`, pointer: rest.map((segment) => `/${segment}`).join('') };
}

// Reports references of a skill, in its text and frontmatter, that lead to nothing.
async function checkReferences(
  { file, directory, references, delegate, inherit }: Skill,
  isKnown: (ref: string) => Promise<boolean>,
): Promise<Problem[]> {
  const named = [
    ...references.map(({ kind, ref }) => ({ ref, what: `refers to the ${kind}`, severity: 'warning' as const })),
    ...(delegate === null ? [] : [{ ref: delegate, what: 'delegates to', severity: 'error' as const }]),
    ...(inherit || []).map((ref) => ({ ref, what: 'inherits from', severity: 'error' as const })),
  ];
  const problems: Problem[] = [];
  for (const { ref, what, severity } of named) {
    if (await isKnown(anchorRef(ref, directory))) continue;
    const message = `${what} "${quoteOutside(ref, 80)}", which does not exist`;
    problems.push({ severity, path: file, message, hint: 'fix the name' });
  }
  return problems;
}
