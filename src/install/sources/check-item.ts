// Checks one item of a source: its metadata, and store paths that should be tokens.

import { isUtf8 } from 'node:buffer';
import { chmodSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Problem } from '../../core/problem.js';
import { quoteOutside } from '../../core/text.js';
import { statOrNothing } from '../../files/read.js';
import { readTreeFile } from '../../files/tree.js';
import { writeFileAtomic } from '../../files/write.js';
import { filesOf, rootOf } from '../tokens/source-form.js';
import type { Scan } from './scan.js';
import type { SourceItem } from './source-item.js';

export interface SourceFinding extends Problem {
  /** Whether `--fix` fixed it. */
  readonly fixed?: boolean;
}

export interface SourceCheck {
  readonly tree: string;
  readonly fix: boolean;
  add(finding: SourceFinding): void;
  /** Adds a warning; `fixed` if it was fixed. */
  warn(path: string, message: string, hint: string, fixed?: boolean): void;
}

// Skill names that all harnesses accept.
const PORTABLE_NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const STORE_PATH =
  /(?:~|\$HOME|\$\{HOME\}|\/home\/[\w.-]+|\/Users\/[\w.-]+|\/root)\/\.(?:wield|mind)\/store\/(skill|agent|rule|tool)\/([\w.@+-]+)((?:\/[\w.@+-]+)*)/g;

/** Checks description, name and entrypoint; fixes a missing executable bit. */
export function checkMetadata(item: SourceItem, { tree, fix, add, warn }: SourceCheck): void {
  const { kind, name, path, bin, build, description } = item;
  if (description === null && kind !== 'skill')
    warn(path, `the ${kind} ${name} has no description`, 'add description: to its frontmatter or to [[items]]');
  if (kind === 'skill' && (!PORTABLE_NAME.test(name) || name.length > 64))
    warn(
      path,
      `the skill name "${name}" is not accepted by other harnesses`,
      'use lower-case letters, digits and single hyphens',
    );
  if (bin === null) return;
  const entry = join(tree, path, bin);
  const stats = statOrNothing(entry);
  if (stats?.isFile() !== true) {
    const message = `bin not found: ${quoteOutside(bin, 120)}`;
    if (build === null) add({ severity: 'error', path, message, hint: 'fix bin:, or add a build that creates it' });
  } else if ((stats.mode & 0o111) === 0) {
    if (fix) chmodSync(entry, stats.mode | 0o111);
    warn(`${path}/${bin}`, 'the entrypoint is not executable', `run: chmod +x ${path}/${bin}`, fix);
  }
}

/** Finds hard-coded store paths, which break under a namespace and on other machines; replaces them by tokens. */
export function checkStorePaths(item: SourceItem, { items }: Scan, { tree, fix, warn }: SourceCheck): void {
  const root = rootOf(item, tree);
  for (const { path, from } of filesOf(item, tree)) {
    // A link is reported and fixed as the file it leads to.
    if (from !== undefined) continue;
    const bytes = readTreeFile(root, path);
    if (!bytes.includes('/store/') || bytes.includes(0) || !isUtf8(bytes)) continue;
    const text = bytes.toString('utf8');
    const found: { readonly whole: string; readonly token: string | undefined }[] = [];
    const replaced = text.replace(STORE_PATH, (whole, kind: string, name: string, rest: string) => {
      const token = toToken(items, item, { kind, name, rest });
      found.push({ whole, token });
      return token ?? whole;
    });
    const fixed = fix && replaced !== text;
    if (fixed) writeFileAtomic(join(root, path), replaced, { mode: statSync(join(root, path)).mode & 0o777 });
    for (const { whole, token } of found) {
      const hint = token === undefined ? 'add that item to this source and use a token' : `write ${token}`;
      const file = join(item.file ? dirname(item.path) : item.path, path);
      warn(file, `hard-coded store path ${whole}`, hint, fixed && token !== undefined);
    }
  }
}

function toToken(
  items: readonly SourceItem[],
  own: SourceItem,
  { kind, name, rest }: { readonly kind: string; readonly name: string; readonly rest: string },
): string | undefined {
  const target = items.find((one) => one.kind === kind && one.name === name);
  if (target === undefined) return undefined;
  if (target === own) return `{{self}}${rest}`;
  if (kind === 'tool' && target.bin !== null && rest === `/${target.bin}`) return `{{tools:${name}}}`;
  return `{{path:${kind}:${name}}}${rest}`;
}
