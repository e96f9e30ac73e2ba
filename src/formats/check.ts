// Checks directories as an author would want them checked: what is wrong, and what could be better.

import { readdirSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { ToolError } from '../core/error.js';
import type { Format, Place } from '../core/format.js';
import type { Problem } from '../core/problem.js';
import type { Skill } from '../core/skill.js';
import { withoutReservedTags } from '../core/tag.js';
import { compareText, quoteOutside } from '../core/text.js';
import type { World } from '../core/world.js';
import { anchorRef } from '../files/anchor.js';
import { statOrNothing } from '../files/read.js';
import { isModuleFile } from './module/index.js';
import { createScriptFormat } from './script/index.js';
import { createSkillFormat } from './skill/index.js';
import { createToolsJsonFormat, loadDescriptor } from './tools-json/index.js';
import { lintToolsDescriptor } from './tools-json/lint.js';

export interface CheckFinding {
  readonly level: 'error' | 'warning';
  /** A skill's own name first where a skill is checked, else relative to the directory that is. */
  readonly path: string;
  readonly pointer: string;
  readonly message: string;
  readonly hint: string;
}

/** What was looked at, and what was found; sorted by file, errors before warnings. */
export interface CheckReport {
  readonly checked: number;
  readonly findings: readonly CheckFinding[];
}

export interface CheckOptions {
  readonly world: World;
  /** Whether there is a tool or skill of a reference besides those that are checked. */
  readonly isThere: (ref: string) => Promise<boolean>;
  /** What is wrong with a module file, as far as it may be looked into. */
  readonly problemsOf: (file: string) => Promise<readonly Problem[]>;
}

/** Checks a skill, a directory of skills or scripts, or a workspace. Throws `not_found` where there is nothing. */
export async function checkDirectory(
  directory: string,
  { world, isThere, problemsOf }: CheckOptions,
): Promise<CheckReport> {
  const root = resolve(directory);
  if (!statOrNothing(root)?.isDirectory()) {
    throw new ToolError('not_found', `there is no directory ${directory}`, {
      hint: 'name a skill, a source or a workspace',
    });
  }
  const findings: CheckFinding[] = [];
  const entries = findEntries(root);
  const skills: Skill[] = [];
  const names = new Set<string>();
  for (const { kind, path } of entries) {
    for (const format of formatsOf(kind, world)) {
      const reading = readEntry(format, path, kind);
      const claimed = (reading?.tools ?? []).flatMap(
        (tool) => withoutReservedTags(tool, () => path).problem ?? [],
      );
      findings.push(...[...(reading?.problems ?? []), ...claimed].map((problem) => toFinding(problem, root)));
      for (const { name } of [...(reading?.tools ?? []), ...(reading?.skills ?? [])]) names.add(name);
      skills.push(...(reading?.skills ?? []));
    }
    if (kind === 'skills') findings.push(...adviceFor(path, root));
    if (isModuleFile(basename(path)))
      findings.push(...(await problemsOf(path)).map((problem) => toFinding(problem, root)));
  }
  const isKnown = async (ref: string): Promise<boolean> => names.has(ref) || (await isThere(ref));
  for (const skill of skills) findings.push(...(await checkReferences(skill, root, isKnown)));
  const rank = { error: 0, warning: 1 } as const;
  findings.sort(
    (a, b) =>
      compareText(a.path, b.path) || rank[a.level] - rank[b.level] || compareText(a.pointer, b.pointer),
  );
  return { checked: entries.length, findings };
}

interface CheckedEntry {
  readonly kind: Place['kind'];
  readonly path: string;
}

function findEntries(root: string): CheckedEntry[] {
  const modulesOf = (folder: string): CheckedEntry[] =>
    childrenOf(folder, 'tools').filter(({ path }) => isModuleFile(basename(path)));
  if (isSkill(root)) return [{ kind: 'skills', path: root }, ...modulesOf(root)];
  if (basename(root) === 'tools' && basename(dirname(root)) === '.agents') return childrenOf(root, 'tools');
  const folders = [root, join(root, '.agents', 'skills'), join(root, 'skills'), join(root, 'plugins')];
  return [
    ...folders.flatMap((folder) => childrenOf(folder, 'skills').filter(({ path }) => isSkill(path))),
    ...[...folders, join(root, 'tools')].flatMap(modulesOf),
    ...childrenOf(join(root, '.agents', 'tools'), 'tools'),
  ];
}

// A SKILL.md in another case was meant as one, and its author hears of it.
function isSkill(directory: string): boolean {
  try {
    return readdirSync(directory).some((name) => name.toLowerCase() === 'skill.md' || name === 'tools.json');
  } catch {
    return false;
  }
}

function childrenOf(directory: string, kind: CheckedEntry['kind']): CheckedEntry[] {
  try {
    return readdirSync(directory)
      .sort(compareText)
      .map((name) => ({ kind, path: join(directory, name) }));
  } catch {
    return [];
  }
}

function formatsOf(kind: CheckedEntry['kind'], world: World): Format[] {
  return kind === 'tools' ? [createScriptFormat(world)] : [createSkillFormat(), createToolsJsonFormat()];
}

function readEntry(format: Format, path: string, kind: CheckedEntry['kind']) {
  const place: Place = { directory: dirname(path), owner: 'workspace', kind };
  return format.claims(basename(path)) ? format.read(basename(path), place) : undefined;
}

function adviceFor(skill: string, root: string): CheckFinding[] {
  const { loaded } = loadDescriptor(skill);
  if (loaded?.descriptor === undefined) return [];
  return lintToolsDescriptor(loaded.descriptor)
    .map(({ pointer, message, hint }) => ({
      level: 'warning',
      ...(loaded.split ? toSplitPlace(pointer) : { file: 'tools.json', pointer }),
      message,
      hint,
    }))
    .map(({ file, ...finding }) => ({
      ...finding,
      level: 'warning' as const,
      path: shorten(join(skill, file), root),
    }));
}

// What a skill refers to in its text and its header: a reference that leads nowhere is the author's to mend.
async function checkReferences(
  { file, directory, references, delegate, inherit }: Skill,
  root: string,
  isKnown: (ref: string) => Promise<boolean>,
): Promise<CheckFinding[]> {
  const named = [
    ...references.map(({ kind, ref }) => ({ ref, what: `refers to the ${kind}`, level: 'warning' as const })),
    ...(delegate === null ? [] : [{ ref: delegate, what: 'delegates to', level: 'error' as const }]),
    ...(inherit || []).map((ref) => ({ ref, what: 'inherits from', level: 'error' as const })),
  ];
  const findings: CheckFinding[] = [];
  for (const { ref, what, level } of named) {
    if (await isKnown(anchorRef(ref, directory))) continue;
    const message = `${what} "${quoteOutside(ref, 80)}", which is not there`;
    findings.push({ level, path: shorten(file, root), pointer: '', message, hint: 'mend the name' });
  }
  return findings;
}

// In the split layout the first step of a pointer is the file.
function toSplitPlace(pointer: string): { file: string; pointer: string } {
  const [, part = 'tools', ...rest] = pointer.split('/');
  return { file: `${part}.json`, pointer: rest.length === 0 ? '' : `/${rest.join('/')}` };
}

function toFinding({ severity, path, pointer = '', message, hint }: Problem, root: string): CheckFinding {
  const text = pointer !== '' && message.startsWith(pointer) ? message.slice(pointer.length).trim() : message;
  return { level: severity, path: shorten(path, root), pointer, message: text, hint };
}

function shorten(path: string, root: string): string {
  return relative(isSkill(root) ? dirname(root) : root, path);
}
