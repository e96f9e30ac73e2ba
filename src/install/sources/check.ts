// Checks a source for its author, and fixes what needs no decision (INS-33).

import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { isToolError } from '../../core/error.js';
import type { Finding } from '../../core/problem.js';
import { compareText, quoteOutside } from '../../core/text.js';
import { digestBytes } from '../../files/digest.js';
import { readHead } from '../../files/read.js';
import { listTree } from '../../files/tree.js';
import { namesIn } from '../directory.js';
import { type LoadedTree, readSourceForm } from '../tokens/source-form.js';
import { assertSafeItem, groupSiblings } from '../tokens/targets.js';
import { checkMetadata, checkStorePaths, type SourceCheck, type SourceFinding } from './check-item.js';
import type { ScanWarning } from './find-items.js';
import { findingText, MANIFEST_FILES } from './load-manifest.js';
import { type Scan, scanSource } from './scan.js';
import type { SourceItem } from './source-item.js';

export interface SourceReport {
  readonly items: number;
  readonly findings: readonly SourceFinding[];
  /** Skills that are not offered, with the reason. */
  readonly skipped: Scan['skipped'];
}

/** Reports what installing would refuse, and what could be better. */
export function checkSource(tree: string, fix: boolean): SourceReport {
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
  if (scan === undefined) return { items: 0, findings, skipped: [] };
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
    attempt(check, item.path, () => readSourceForm(item, loaded, { store: '/store', home: undefined }));
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
    for (const name of filesIn(join(tree, item.path))) {
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

// Empty for a tree that cannot be installed; that is reported elsewhere.
function filesIn(root: string): string[] {
  try {
    return listTree(root).map(({ path }) => path);
  } catch {
    return [];
  }
}

function fixSkillFile(tree: string, { kind, path }: ScanWarning): boolean {
  const other = namesIn(join(tree, path)).find((name) => name.toLowerCase() === 'skill.md');
  if (kind !== 'skill-file-name' || other === undefined) return false;
  renameSync(join(tree, path, other), join(tree, path, 'SKILL.md'));
  return true;
}
