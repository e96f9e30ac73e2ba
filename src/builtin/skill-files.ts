// The files of a skill: listed within limits, and read without leaving its directory (SKL-9).

import { isUtf8 } from 'node:buffer';
import { isAbsolute, join, posix, relative, sep } from 'node:path';
import { orNothing, ToolError } from '../core/error.js';
import { isSkillDirectory, NAMED_FILES, type Skill, withoutPlaceholders } from '../core/skill.js';
import { MAX_SKILL_FILES } from '../core/skill-entry.js';
import type { Snapshot } from '../core/snapshot.js';
import { compareText, formatBytes, nearest, quoteOutside } from '../core/text.js';
import { admittedPath } from '../files/boundary.js';
import { entriesOf } from '../files/list.js';
import { readHead, statOrNothing } from '../files/read.js';
import { isWithin, realPath } from '../files/within.js';

export const SKILL_FILE = 'SKILL.md';

/** A file of a skill. */
export interface SkillFile {
  /** Relative to the directory, with slashes. */
  readonly path: string;
  readonly size: number;
}

export interface SkillFiles {
  /** Sorted by path. */
  readonly files: readonly SkillFile[];
  /** Whether there are more than are listed. */
  readonly isCut: boolean;
}

const MAX_ENTRIES = 10_000;
const MAX_DEPTH = 16;
/** Of a file that is read. */
export const MAX_BYTES = 4 * 1024 * 1024;
const IGNORED: readonly string[] = ['.git', 'node_modules', '__pycache__', '.DS_Store'];

/** Where the files of skills must be. */
export type Bounds = Pick<Snapshot, 'boundaryOf'>;

/** Lists the files of a skill; links that lead out of its directory are left out. */
export function listSkillFiles(skill: Skill, bounds: Bounds): SkillFiles {
  return listBelow(skill, bounds, '');
}

/** Lists the files outside of its directory that were installed with a skill, relative to that directory (SKL-15). */
export function listNamedFiles(skill: Skill, bounds: Bounds): SkillFiles {
  const { sourcePath } = skill;
  if (sourcePath === undefined) return { files: [], isCut: false };
  const { files, isCut } = listBelow(skill, bounds, NAMED_FILES);
  const toRelative = (path: string): string => posix.relative(sourcePath, path.slice(NAMED_FILES.length + 1));
  return { files: files.map(({ path, size }) => ({ path: toRelative(path), size })), isCut };
}

function listBelow(skill: Skill, bounds: Bounds, start: string): SkillFiles {
  const root = rootOf(skill, bounds);
  const files: SkillFile[] = [];
  let entries = 0;
  const isFull = (): boolean => files.length > MAX_SKILL_FILES || entries > MAX_ENTRIES;
  const walk = (path: string, depth: number): void => {
    if (root === undefined || depth > MAX_DEPTH) return;
    for (const entry of entriesOf(join(root, path))) {
      entries++;
      if (isFull()) return;
      const at = posix.join(path, entry.name);
      if (IGNORED.includes(entry.name) || (at === NAMED_FILES && skill.sourcePath !== undefined)) continue;
      const real = entry.isSymbolicLink() ? realPath(join(root, at)) : join(root, at);
      if (real === undefined || !isWithin(root, real)) continue;
      if (entry.isDirectory()) walk(at, depth + 1);
      else {
        const stats = statOrNothing(real);
        if (stats?.isFile()) files.push({ path: at, size: stats.size });
      }
    }
  };
  walk(start, 0);
  files.sort((a, b) => compareText(a.path, b.path));
  return { files: files.slice(0, MAX_SKILL_FILES), isCut: isFull() };
}

// Undefined if the skill is a file without a directory of its own, or is no longer where its workspace allows it (RES-46).
function rootOf(skill: Skill, { boundaryOf }: Bounds): string | undefined {
  const admitted = isSkillDirectory(skill) ? admittedPath(skill.directory, boundaryOf(skill)) : undefined;
  return admitted === undefined ? undefined : realPath(admitted);
}

/** What a file of a skill contains. */
export type SkillContent =
  | { readonly kind: 'text'; readonly text: string; readonly bytes: Buffer }
  | { readonly kind: 'image'; readonly mimeType: string; readonly bytes: Buffer }
  | { readonly kind: 'binary'; readonly bytes: Buffer };

/** Returns the path of a file as the skill names it: relative to its directory. Throws `path_escape`. */
export function toSkillPath({ name, directory }: Skill, file: string): string {
  const plain = withoutTilde(file.trim().replaceAll('\\', '/'), directory);
  const bases = [directory, realPath(directory) ?? directory];
  const base = isAbsolute(plain) ? bases.find((one) => isWithin(one, plain)) : '.';
  const path = base === undefined ? '..' : posix.normalize(base === '.' ? plain : relative(base, plain));
  if (leadsOut(path) || path.includes('\0'))
    throw new ToolError('path_escape', `${quoteOutside(file, 200)} is not inside the skill "${name}"`, {
      hint: 'give a path relative to the directory of the skill',
    });
  return path.replace(/\/$/, '');
}

/** A file or directory that `read_skill` may read. */
export interface Located {
  /** The skill, or its plugin in place of it. */
  readonly skill: Skill;
  /** Relative to its directory. */
  readonly path: string;
}

/**
 * Finds what a text of a skill calls by this path (SKL-17). A path that leads out of an installed skill stays one if it is
 * inside its source: the file may have been installed with the skill (SKL-15). Throws `path_escape`.
 */
export function locate(skill: Skill, file: string): Located {
  const found = locateExactly(skill, file);
  if (isThere(found)) return found;
  // As a link in Markdown.
  const path = file.replace(/#.*$/s, '');
  const target = orNothing(() => decodeURIComponent(path)) ?? path;
  if (target === file || target === '' || target.includes('\0')) return found;
  const linked = locateExactly(skill, target);
  return isThere(linked) ? linked : found;
}

function locateExactly(skill: Skill, file: string): Located {
  const given = file.trim().replaceAll('\\', '/');
  const plain = withoutPlaceholders(given).trim();
  const { sourcePath, plugin } = skill;
  const inSkill = (): Located => ({ skill, path: toSkillPath(skill, plain) });
  if (plain.includes('\0')) return inSkill();
  if (isAbsolute(plain) || plain.startsWith('~/')) return findInPlugin(skill, plain) ?? inSkill();
  const ofPlugin = /PLUGIN_ROOT\}?["']?\//.test(given) ? findInPlugin(skill, join(plugin ?? '', plain)) : undefined;
  if (ofPlugin !== undefined && isThere(ofPlugin)) return ofPlugin;
  const inSource = posix.join(sourcePath ?? '', plain);
  if (leadsOut(inSource) || sourcePath === undefined) return orOther(inSkill());
  return orOther({ skill, path: posix.relative(sourcePath, inSource) || '.' });
}

function isThere({ skill, path }: Located): boolean {
  return statOrNothing(pathInSkill(skill, path)) !== undefined;
}

function orOther({ skill, path }: Located): Located {
  const spellings = [path, ...(leadsOut(path) ? [] : spellingsOf(skill, path))];
  return spellings.map((one) => ({ skill, path: one })).find(isThere) ?? { skill, path };
}

// Other meanings of a path that the skill does not have: from a directory that the skill is in, nearest first.
function spellingsOf({ directory, sourcePath }: Skill, path: string): string[] {
  const parts = (sourcePath ?? directory).split('/');
  return parts.flatMap((_, at) => {
    const below = parts.slice(-1 - at);
    const own = path.startsWith(`${below.join('/')}/`) ? [path.slice(below.join('/').length + 1)] : [];
    return sourcePath ? [...own, posix.join(...below.map(() => '..'), path)] : own;
  });
}

// Hidden files of a plugin are not meant for models, as those of a source (INS-89).
function findInPlugin(skill: Skill, path: string): Located | undefined {
  const { plugin } = skill;
  if (plugin === undefined) return undefined;
  const whole = { ...skill, directory: plugin, file: join(plugin, SKILL_FILE), scripts: [], sourcePath: '' };
  try {
    const found = toSkillPath(whole, path);
    return found.split('/').some((part) => /^\.+[^.]/.test(part)) ? undefined : { skill: whole, path: found };
  } catch {
    return undefined;
  }
}

function leadsOut(path: string): boolean {
  return path === '..' || path.startsWith('../');
}

// Installed texts write paths in the home as `~/…`: the end of the directory tells which home that is.
function withoutTilde(path: string, directory: string): string {
  if (!path.startsWith('~/')) return path;
  for (let at = directory.indexOf('/'); at !== -1; at = directory.indexOf('/', at + 1))
    if (path.startsWith(`${directory.slice(at)}/`, 1)) return directory.slice(0, at) + path.slice(1);
  return path;
}

/** Reads a file of a skill, found by `toSkillPath` or `locate`. Throws `not_found`, `path_escape` or `too_large`. */
export function readSkillContent(skill: Skill, path: string, bounds: Bounds, most = MAX_BYTES): SkillContent {
  const directory = rootOf(skill, bounds);
  const within = directory === undefined ? undefined : { directory, admits: () => false };
  const reading =
    within === undefined || isIgnored(path) ? undefined : readHead(pathInSkill(skill, path), most, { within });
  const shown = quoteOutside(path, 200);
  if (reading === undefined || 'fault' in reading) {
    if (reading?.fault === 'outside')
      throw new ToolError('path_escape', `${shown} leads out of the skill "${skill.name}"`, { hint: 'it is not read' });
    throw missing(skill, shown, bounds);
  }
  if (!reading.complete)
    throw new ToolError('too_large', `${shown} is larger than ${formatBytes(most)}`, {
      hint: `it is at ${pathInSkill(skill, path)}`,
    });
  return toContent(reading.bytes);
}

function isIgnored(path: string): boolean {
  return path.split('/').some((part) => IGNORED.includes(part));
}

function missing(skill: Skill, shown: string, bounds: Bounds): ToolError {
  const names = [listSkillFiles, listNamedFiles].flatMap((list) => list(skill, bounds).files.map(({ path }) => path));
  const sameName = names.filter((path) => posix.basename(path) === posix.basename(shown));
  const close = sameName.length > 0 ? sameName : nearest(shown, names);
  const isOut = leadsOut(shown);
  const message = isOut
    ? `${shown} is outside the skill "${skill.name}", and was not installed with it`
    : `the skill "${skill.name}" has no file ${shown}`;
  const see = isOut
    ? 'files of its source that its text names are, up to 256 of 4 MiB and 16 MiB together'
    : 'read the skill without a file to see its files';
  return new ToolError('not_found', message, {
    hint: close.length > 0 ? `did you mean ${close.slice(0, 3).join(', ')}?` : see,
  });
}

const IMAGES: readonly (readonly [RegExp, string])[] = [
  [/^\x89PNG\r\n\x1a\n/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8[79]a/, 'image/gif'],
  [/^RIFF.{4}WEBP/s, 'image/webp'],
];
const SAMPLE = 8192;

// By its bytes: names of files promise nothing.
export function toContent(bytes: Buffer): SkillContent {
  const head = bytes.toString('latin1', 0, SAMPLE);
  const image = IMAGES.find(([sign]) => sign.test(head))?.[1];
  if (image !== undefined) return { kind: 'image', mimeType: image, bytes };
  if (/[\0-\x08\x0e-\x1a]|^%PDF-/.test(head)) return { kind: 'binary', bytes };
  return { kind: 'text', text: isUtf8(bytes) ? bytes.toString('utf8') : bytes.toString('latin1'), bytes };
}

const MIME_TYPES: Readonly<Record<string, string>> = {
  md: 'text/markdown',
  json: 'application/json',
  html: 'text/html',
  css: 'text/css',
  csv: 'text/csv',
  svg: 'image/svg+xml',
  pdf: 'application/pdf',
};

/** Returns the media type of a file, by its content and then by its name. */
export function mimeTypeOf(path: string, content: SkillContent): string {
  if (content.kind === 'image') return content.mimeType;
  const known = MIME_TYPES[posix.extname(path).slice(1).toLowerCase()];
  return known ?? (content.kind === 'text' ? 'text/plain' : 'application/octet-stream');
}

/** Longest part of a text that is read at once, in characters. */
const PAGE_LENGTH = 100_000;

export interface Page {
  readonly text: string;
  /** Its first heading, if it has one. */
  readonly heading: string | undefined;
}

/** Splits a long text into pages, before headings if possible, else between lines (SKL-10). */
export function toPages(text: string): Page[] {
  const starts = text.length <= PAGE_LENGTH ? [] : findHeadings(text);
  const pages: Page[] = [];
  let from = 0;
  while (text.length - from > PAGE_LENGTH) {
    const most = from + PAGE_LENGTH;
    const heading = starts.findLast((start) => start > from + PAGE_LENGTH / 4 && start <= most);
    const line = text.lastIndexOf('\n', most - 1) + 1;
    const to = heading ?? (line > from ? line : most - (isHighSurrogate(text, most - 1) ? 1 : 0));
    pages.push(toPage(text.slice(from, to)));
    from = to;
  }
  return [...pages, toPage(text.slice(from))];
}

function toPage(text: string): Page {
  return { text, heading: /^#{1,6} .*$/m.exec(text)?.[0] };
}

function isHighSurrogate(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xd800;
}

// Offsets of the lines with headings outside code blocks.
function findHeadings(text: string): number[] {
  const found: number[] = [];
  let fence: string | undefined;
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\n', at);
    const line = text.slice(at, end === -1 ? text.length : end);
    const mark = /^ {0,3}(```+|~~~+)/.exec(line)?.[1];
    if (fence === undefined && mark !== undefined) fence = mark;
    else if (fence !== undefined && mark?.startsWith(fence)) fence = undefined;
    else if (fence === undefined && /^#{1,6} /.test(line)) found.push(at);
    at = end === -1 ? text.length : end + 1;
  }
  return found;
}

export function isDirectoryOf(skill: Skill, path: string, bounds: Bounds): boolean {
  const root = rootOf(skill, bounds);
  const real = realPath(pathInSkill(skill, path));
  const isInside = root !== undefined && real !== undefined && isWithin(root, real);
  return isInside && statOrNothing(real)?.isDirectory() === true;
}

/** The absolute path of a file of a skill. */
export function pathInSkill({ directory, sourcePath }: Skill, path: string): string {
  if (leadsOut(path) && sourcePath !== undefined) return join(directory, NAMED_FILES, posix.join(sourcePath, path));
  return path === '.' ? directory : directory + sep + path;
}
