// Tests of parsing references.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { spec } from '../../test/support/spec.js';
import { isToolError } from './error.js';
import { isToolName, parseRef } from './name.js';

const together = (text: string): string => {
  const ref = parseRef(text);
  const before = ref.kind === 'uri' ? ref.uri : ref.kind === 'path' ? ref.path : ref.name;
  return ref.fragment === undefined ? before : `${before}#${ref.fragment}`;
};

describe('parseRef', () => {
  spec('RES-1', 'a known scheme makes a URI, a separator or a dot or a tilde a path, the rest is a name', () => {
    const cases: [string, object][] = [
      ['file:///a/b', { kind: 'uri', scheme: 'file', uri: 'file:///a/b' }],
      ['mcp://server/tool', { kind: 'uri', scheme: 'mcp', uri: 'mcp://server/tool' }],
      ['inline:x', { kind: 'uri', scheme: 'inline', uri: 'inline:x' }],
      ['file:///a/b#c', { kind: 'uri', scheme: 'file', uri: 'file:///a/b', fragment: 'c' }],
      ['a/b', { kind: 'path', path: 'a/b' }],
      ['a\\b', { kind: 'path', path: 'a\\b' }],
      ['.hidden', { kind: 'path', path: '.hidden' }],
      ['~', { kind: 'path', path: '~' }],
      ['./a#b', { kind: 'path', path: './a', fragment: 'b' }],
      ['./a#b/c', { kind: 'path', path: './a#b/c' }],
      ['./a#b#c', { kind: 'path', path: './a#b', fragment: 'c' }],
      ['https://host/x', { kind: 'path', path: 'https://host/x' }],
      ['greet', { kind: 'name', name: 'greet' }],
      ['acme:scan', { kind: 'name', name: 'acme:scan' }],
      ['Note_Read', { kind: 'name', name: 'Note_Read' }],
      ['notes.md#a', { kind: 'name', name: 'notes.md', fragment: 'a' }],
    ];
    for (const [text, expected] of cases) expect([text, parseRef(text)]).toEqual([text, expected]);
  });

  spec('RES-1', 'rejects invalid references with invalid_ref and a hint', () => {
    for (const text of ['', '#', '#a', 'a#', 'file:', 'mcp:', 'a\0b', 'a\nb', 'x'.repeat(5000), null, 3, {}]) {
      try {
        parseRef(text);
        expect.unreachable(`${String(text)} was read`);
      } catch (error) {
        expect(isToolError(error) && [error.code, error.hint !== undefined]).toEqual(['invalid_ref', true]);
      }
    }
  });

  test('parses or rejects any text, and the parsed form reproduces it', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: 'grapheme' })), (text) => {
        try {
          expect(together(text)).toBe(text);
        } catch (error) {
          expect(isToolError(error) && error.code).toBe('invalid_ref');
        }
      }),
    );
  });

  test('parses every tool name as a name, and nothing with a separator', () => {
    const name = fc.stringMatching(/^(?:[A-Za-z0-9_][A-Za-z0-9_-]{0,9}:)?[A-Za-z0-9_][A-Za-z0-9_-]{0,9}$/);
    fc.assert(
      fc.property(name.filter(isToolName), (text) => {
        expect(parseRef(text)).toEqual({ kind: 'name', name: text });
        expect(parseRef(`${text}/x`).kind).toBe('path');
        expect(parseRef(`~${text}`).kind).toBe('path');
        expect(parseRef(`inline:${text}`).kind).toBe('uri');
      }),
    );
  });
});
