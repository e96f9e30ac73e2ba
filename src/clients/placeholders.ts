// References and placeholders of clients in our words: variables stay variables, inputs become some, places are filled in.

import { dirname, isAbsolute, join } from 'node:path';
import { quoteOutside } from '../core/text.js';
import type { Client, ClientFile, Surroundings } from './client.js';
import type { Draft } from './read-entry.js';

interface Around {
  readonly file: ClientFile;
  readonly surroundings: Surroundings;
}

/** A value with references as they are written here; what only the client knows makes its server unusable. */
export function translateReferences(
  { references }: Client,
  value: string,
  of: string,
  draft: Draft,
  { file, surroundings }: Around,
): string {
  if (references === undefined) return value;
  const unknown = (whole: string): string => {
    draft.unusable ??= `${of} refers to ${quoteOutside(whole, 60)}, which only the client knows`;
    return value;
  };
  // Not one of the client's, so it is no reference to a file of the person's.
  if (value.includes('${file:')) return unknown(/\$\{file:[^}]*\}?/.exec(value)![0]);
  return references(value).replace(/\$\{([^}]*)\}/g, (whole, inner: string) => {
    if (/^[A-Za-z_]\w*(?::-.*)?$/s.test(inner) && !EDITORS.has(inner)) return whole;
    if (inner === 'workspaceFolder') {
      draft.notes.push(`${of}: ${whole} became ${surroundings.workdir}`);
      return surroundings.workdir;
    }
    if (inner === 'userHome') return surroundings.home;
    if (inner === 'pathSeparator' || inner === '/') return '/';
    if (inner.startsWith('input:')) {
      const input = inner.slice('input:'.length);
      const variable = toVariable(of, input);
      draft.notes.push(
        `${of}: the client asks for the input ${quoteOutside(input, 40)}; set the variable ${variable}`,
      );
      return `\${${variable}}`;
    }
    if (!inner.startsWith('file:')) {
      unknown(whole);
      return whole;
    }
    const path = inner.slice('file:'.length);
    return isAbsolute(path) || path.startsWith('~') ? whole : `\${file:${join(dirname(file.path), path)}}`;
  });
}

// Words of editors that look like variables.
const EDITORS = new Set([
  'workspaceFolder',
  'workspaceFolderBasename',
  'userHome',
  'pathSeparator',
  'cwd',
  'file',
]);

// A variable of the server has its own name already; elsewhere the input gives one.
function toVariable(of: string, input: string): string {
  if (/^[A-Z_][A-Z0-9_]*$/.test(of)) return of;
  const name = input.toUpperCase().replace(/[^A-Z0-9]+/g, '_');
  return /^[A-Z_]/.test(name) ? name : `INPUT_${name}`;
}
