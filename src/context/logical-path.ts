// Logical paths: names of documents in the context store, unrelated to paths on disk (CTX-12).

import { ToolError } from '../core/error.js';
import { quoteOutside } from '../core/text.js';

const MAX_LENGTH = 1024;
const MAX_DEPTH = 32;

/**
 * Normalizes a logical path: NFC, segments joined by `/`, without `.` and empty ones.
 * Throws `path_escape` if it would leave the store, and `invalid_input` if it is not a valid path.
 */
export function parseLogicalPath(text: string): string {
  const shown = quoteOutside(text, 80);
  if (text.length > MAX_LENGTH) throw badPath(shown, `is longer than ${MAX_LENGTH} characters`);
  // Control characters could forge lines where a path is displayed.
  if (/\p{Cc}/u.test(text)) throw badPath(shown, 'contains a control character');
  if (/\p{Cs}/u.test(text)) throw badPath(shown, 'is not valid Unicode');
  const path = text.normalize('NFC');
  if (/^[/~]|^[A-Za-z]:/.test(path)) throw escapes(shown, 'is absolute');
  if (path.includes('\\')) throw escapes(shown, 'contains a backslash');
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (segments.includes('..')) throw escapes(shown, 'contains ".."');
  if (segments.length === 0) throw badPath(shown, 'is empty');
  if (segments.length > MAX_DEPTH) throw badPath(shown, `is deeper than ${MAX_DEPTH} levels`);
  return segments.join('/');
}

/** Normalizes a prefix for listings; empty matches everything. */
export function parseLogicalPrefix(text: string | undefined): string {
  return text === undefined || /^[./]*$/.test(text) ? '' : parseLogicalPath(text);
}

/** Whether a path is the prefix itself or below it. */
export function isBelow(path: string, prefix: string): boolean {
  return prefix === '' || path === prefix || path.startsWith(`${prefix}/`);
}

function badPath(shown: string, problem: string): ToolError {
  return new ToolError('invalid_input', `the path "${shown}" ${problem}`, {
    hint: 'use a short relative path such as notes/today.md',
  });
}

function escapes(shown: string, problem: string): ToolError {
  return new ToolError('path_escape', `the path "${shown}" ${problem}`, {
    hint: 'use a relative path inside the context store, such as notes/today.md',
  });
}
