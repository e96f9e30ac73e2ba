// References to tools: a URI, a path or a name, told apart by their text alone (RES-1).

import { ToolError } from './error.js';
import { quoteOutside } from './text.js';

export type Ref = UriRef | PathRef | NameRef;

/** Matched against the origin of tools; one of a file is a path as well. */
export interface UriRef {
  readonly kind: 'uri';
  readonly scheme: 'file' | 'mcp' | 'inline';
  /** Without its fragment. */
  readonly uri: string;
  readonly fragment?: string;
}

/** Loaded directly, past the search path. */
export interface PathRef {
  readonly kind: 'path';
  /** As written: absolute, relative, or below `~`. */
  readonly path: string;
  readonly fragment?: string;
}

/** Looked for in the catalog. */
export interface NameRef {
  readonly kind: 'name';
  readonly name: string;
  /** No tool's name has one: it can only be that of a file. */
  readonly fragment?: string;
}

const MAX_LENGTH = 4096;
const SCHEME = /^(file|mcp|inline):/;

/** Reads a reference. A `#fragment` picks one tool of several. Throws `invalid_ref` where the text can be none. */
export function parseRef(text: unknown): Ref {
  // Untyped code can send anything.
  if (typeof text !== 'string') throw invalid(`a reference of type ${typeof text}`, 'cannot name a tool');
  if (text === '') throw invalid('an empty reference', 'names no tool');
  if (text.length > MAX_LENGTH) throw invalid(shown(text), `is longer than ${MAX_LENGTH} characters`);
  if (hasControl(text)) throw invalid(shown(text), 'has a control character');
  const { before, fragment } = splitFragment(text);
  const picked = fragment === undefined ? {} : { fragment };
  const scheme = SCHEME.exec(before)?.[1] as UriRef['scheme'] | undefined;
  if (scheme !== undefined) {
    if (before.length === scheme.length + 1) throw invalid(shown(text), 'has nothing after its scheme');
    return { kind: 'uri', scheme, uri: before, ...picked };
  }
  if (before === '') throw invalid(shown(text), 'has nothing before its fragment');
  return /[/\\]|^[.~]/.test(before)
    ? { kind: 'path', path: before, ...picked }
    : { kind: 'name', name: before, ...picked };
}

// The last `#` counts, and none that a separator follows: a directory may have one in its name.
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
