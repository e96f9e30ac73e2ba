// Files of a source that a skill names outside of its own directory, such as `../../references/x.md` (INS-89).

import { dirname, join, posix, relative } from 'node:path';
import { NAMED_FILES, withoutPlaceholders } from '../../core/skill.js';
import { compareText, decodeUri } from '../../core/text.js';
import { readTextFile, statOrNothing } from '../../files/read.js';
import type { TreeFile } from '../../files/tree.js';
import { isWithin, realPath } from '../../files/within.js';
import type { SourceItem } from '../sources/source-item.js';

const MAX_FILES = 256;
/** Of one file: what `read_skill` reads. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const MAX_BYTES = 16 * 1024 * 1024;
/** Paths that are looked up for one skill. */
const MAX_PATHS = 20_000;
const LEFT_OUT = /^(?:\..*|node_modules|__pycache__)$/;

export const MARKDOWN = /\.(?:md|markdown|mdx)$/i;

export interface NamingText {
  /** Relative to the directory of the skill. */
  readonly path: string;
  readonly text: string;
}

/**
 * Finds the files that texts of a skill name outside of it, and those that these name, but not further, and not through
 * texts of other skills. Nothing leads out of the tree, and nothing hidden is found. The paths are those in the source, below
 * `NAMED_FILES`; `left` files exist, but are beyond a limit.
 */
export function findNamedFiles(item: SourceItem, tree: string, texts: readonly NamingText[]) {
  const [top, own] = [realPath(tree), realPath(join(tree, item.path))];
  if (item.path === '' || top === undefined || own === undefined) return { files: [], left: 0 };
  const lookUp = createLookUp(item.path, tree);
  const queue = texts.map(({ path, text }) => ({ path: posix.join(item.path, path), text }));
  const seen = new Set<string>();
  const files: TreeFile[] = [];
  let [left, bytes] = [0, 0];
  for (const { path: from, text } of queue) {
    for (const path of lookUp(text, from).filter((one) => !seen.has(one))) {
      seen.add(path);
      const real = isOutside(item.path, path) ? realPath(join(tree, path)) : undefined;
      if (real === undefined || !isWithin(top, real) || isLeftOut(posix.relative(item.path, path))) continue;
      const target = relative(own, real);
      const stats = isLeftOut(target) ? undefined : statOrNothing(real);
      if (stats?.isFile() !== true) continue;
      if (files.length >= MAX_FILES || stats.size > MAX_FILE_BYTES || bytes + stats.size > MAX_BYTES) left++;
      else {
        bytes += stats.size;
        files.push({ path: `${NAMED_FILES}/${path}`, from: target, executable: (stats.mode & 0o111) !== 0 });
        // With texts that name each other, each skill would contain the whole repository.
        if (from.startsWith(`${item.path}/`) && MARKDOWN.test(path) && posix.basename(path) !== 'SKILL.md')
          queue.push({ path, text: readTextFile(real) ?? '' });
      }
    }
  }
  return { files: files.sort((a, b) => compareText(a.path, b.path)), left };
}

// Returns the existing files that a text names, by their paths in the source. Authors write paths from the text; in a skill
// also from the skill, and from the root of the source or a directory between, such as that of a plugin.
function createLookUp(own: string, tree: string): (text: string, path: string) => readonly string[] {
  const above = ancestorsOf(own);
  const known = new Map<string, boolean>();
  const isFile = (path: string): boolean => {
    if (path === '..' || path.startsWith('../')) return false;
    let found = known.get(path);
    if (found === undefined) {
      found = known.size < MAX_PATHS && statOrNothing(join(tree, path))?.isFile() === true;
      known.set(path, found);
    }
    return found;
  };
  const find = (word: string, from: string, isInside: boolean): readonly string[] => {
    const bases = isInside ? [dirname(from), own] : [dirname(from)];
    const near = bases.map((base) => posix.join(base, word)).filter(isFile);
    // A name alone is more often a file of the project that the skill is used in.
    if (near.length > 0 || !isInside || !word.includes('/') || /^\.{1,2}\//.test(word)) return near;
    return above
      .map((base) => posix.join(base, word))
      .filter(isFile)
      .slice(0, 1);
  };
  return (text, path) => {
    const isInside = path.startsWith(`${own}/`);
    // A name alone in a text of the skill is a file of the skill.
    const words = pathsIn(text).filter((word) => !isInside || word.includes('/'));
    return [...new Set(words.flatMap((word) => find(word, path, isInside)))];
  };
}

/** Returns the directories that a path is in, nearest first; the last is the empty path. */
function ancestorsOf(path: string): string[] {
  const parts = path.split('/');
  return parts.map((_, at) => parts.slice(0, parts.length - 1 - at).join('/'));
}

// The path is one of the source, and not of the skill.
function isOutside(own: string, path: string): boolean {
  return path !== '..' && !path.startsWith('../') && !path.startsWith(`${own}/`);
}

// Beside the directories that the skill itself is in: `.env` of a local directory is not meant for models.
function isLeftOut(fromSkill: string): boolean {
  return fromSkill.split('/').some((part) => part !== '..' && LEFT_OUT.test(part));
}

// Returns the words of a text that may be paths of files; those with `..` first, in order.
function pathsIn(given: string): string[] {
  const text = withoutPlaceholders(given);
  // The destinations of links may contain blanks, and words may be the values of options.
  const quoted = [...text.matchAll(/\]\(\s*<([^<>\n]+)>|(["'`])([^"'`\n]+)\2/g)].map(
    ([, link, , word]) => link ?? word!,
  );
  const words = [...quoted, ...text.split(/[\s`"'()[\]<>{}|,;:=*]+/)]
    .filter((word) => /[./\\]/.test(word))
    .map((word) =>
      decodeUri(
        word
          .replace(/^@/, '')
          .replace(/[#?].*$/, '')
          .replace(/\.+$/, '')
          .replaceAll('\\', '/'),
      ),
    )
    .filter((word) => /[^./]/.test(word) && !/\0|^\/|^~|\/$/.test(word) && Buffer.byteLength(word) <= 1000);
  const isUp = (word: string): boolean => /(?:^|\/)\.\.\//.test(word);
  const unique = [...new Set(words)].sort(compareText);
  return [...unique.filter(isUp), ...unique.filter((word) => !isUp(word))];
}
