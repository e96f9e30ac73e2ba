// Parses a file of upstream servers in the `mcpServers` shape.

import { isToolError } from '../../core/error.js';
import { DOCUMENT_BOUNDS, escapePointer, isRecord, type Json, parseJson, toJsonFault } from '../../core/json.js';
import type { Finding, Problem } from '../../core/problem.js';
import { quoteOutside } from '../../core/text.js';
import type { ServerEntry } from '../../core/upstream.js';
import { readServer } from './entry.js';
import { withSandbox } from './sandbox.js';

export interface ServersFile {
  readonly file: string;
  readonly owner: ServerEntry['owner'];
}

export interface ServersReading {
  readonly entries: readonly ServerEntry[];
  readonly problems: readonly Problem[];
}

/** The tables of servers; VS Code uses `servers`. */
export const TABLES = ['mcpServers', 'servers'];

/** Parses the servers of a file. An invalid entry does not affect the others. */
export function readServers(text: string, { file, owner }: ServersFile): ServersReading {
  const entries: ServerEntry[] = [];
  const problems: Problem[] = [];
  const report: Report = (severity, pointer, message, hint) => {
    problems.push({ severity, path: file, pointer, message, hint });
  };
  const document = parseDocument(text, (finding) =>
    problems.push({ severity: 'error', path: file, pointer: '', ...finding }),
  );
  if (document === undefined) return { entries, problems };
  reportIgnoredKeys(document, report);
  for (const table of TABLES) {
    const servers = document[table];
    if (servers === undefined) continue;
    if (!isRecord(servers)) {
      report('error', `/${table}`, `"${table}" must be an object`, 'write { "NAME": { "command": "…" } }');
      continue;
    }
    for (const [name, value] of Object.entries(servers)) {
      const pointer = serverPointer(name, [], table);
      if (entries.some((entry) => entry.name === name)) {
        const shown = quoteOutside(name, 60);
        report('error', pointer, `duplicate server "${shown}"; the first one is used`, 'rename one of them');
        continue;
      }
      const { entry, findings } = readServer(name, withSandbox(value, document), {
        owner,
        position: { file, pointer, line: null },
      });
      if (entry !== undefined) entries.push(entry);
      for (const { severity, keyPath, message, hint } of findings) {
        report(severity, serverPointer(name, keyPath, table), describeFinding(name, keyPath, message), hint);
      }
    }
  }
  return { entries, problems };
}

/** Returns the pointer of a server, or of a field of it. */
export function serverPointer(name: string, keyPath: readonly string[] = [], table = TABLES[0]!): string {
  return [table, name, ...keyPath].map((key) => `/${escapePointer(key)}`).join('');
}

/** Whether a problem is about a server of this name. */
export function isAboutServer({ pointer = '' }: Problem, name: string): boolean {
  return TABLES.some((table) => `${pointer}/`.startsWith(`${serverPointer(name, [], table)}/`));
}

/** Formats a message such as `server "github", env.TOKEN: must be a string`. */
export function describeFinding(name: string, keyPath: readonly string[], message: string): string {
  const where = keyPath.length === 0 ? '' : `, ${quoteOutside(keyPath.join('.'), 80)}`;
  return `server "${quoteOutside(name, 60)}"${where}: ${message}`;
}

/** The problem for a server whose name is already used by one with precedence. */
export function toShadowed({ name, position }: ServerEntry, { position: by }: ServerEntry): Problem {
  const line = position.line === null ? '' : `line ${position.line}: `;
  const where = by.line === null ? by.file : `${by.file}:${by.line}`;
  return {
    severity: 'warning',
    path: position.file,
    pointer: position.pointer ?? undefined,
    message: `${line}server "${quoteOutside(name, 60)}" is not used: ${where} has one with that name and takes precedence`,
    hint: 'rename or remove one of them',
  };
}

const SYNTAX_HINT = 'check quotes, commas and brackets; comments are not allowed';

type Report = (severity: Problem['severity'], pointer: string, message: string, hint: string) => void;

function reportIgnoredKeys(document: Readonly<Record<string, Json>>, report: Report): void {
  for (const key of Object.keys(document)) {
    if (TABLES.includes(key) || key === '$schema' || key === 'sandbox') continue;
    const hint =
      key === 'inputs'
        ? 'inputs are not supported: write ${VAR} instead of ${input:…}'
        : 'servers belong in "mcpServers"';
    report('warning', `/${escapePointer(key)}`, `"${quoteOutside(key, 60)}" has no effect`, hint);
  }
}

function parseDocument(text: string, report: (finding: Finding) => void): Readonly<Record<string, Json>> | undefined {
  let document: Json;
  try {
    document = parseJson(text.replace(/^\ufeff/, ''), 'the file', DOCUMENT_BOUNDS);
  } catch (error) {
    if (!isToolError(error)) throw error;
    const isSyntax = error.data?.fault === 'syntax';
    report({ ...toJsonFault(error), hint: isSyntax ? SYNTAX_HINT : error.hint! });
    return undefined;
  }
  if (isRecord(document)) return document as Readonly<Record<string, Json>>;
  report({ message: 'must be an object', hint: 'write { "mcpServers": {} }' });
  return undefined;
}
