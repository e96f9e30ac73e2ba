// Checks a source for its author, and fixes what needs no decision (INS-33).

import { isUtf8 } from 'node:buffer';
import { chmodSync, existsSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isToolError, orNothing } from '../../core/error.js';
import type { Finding, Problem } from '../../core/problem.js';
import { compareText, count, quoteOutside } from '../../core/text.js';
import { digestBytes } from '../../files/digest.js';
import { namesIn } from '../../files/list.js';
import { readHead, statOrNothing } from '../../files/read.js';
import { listTree, readTreeFile } from '../../files/tree.js';
import { writeFileAtomic } from '../../files/write.js';
import { filesOf, type LoadedTree, readSourceForm, rootOf } from '../tokens/source-form.js';
import { assertSafeItem, groupSiblings } from '../tokens/targets.js';
import { findingText, MANIFEST_FILES } from './load-manifest.js';
import type { ScanWarning } from './notes.js';
import { type Scan, scanSource } from './scan.js';
import type { SourceItem } from './source-item.js';

export type SourceReport = ReturnType<typeof checkSource>;

/** Reports what installing would refuse, what could be better, and what is not offered. */
export function checkSource(tree: string, fix: boolean) {
  const findings: SourceFinding[] = [];
  const check: SourceCheck = {
    tree,
    fix,
    add: (finding) => {
      const isKnown = findings.some(({ path, message }) => path === finding.path && message === finding.message);
      if (!isKnown) findings.push(finding);
    },
    warn: (path, message, hint, fixed) =>
      findings.push({ severity: 'warning', path, message, hint, fixed: fixed || undefined }),
  };
  const manifestFile = MANIFEST_FILES.find((name) => existsSync(join(tree, name))) ?? '.';
  const onFinding = (finding: Finding): void =>
    check.add({
      severity: 'error',
      path: `${manifestFile}:${finding.line}`,
      message: findingText(finding),
      hint: finding.hint,
    });
  const scan = attempt(check, manifestFile, () => scanSource(tree, { onFinding }));
  if (scan === undefined) return { items: 0, findings, skipped: [] as Scan['skipped'] };
  for (const warning of scan.warnings)
    check.warn(warning.path, warning.message, warning.hint, fix && fixSkillFile(tree, warning));
  const loaded: LoadedTree = {
    tree,
    tracked: null,
    expand: scan.manifest.expand,
    siblingsOf: groupSiblings(scan.items, (plugin) => plugin ?? scan.manifest.namespace),
  };
  for (const item of scan.items) {
    attempt(check, item.path, () => assertSafeItem(item));
    const form = attempt(check, item.path, () => readSourceForm(item, loaded, { store: '/store', home: undefined }));
    if (form !== undefined && form.left > 0)
      check.warn(
        item.path,
        `names ${count(form.left, 'file')} outside of the skill that will not be installed with it`,
        'at most 256 are, of 4 MiB each and 16 MiB together; move what it needs into its directory',
      );
    for (const name of form?.unmet ?? [])
      check.warn(
        item.path,
        `requires ${quoteOutside(name, 80)}, which is no item of this source`,
        'fix the name if it should be one; write kind:name for an item',
      );
    checkMetadata(item, check);
    attempt(check, item.path, () => checkStorePaths(item, scan, check));
  }
  checkHooks(scan, manifestFile, check);
  checkDuplicates(scan, check);
  findings.sort((a, b) => compareText(a.path, b.path) || compareText(a.severity, b.severity));
  return { items: scan.items.length, findings, skipped: scan.skipped };
}

// Adds a ToolError as a finding, with the position in its data.
function attempt<T>(check: SourceCheck, path: string, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (!isToolError(error)) throw error;
    const {
      file,
      line,
      message = error.message,
    } = (error.data ?? {}) as Partial<Record<'file' | 'message', string>> & Pick<Finding, 'line'>;
    const within = path === file || path === '.' ? file : `${path}/${file}`;
    const at = file === undefined ? path : `${within}:${line}`;
    check.add({ severity: 'error', path: at, message, hint: error.hint ?? 'fix it' });
    return undefined;
  }
}

function checkHooks({ manifest, items }: Scan, manifestFile: string, { warn }: SourceCheck): void {
  const warnOf = (path: string, command: string, run: string): void =>
    warn(path, `${command} runs a hook: ${quoteOutside(run, 120)}`, 'users must approve it first');
  for (const { event, run } of manifest.hooks) warnOf(manifestFile, event === 'install' ? 'add' : 'remove-source', run);
  for (const { path, build, install, uninstall } of items)
    for (const [event, run] of Object.entries({ build, install, uninstall }))
      if (run !== null) warnOf(path, event, run);
}

// Never fixed: copies are as good as a shared tool.
function checkDuplicates({ items }: Scan, { tree, warn }: SourceCheck): void {
  const copies = new Map<string, { readonly item: SourceItem; readonly path: string }[]>();
  for (const item of items) {
    // The directory of a plugin contains its other items.
    if (item.file || item.kind === 'plugin' || item.kind === 'server') continue;
    // A tree that cannot be installed is reported elsewhere.
    for (const { path: name } of orNothing(() => listTree(join(tree, item.path))) ?? []) {
      const reading = readHead(join(tree, item.path, name), 1024 * 1024);
      if ('fault' in reading || reading.bytes.length === 0 || /\.md$/i.test(name)) continue;
      const digest = digestBytes(reading.bytes);
      copies.set(digest, [...(copies.get(digest) ?? []), { item, path: join(item.path, name) }]);
    }
  }
  for (const [first, ...others] of copies.values()) {
    const elsewhere = others.filter(({ item }) => item !== first!.item).map(({ path }) => path);
    if (elsewhere.length > 0)
      warn(
        first!.path,
        `duplicate-tooling: identical to ${elsewhere.join(', ')}`,
        'consider a tool of this source; copies are fine too',
      );
  }
}

function fixSkillFile(tree: string, { kind, path }: ScanWarning): boolean {
  const other = namesIn(join(tree, path)).find((name) => name.toLowerCase() === 'skill.md');
  if (kind !== 'skill-file-name' || other === undefined) return false;
  renameSync(join(tree, path, other), join(tree, path, 'SKILL.md'));
  return true;
}

interface SourceFinding extends Problem {
  /** Whether `--fix` fixed it. */
  readonly fixed?: boolean;
}

interface SourceCheck {
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
function checkMetadata(item: SourceItem, { tree, fix, add, warn }: SourceCheck): void {
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
function checkStorePaths(item: SourceItem, { items }: Scan, { tree, fix, warn }: SourceCheck): void {
  if (item.content !== undefined) return;
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
