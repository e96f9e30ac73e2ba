// Authority: the main skills of the directories above a tool, cached while their files are unchanged.

import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isToolOf } from '../catalog/skill-references.js';
import type { Format, Reading } from '../core/format.js';
import type { Owner, Place } from '../core/origin.js';
import type { Problem } from '../core/problem.js';
import { isSkillDirectory, type Skill } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import { readWithin } from '../files/boundary.js';
import { createStatCache, type FileText } from '../files/read.js';
import { isWithin } from '../files/within.js';

export interface AuthorityOptions {
  /** The formats that read skills: in directories and in files. */
  readonly skills: Format;
  readonly flatSkills: Format;
  /** Directories above which the search stops, with their owners; the first that contains the tool applies. */
  readonly roots: (snapshot: Snapshot) => Iterable<{ readonly directory: string; readonly owner: Owner }>;
  readonly now: () => number;
}

// Frontmatter is not longer (SKL-1).
const HEADER_CHARACTERS = 64 * 1024;

/** The `SKILL.md` at the root of a directory: a skill, or a problem if the file is invalid. */
export type MainSkill =
  | { readonly skill: Skill }
  /** `hasRules`: whether its text mentions rules, which cannot be applied. */
  | { readonly fault: Problem; readonly hasRules: boolean };

export type Authorities = ReturnType<typeof createAuthorities>;

export function createAuthorities({ skills, flatSkills, roots, now }: AuthorityOptions) {
  const { mainSkillOf, flatSkillOf } = createSkillReader({ skills, flatSkills, now });

  const rootOf = (directory: string, snapshot: Snapshot) => {
    for (const root of roots(snapshot)) if (isWithin(root.directory, directory)) return root;
    return undefined;
  };

  const skillOf = (tool: Tool, snapshot: Snapshot): Skill | undefined => {
    const { directory, owner } = tool.origin;
    if (directory === null) return undefined;
    const main = mainSkillOf(directory, owner, snapshot);
    if (main !== undefined && 'skill' in main && isToolOf(main.skill, tool)) return main.skill;
    const file = flatFileOf(tool);
    return file === undefined ? undefined : flatSkillOf(file, owner, snapshot);
  };

  const governing = (directory: string | null, owner: Owner, snapshot: Snapshot, find = mainSkillOf): MainSkill[] => {
    // A tool that is not on disk belongs to the project.
    const start = directory ?? snapshot.workdir;
    const root = rootOf(start, snapshot);
    const found: MainSkill[] = [];
    for (let here = start; ; here = dirname(here)) {
      const main = find(here, root?.owner ?? owner, snapshot);
      if (main) found.push(main);
      if (root === undefined || here === root.directory || here === dirname(here)) break;
    }
    // RES-16: without a main skill of the project, that of the first library applies to tools that are not on disk.
    if (directory !== null || found.length > 0) return found;
    return snapshot.libraries.flatMap((place) => find(place.directory, place.owner, snapshot) ?? []).slice(0, 1);
  };

  // Where the search for what governs a tool begins: a main skill is not its own authority; one in a file is governed by
  // the main skill beside it.
  const startOf = (tool: Tool, snapshot: Snapshot, find = mainSkillOf): string | null => {
    const { directory, owner } = tool.origin;
    if (directory === null) return null;
    const main = find(directory, owner, snapshot);
    return main !== undefined && 'skill' in main && isToolOf(main.skill, tool) ? dirname(directory) : directory;
  };

  const listings = new WeakMap<Snapshot, ReturnType<typeof createListing>>();
  const createListing = (skills: readonly Skill[]) => {
    const listed = new Map(skills.filter(isSkillDirectory).map((skill) => [skill.directory, { skill }]));
    const find: typeof mainSkillOf = (directory, ...rest) => listed.get(directory) ?? mainSkillOf(directory, ...rest);
    return { find, known: new Map<string, readonly MainSkill[]>() };
  };

  return {
    /** Returns the skill of which the tool is the callable form, if any. */
    skillOf,
    /** Returns the main skills that govern the tools of a directory, its own first; null for tools not on disk. */
    governing,
    /** Like `above`, for a listing: once per directory, and without reading the skills of the listing again. */
    aboveListed(tool: Tool, skills: readonly Skill[], snapshot: Snapshot): readonly MainSkill[] {
      const { owner } = tool.origin;
      const listing = listings.get(snapshot) ?? createListing(skills);
      listings.set(snapshot, listing);
      const start = startOf(tool, snapshot, listing.find);
      const key = `${owner} ${start}`;
      const found = listing.known.get(key) ?? governing(start, owner, snapshot, listing.find);
      listing.known.set(key, found);
      return found;
    },
    /** Returns the main skills that govern a tool, nearest first, without itself (RES-16). */
    above: (tool: Tool, snapshot: Snapshot): readonly MainSkill[] =>
      governing(startOf(tool, snapshot), tool.origin.owner, snapshot),
  };
}

// Reads the skills of directories and files; each is read again when its file changed.
function createSkillReader({ skills: format, flatSkills: flat, now }: Omit<AuthorityOptions, 'roots'>) {
  const flatCache = createStatCache<Skill | undefined>({ now });
  const readIn = (reader: Format, path: string, owner: Owner, snapshot: Snapshot): Reading | undefined => {
    const boundary = snapshot.boundaryOf({ directory: path, owner });
    const place: Place = { directory: dirname(path), owner, kind: 'skills', boundary, named: true };
    return readWithin(reader, basename(path), place, snapshot).reading;
  };
  const cache = createStatCache<MainSkill | undefined>({ now });

  // Main skills by directory; a snapshot has one state of each.
  const seen = new WeakMap<Snapshot, Map<string, MainSkill | undefined>>();
  const seenIn = (snapshot: Snapshot): Map<string, MainSkill | undefined> => {
    const known = seen.get(snapshot) ?? new Map<string, MainSkill | undefined>();
    seen.set(snapshot, known);
    return known;
  };

  const mainSkillOf = (directory: string, owner: Owner, snapshot: Snapshot): MainSkill | undefined => {
    const known = seenIn(snapshot);
    const key = `${owner} ${directory}`;
    if (known.has(key)) return known.get(key);
    const main = cache.get(
      key,
      [join(directory, 'SKILL.md')],
      ([text]) => (text === undefined ? undefined : toMainSkill(readIn(format, directory, owner, snapshot), text)),
      () => snapshot.boundaryOf({ directory, owner }),
    );
    known.set(key, main);
    return main;
  };

  const flatSkillOf = (file: string, owner: Owner, snapshot: Snapshot): Skill | undefined =>
    flatCache.get(
      `${owner} ${file}`,
      [file],
      ([text]) => (text === undefined ? undefined : readIn(flat, file, owner, snapshot)?.skills?.[0]),
      () => snapshot.boundaryOf({ directory: dirname(file), owner }),
    );

  return { mainSkillOf, flatSkillOf };
}

// The file of a skill that is not a directory; undefined for other tools.
function flatFileOf(tool: Tool): string | undefined {
  const { uri } = tool.origin;
  if (uri?.startsWith('file:')) return /\.md$/i.test(uri) ? fileURLToPath(uri) : undefined;
  if (!uri?.startsWith('inline:') || tool.action.kind !== 'module') return undefined;
  return 'inline' in tool.action.source ? tool.action.source.file : undefined;
}

function toMainSkill(reading: Reading | undefined, text: FileText): MainSkill | undefined {
  const skill = reading?.skills?.[0];
  if (skill) return { skill };
  const fault = reading?.problems.find(({ severity }) => severity === 'error');
  return (
    fault && { fault, hasRules: typeof text !== 'string' || /\btrust["']?\s*:/.test(text.slice(0, HEADER_CHARACTERS)) }
  );
}
