// Checks a source for its author: what would keep it from being installed, what could be better, and what can be mended.

import { isUtf8 } from 'node:buffer';
import { chmodSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isToolError } from '../../core/error.js';
import { compareText, quoteOutside } from '../../core/text.js';
import { digestBytes } from '../../files/digest.js';
import { readHead, statOrNothing } from '../../files/read.js';
import { listTree, readTreeFile } from '../../files/tree.js';
import { writeFileAtomic } from '../../files/write.js';
import { type LoadedTree, readSourceForm } from '../apply/stage.js';
import { assertSafeBin, toSiblings } from '../tokens/targets.js';
import { loadManifest, type OfferedItem, type Scan, scanSource } from './scan.js';

export interface SourceFinding {
  readonly level: 'error' | 'warning';
  readonly path: string;
  readonly pointer: string;
  readonly message: string;
  readonly hint: string;
  /** Whether `--fix` mended it. */
  readonly fixed?: boolean;
}

// A name that every reader of skills takes.
const COMMON_NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const STORE_PATH =
  /(?:~|\$HOME|\$\{HOME\}|\/home\/[\w.-]+|\/Users\/[\w.-]+|\/root)\/\.(?:wield|mind)\/store\/(skill|agent|rule|tool)\/([\w.@+-]+)((?:\/[\w.@+-]+)*)/g;
// Smaller ones are alike by chance.
const DUPLICATE_BYTES = 64;

/** Everything there is to say about a source; with `fix`, what is mechanical is mended (INS-33). */
export function checkSource(
  tree: string,
  fix: boolean,
): { readonly items: number; readonly findings: SourceFinding[] } {
  const findings: SourceFinding[] = [];
  const add = (
    level: SourceFinding['level'],
    path: string,
    message: string,
    hint: string,
    fixed = false,
  ): void => {
    findings.push({ level, path, pointer: '', message, hint, ...(fixed ? { fixed } : {}) });
  };
  const guard = <T>(path: string, look: () => T): T | undefined => {
    try {
      return look();
    } catch (error) {
      if (!isToolError(error)) throw error;
      const { file, line } = (error.data ?? {}) as { file?: string; line?: number };
      const at = file === undefined ? path : `${path === file ? file : `${path}/${file}`}:${line}`;
      add('error', at, error.message, error.hint ?? 'mend it');
      return undefined;
    }
  };
  const { file } = guard('wield.toml', () => loadManifest(tree)) ?? { file: null };
  const complain = ({
    line,
    key,
    message,
    hint,
  }: {
    line: number;
    key: string;
    message: string;
    hint: string;
  }): void => add('error', `${file}:${line}`, key === '' ? message : `${key}: ${message}`, hint);
  const scan = guard(file ?? '.', () => scanSource(tree, { roots: [], complain }));
  if (scan === undefined) return { items: 0, findings };
  for (const warning of scan.warnings) {
    const fixed = fix && mendSpelling(tree, warning.path, warning.hint);
    add('warning', warning.path, warning.message, warning.hint, fixed);
  }
  const loaded: LoadedTree = {
    tree,
    tracked: null,
    expand: scan.manifest.expand,
    siblings: toSiblings('this source', scan.manifest.namespace, scan.items, () => undefined),
  };
  for (const item of scan.items) {
    guard(item.path, () => assertSafeBin(item));
    guard(item.path, () => readSourceForm(item, loaded, { store: '/store', home: undefined }));
    checkFacts(item, tree, fix, add);
    guard(item.path, () => checkTexts(item, scan, tree, fix, add));
  }
  checkHooks(scan, file, add);
  checkDuplicates(scan, tree, add);
  const rank = { error: 0, warning: 1 };
  findings.sort((a, b) => compareText(a.path, b.path) || rank[a.level] - rank[b.level]);
  return { items: scan.items.length, findings };
}

type Add = (
  level: SourceFinding['level'],
  path: string,
  message: string,
  hint: string,
  fixed?: boolean,
) => void;

function checkFacts(item: OfferedItem, tree: string, fix: boolean, add: Add): void {
  const { kind, name, path, bin, build, description } = item;
  if (description === null && kind !== 'skill')
    add(
      'warning',
      path,
      `the ${kind} ${name} has no description`,
      'add description: to its frontmatter or [[items]]',
    );
  if (kind === 'skill' && (!COMMON_NAME.test(name) || name.length > 64))
    add(
      'warning',
      path,
      `other readers of skills refuse the name "${name}"`,
      'use lower-case letters, digits and single hyphens',
    );
  if (bin === null) return;
  const entry = join(tree, path, bin);
  const stats = statOrNothing(entry);
  if (stats === undefined || !stats.isFile()) {
    if (build === null)
      add(
        'error',
        path,
        `the bin ${quoteOutside(bin, 120)} is not there`,
        'mend bin:, or add a build that makes it',
      );
  } else if ((stats.mode & 0o111) === 0) {
    if (fix) chmodSync(entry, stats.mode | 0o111);
    add('warning', `${path}/${bin}`, 'the entrypoint is not executable', `chmod +x ${path}/${bin}`, fix);
  }
}

// Paths of a store that were written by hand break under a namespace, and on another machine.
function checkTexts(item: OfferedItem, { items }: Scan, tree: string, fix: boolean, add: Add): void {
  const root = join(tree, item.file ? dirname(item.path) : item.path);
  const files = item.file ? [{ path: item.path.slice(item.path.lastIndexOf('/') + 1) }] : listTree(root);
  for (const { path } of files) {
    const bytes = readTreeFile(root, path);
    if (!bytes.includes('/store/') || bytes.includes(0) || !isUtf8(bytes)) continue;
    const text = bytes.toString('utf8');
    const found = [...text.matchAll(STORE_PATH)];
    if (found.length === 0) continue;
    const mended = text.replace(
      STORE_PATH,
      (whole, kind: string, name: string, rest: string) => toToken(items, item, kind, name, rest) ?? whole,
    );
    const fixed = fix && mended !== text;
    if (fixed) writeFileAtomic(join(root, path), mended, { mode: statSync(join(root, path)).mode & 0o777 });
    for (const [whole, kind, name, rest] of found) {
      const token = toToken(items, item, kind!, name!, rest!);
      const hint = token === undefined ? 'ship that item in this source and use a token' : `write ${token}`;
      add(
        'warning',
        join(item.file ? dirname(item.path) : item.path, path),
        `the path ${whole} is written by hand`,
        hint,
        fixed && token !== undefined,
      );
    }
  }
}

function toToken(
  items: readonly OfferedItem[],
  own: OfferedItem,
  kind: string,
  name: string,
  rest: string,
): string | undefined {
  const target = items.find((one) => one.kind === kind && one.name === name);
  if (target === undefined) return undefined;
  if (target === own) return `{{self}}${rest}`;
  if (kind === 'tool' && target.bin !== null && rest === `/${target.bin}`) return `{{tools:${name}}}`;
  return `{{path:${kind}:${name}}}${rest}`;
}

function checkHooks({ manifest, items }: Scan, file: string | null, add: Add): void {
  const hint = 'whoever installs it is shown this and asked first';
  for (const { event, run } of manifest.hooks)
    add(
      'warning',
      file ?? '.',
      `a hook would run at ${event === 'install' ? 'add' : 'remove-source'}: ${quoteOutside(run, 120)}`,
      hint,
    );
  for (const { path, build, install, uninstall } of items)
    for (const [event, run] of Object.entries({ build, install, uninstall }))
      if (run !== null) add('warning', path, `a hook would run at ${event}: ${quoteOutside(run, 120)}`, hint);
}

// A helper that several items carry may be a tool; keeping copies is as good, so this is never mended.
function checkDuplicates({ items }: Scan, tree: string, add: Add): void {
  const seen = new Map<string, string[]>();
  for (const { kind, path, file } of items) {
    if (kind === 'tool' || file) continue;
    for (const { path: name } of listOrNothing(join(tree, path))) {
      const reading = readHead(join(tree, path, name), 1024 * 1024);
      if ('fault' in reading || reading.bytes.length < DUPLICATE_BYTES || /\.md$/i.test(name)) continue;
      const digest = digestBytes(reading.bytes);
      seen.set(digest, [...(seen.get(digest) ?? []), `${path}/${name}`]);
    }
  }
  for (const [first, ...others] of seen.values())
    if (others.length > 0)
      add(
        'warning',
        first!,
        `duplicate-tooling: the same file as ${others.join(', ')}`,
        'it could be a tool of this source; copies are fine too',
      );
}

function listOrNothing(root: string): { readonly path: string }[] {
  try {
    return listTree(root);
  } catch {
    return [];
  }
}

function mendSpelling(tree: string, path: string, hint: string): boolean {
  if (hint !== 'rename it to SKILL.md') return false;
  const other = listOrNothing(join(tree, path)).find(({ path: name }) => name.toLowerCase() === 'skill.md');
  if (other === undefined) return false;
  renameSync(join(tree, path, other.path), join(tree, path, 'SKILL.md'));
  return true;
}
