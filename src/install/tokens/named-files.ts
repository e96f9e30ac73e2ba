// Files of a source that a skill names outside of its own directory, such as `../../references/x.md` (INS-89).

import { dirname, join, posix, relative } from 'node:path';
import { NAMED_FILES } from '../../core/skill.js';
import { compareText, decodeUri } from '../../core/text.js';
import { statOrNothing } from '../../files/read.js';
import type { TreeFile } from '../../files/tree.js';
import { isWithin, realPath } from '../../files/within.js';
import type { SourceItem } from '../sources/source-item.js';

const MAX_FILES = 256;
/** Of one file: what `read_skill` reads. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const MAX_BYTES = 16 * 1024 * 1024;
/** Paths that are looked up for one skill. */
const MAX_PATHS = 5000;
const LEFT_OUT = /^(?:\..*|node_modules|__pycache__)$/;

export interface NamingText {
  /** Relative to the directory of the skill. */
  readonly path: string;
  readonly text: string;
}

export interface NamedFiles {
  /** By their paths in the source, below `NAMED_FILES`. */
  readonly files: readonly TreeFile[];
  /** How many exist, but are beyond a limit. */
  readonly left: number;
}

/** Finds the files that texts of a skill name outside of it. Nothing leads out of the tree, and nothing hidden is found. */
export function findNamedFiles(item: SourceItem, tree: string, texts: readonly NamingText[]): NamedFiles {
  const [top, own] = [realPath(tree), realPath(join(tree, item.path))];
  if (item.path === '' || top === undefined || own === undefined) return { files: [], left: 0 };
  const paths = new Set(texts.flatMap(({ path, text }) => pathsIn(text, [item.path, join(item.path, dirname(path))])));
  const files: TreeFile[] = [];
  let [left, bytes] = [0, 0];
  for (const path of [...paths].sort(compareText).slice(0, MAX_PATHS)) {
    const real = isOutside(item.path, path) ? realPath(join(tree, path)) : undefined;
    if (real === undefined || !isWithin(top, real) || isLeftOut(posix.relative(item.path, path))) continue;
    const from = relative(own, real);
    const stats = isLeftOut(from) ? undefined : statOrNothing(real);
    if (stats?.isFile() !== true) continue;
    if (files.length >= MAX_FILES || stats.size > MAX_FILE_BYTES || bytes + stats.size > MAX_BYTES) left++;
    else {
      bytes += stats.size;
      files.push({ path: `${NAMED_FILES}/${path}`, from, executable: (stats.mode & 0o111) !== 0 });
    }
  }
  return { files, left };
}

// The path is one of the source, and not of the skill.
function isOutside(own: string, path: string): boolean {
  return path !== '..' && !path.startsWith('../') && !path.startsWith(`${own}/`);
}

// Beside the directories that the skill itself is in: `.env` of a local directory is not meant for models.
function isLeftOut(fromSkill: string): boolean {
  return fromSkill.split('/').some((part) => part !== '..' && LEFT_OUT.test(part));
}

// Returns paths in the source with `..` in them, as seen from each directory.
function pathsIn(text: string, bases: readonly string[]): string[] {
  if (!/\.\.[/\\]/.test(text)) return [];
  // The destinations of links may contain blanks, and words may be the values of options.
  const quoted = [...text.matchAll(/\]\(\s*<([^<>\n]+)>|(["'`])([^"'`\n]+)\2/g)].map(
    ([, link, , word]) => link ?? word!,
  );
  const words = [...quoted, ...text.split(/[\s`"'()[\]<>{}|,;:=*]+/)].filter((word) =>
    /(?:^|[/\\@])\.\.[/\\]/.test(word),
  );
  return [...new Set(words)].flatMap((word) => {
    const plain = decodeUri(
      word
        .replace(/^@/, '')
        .replace(/[#?].*$/, '')
        .replace(/\.+$/, '')
        .replaceAll('\\', '/'),
    );
    if (plain.includes('\0') || posix.isAbsolute(plain) || Buffer.byteLength(plain) > 1000) return [];
    return bases.map((base) => posix.normalize(posix.join(base, plain)));
  });
}
