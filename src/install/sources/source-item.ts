// Reads an item of a source: its files, and the facts in its frontmatter or in the manifest.

import { join, relative } from 'node:path';
import { ToolError } from '../../core/error.js';
import { readHead, statOrNothing } from '../../files/read.js';
import { realPath } from '../../files/within.js';
import { findNameFault, type ItemKind, isDirectoryKind } from '../manifest/item-name.js';
import type { DeclaredItem, ItemFields } from '../manifest/source-manifest.js';
import { parseItemFacts } from '../manifest/tool-md.js';
import { assertInside } from './load-manifest.js';

export interface SourceItem extends ItemFields {
  /** The plugin that it belongs to, whose name is its prefix. */
  readonly plugin: string | null;
  /** The content of the single file of a server, which no file of the source has. */
  readonly content?: string;
  /** Whether `path` is a file. */
  readonly file: boolean;
  /** The name that an agent has in its frontmatter, else `name`. */
  readonly ownName: string;
  readonly requires: readonly string[];
}

const FACTS_BYTES = 1024 * 1024;

/** Reads an item from its files. A path that is a link inside the source is resolved. */
export function readSourceItem(tree: string, kind: ItemKind, name: string, written: string): SourceItem {
  const path = resolveLinks(tree, written);
  const file = !statOrNothing(join(tree, path))?.isDirectory();
  const document = file ? path : join(path, kind === 'tool' ? 'TOOL.md' : 'SKILL.md');
  assertInside(tree, document);
  const reading = readHead(join(tree, document), FACTS_BYTES);
  const facts = parseItemFacts('fault' in reading ? '' : reading.bytes.toString('utf8'));
  const tool = kind === 'tool';
  const sameName = tool && statOrNothing(join(tree, path, name))?.isFile() ? name : null;
  const isOwn = kind === 'agent' && facts.name !== null && findNameFault(facts.name) === undefined;
  return {
    kind,
    name,
    plugin: null,
    ownName: isOwn ? facts.name! : name,
    path,
    file,
    description: facts.description,
    bin: tool ? (facts.bin ?? sameName) : null,
    build: tool ? facts.build : null,
    install: tool ? facts.install : null,
    uninstall: tool ? facts.uninstall : null,
    link: null,
    requires: facts.requires,
  };
}

/** Returns the name in the SKILL.md of a source that is a skill itself, if it is a valid one. */
export function readSourceName(tree: string): string | undefined {
  const reading = readHead(join(tree, 'SKILL.md'), FACTS_BYTES);
  const { name } = parseItemFacts('fault' in reading ? '' : reading.bytes.toString('utf8'));
  return name === null || findNameFault(name) !== undefined ? undefined : name;
}

/** Reads an item that `[[items]]` declares; the declaration overrides the frontmatter. */
export function readDeclaredItem(tree: string, declared: DeclaredItem, manifestFile: string): SourceItem {
  const { kind, name, path, link, install, uninstall, line } = declared;
  assertInside(tree, path, `the path of the ${kind} ${name} in ${manifestFile}:${line}`);
  const wantsDirectory = isDirectoryKind(kind);
  if (statOrNothing(join(tree, path))?.isDirectory() !== wantsDirectory) {
    throw new ToolError(
      'invalid_definition',
      `${manifestFile}:${line}: the path of the ${kind} ${name} is not a ${wantsDirectory ? 'directory' : 'file'}: ${path}`,
      { hint: 'fix its path' },
    );
  }
  const item = readSourceItem(tree, kind, name, path);
  return {
    ...item,
    link,
    description: declared.description ?? item.description,
    bin: declared.bin ?? item.bin,
    build: declared.build ?? item.build,
    install: install ?? item.install,
    uninstall: uninstall ?? item.uninstall,
  };
}

/** Returns the path of a source that a path leads to, relative to the source. */
export function resolveLinks(tree: string, path: string): string {
  const [root, real] = [realPath(tree), realPath(join(tree, path))];
  return root === undefined || real === undefined ? path : relative(root, real);
}
