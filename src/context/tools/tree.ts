// The context tool tree.

import type { ToolContext } from '../../core/context.js';
import { ToolError } from '../../core/error.js';
import type { Json } from '../../core/json.js';
import type { DocumentVersion } from '../../core/store.js';
import { count, formatBytes, quoteOutside } from '../../core/text.js';
import { parseLogicalPrefix } from '../logical-path.js';
import { answer, storeOf } from './answer.js';

interface TreeInput {
  readonly path?: string;
  readonly max_depth?: number;
}

// A path can be a document and the prefix of others.
interface Node {
  readonly name: string;
  readonly path: string;
  document?: DocumentVersion;
  readonly children: Map<string, Node>;
}

export async function tree({ path, max_depth: maxDepth = 32 }: TreeInput, context: ToolContext) {
  const prefix = parseLogicalPrefix(path);
  const documents = await storeOf(context).documents.list(prefix);
  if (documents.length === 0 && prefix !== '') throw noDocuments(prefix);
  const root = buildTree(documents, prefix);
  const lines = [
    ...(prefix === '' ? [] : [label(root)]),
    ...draw(root, '', maxDepth),
    count(documents.length, 'document'),
  ];
  return answer(`${lines.join('\n')}\n`, {
    path: prefix,
    documents: documents.length,
    tree: describeChildren(root, maxDepth),
  });
}

function buildTree(documents: readonly DocumentVersion[], prefix: string): Node {
  const root: Node = { name: prefix, path: prefix, children: new Map() };
  for (const document of documents) {
    let node = root;
    const rest = prefix === '' ? document.path : document.path.slice(prefix.length + 1);
    for (const name of rest.split('/').filter((segment) => segment !== '')) {
      let child = node.children.get(name);
      if (child === undefined) {
        child = { name, path: node.path === '' ? name : `${node.path}/${name}`, children: new Map() };
        node.children.set(name, child);
      }
      node = child;
    }
    node.document = document;
  }
  return root;
}

function draw(node: Node, indent: string, depth: number): string[] {
  const children = [...node.children.values()];
  return children.flatMap((child, at) => {
    const last = at === children.length - 1;
    const folded = depth === 1 && child.children.size > 0 ? `  ${count(countBelow(child), 'document')}` : '';
    return [
      `${indent}${last ? '└── ' : '├── '}${label(child)}${folded}`,
      ...(depth > 1 ? draw(child, `${indent}${last ? '    ' : '│   '}`, depth - 1) : []),
    ];
  });
}

function label({ name, document, children }: Node): string {
  return `${name}${children.size > 0 ? '/' : ''}${document?.size == null ? '' : `  ${formatBytes(document.size)}`}`;
}

function countBelow({ document, children }: Node): number {
  return [...children.values()].reduce((sum, child) => sum + countBelow(child), document === undefined ? 0 : 1);
}

function describeChildren({ children }: Node, depth: number): Json[] {
  return [...children.values()].map((child) => ({
    name: child.name,
    path: child.path,
    ...(child.document === undefined ? {} : { size: child.document.size, kind: child.document.kind }),
    ...(child.children.size === 0 ? {} : { documents: countBelow(child) }),
    ...(child.children.size === 0 || depth <= 1 ? {} : { children: describeChildren(child, depth - 1) }),
  }));
}

function noDocuments(prefix: string): ToolError {
  return new ToolError('not_found', `no documents at or below ${quoteOutside(prefix)}`, {
    hint: 'context_tree without a path shows all documents',
    data: { path: prefix },
  });
}
