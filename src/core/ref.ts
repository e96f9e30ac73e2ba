// Parses references to tools: a URI, a path or a name (RES-1).

import { ToolError } from './error.js';
import { quoteOutside } from './text.js';

export type Ref = UriRef | PathRef | NameRef;

/** Matched against the origin of tools; a `file:` URI is also used as a path. */
export interface UriRef {
  readonly kind: 'uri';
  readonly scheme: 'file' | 'mcp' | 'inline';
  /** Without its fragment. */
  readonly uri: string;
  readonly fragment?: string;
}

/** Read directly, without the search path. */
export interface PathRef {
  readonly kind: 'path';
  /** As written: absolute, relative, or starting with `~`. */
  readonly path: string;
  readonly fragment?: string;
}

/** Looked up in the catalog. */
export interface NameRef {
  readonly kind: 'name';
  readonly name: string;
  /** Only possible if the name is that of a file. */
  readonly fragment?: string;
}

const MAX_LENGTH = 4096;
const SCHEME = /^(file|mcp|inline):/;

/** Parses a reference; a `#fragment` selects one tool of several. Throws `invalid_ref`. */
export function parseRef(text: unknown): Ref {
  if (typeof text !== 'string') throw invalid(`a reference of type ${typeof text}`, 'is not a string');
  if (text === '') throw invalid('an empty reference', 'does not name a tool');
  if (text.length > MAX_LENGTH) throw invalid(shown(text), `is longer than ${MAX_LENGTH} characters`);
  if (hasControl(text)) throw invalid(shown(text), 'contains a control character');
  const { before, fragment } = splitFragment(text);
  const scheme = SCHEME.exec(before)?.[1] as UriRef['scheme'] | undefined;
  if (scheme !== undefined) {
    if (before.length === scheme.length + 1) throw invalid(shown(text), 'has nothing after its scheme');
    return { kind: 'uri', scheme, uri: before, fragment };
  }
  if (before === '') throw invalid(shown(text), 'has nothing before its fragment');
  return /[/\\]|^[.~]/.test(before)
    ? { kind: 'path', path: before, fragment }
    : { kind: 'name', name: before, fragment };
}

// Splits at the last `#`, unless a separator follows it: a directory name may contain one.
function splitFragment(text: string): { before: string; fragment?: string } {
  const at = text.lastIndexOf('#');
  if (at === -1 || /[/\\]/.test(text.slice(at))) return { before: text };
  const fragment = text.slice(at + 1);
  if (fragment === '') throw invalid(shown(text), 'has an empty fragment');
  return { before: text.slice(0, at), fragment };
}

function hasControl(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}

function shown(text: string): string {
  return `"${quoteOutside(text, 80)}"`;
}

function invalid(what: string, fault: string): ToolError {
  return new ToolError('invalid_ref', `${what} ${fault}`, {
    hint: 'use a name that `wield list` shows, or the path of a file',
  });
}
