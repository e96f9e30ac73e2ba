// Translates references and placeholders of clients: inputs become variables, directories are filled in.

import { dirname, isAbsolute, join } from 'node:path';
import { quoteOutside } from '../core/text.js';
import type { Client, ClientEnvironment, ClientFile } from './client.js';
import type { Draft } from './read-entry.js';

interface TranslateContext {
  readonly file: ClientFile;
  readonly environment: ClientEnvironment;
}

/** Translates the references of a value. A reference that only the client supports makes the server unusable. */
export function translateReferences(
  { references }: Client,
  value: string,
  of: string,
  draft: Draft,
  { file, environment }: TranslateContext,
): string {
  if (references === undefined) return value;
  const unknown = (whole: string): string => {
    draft.unusable ??= `${of} refers to ${quoteOutside(whole, 60)}, which only the client supports`;
    return value;
  };
  // Not a reference of the client, so it must not read a file.
  if (value.includes('${file:')) return unknown(/\$\{file:[^}]*\}?/.exec(value)![0]);
  return references(value).replace(/\$\{([^}]*)\}/g, (whole, inner: string) => {
    if (/^[A-Za-z_]\w*(?::-.*)?$/s.test(inner) && !EDITORS.has(inner)) return whole;
    if (inner === 'workspaceFolder') {
      draft.notes.push(`${of}: ${whole} was replaced by ${environment.workdir}`);
      return environment.workdir;
    }
    if (inner === 'userHome') return environment.home;
    if (inner === 'pathSeparator' || inner === '/') return '/';
    if (inner.startsWith('input:')) {
      const input = inner.slice('input:'.length);
      const variable = toVariable(of, input);
      draft.notes.push(`${of}: the client prompts for ${quoteOutside(input, 40)}; set the variable ${variable}`);
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

// Placeholders of editors that look like variables.
const EDITORS = new Set(['workspaceFolder', 'workspaceFolderBasename', 'userHome', 'pathSeparator', 'cwd', 'file']);

// Uses the name of the server's variable, or a name derived from the input.
function toVariable(of: string, input: string): string {
  if (/^[A-Z_][A-Z0-9_]*$/.test(of)) return of;
  const name = input.toUpperCase().replace(/[^A-Z0-9]+/g, '_');
  return /^[A-Z_]/.test(name) ? name : `INPUT_${name}`;
}
