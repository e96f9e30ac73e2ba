// Reads a file of upstream servers in the `mcpServers` shape: the entries, and what is wrong with the others. Pure.

import { isToolError } from '../../core/error.js';
import { escapePointer, isRecord, type Json, parseJson } from '../../core/json.js';
import type { Problem } from '../../core/problem.js';
import { quoteOutside } from '../../core/text.js';
import type { ServerEntry } from '../../core/upstream.js';
import { readServer } from './entry.js';

export interface ServersFile {
  readonly file: string;
  readonly owner: ServerEntry['owner'];
}

export interface ServersReading {
  readonly entries: readonly ServerEntry[];
  readonly problems: readonly Problem[];
}

// The second is what VS Code writes.
const TABLES = ['mcpServers', 'servers'];

/** The servers of a file's text. One that is wrong takes no other away. */
export function readServers(text: string, { file, owner }: ServersFile): ServersReading {
  const entries: ServerEntry[] = [];
  const problems: Problem[] = [];
  const report = (severity: Problem['severity'], pointer: string, message: string, hint: string): void => {
    problems.push({ severity, path: file, pointer, message, hint });
  };
  const document = parseDocument(text, report);
  if (document === undefined) return { entries, problems };
  for (const key of Object.keys(document)) {
    if (TABLES.includes(key) || key === '$schema') continue;
    const hint =
      key === 'inputs'
        ? 'nobody is asked here: write ${VAR} in the place of ${input:…}'
        : 'servers stand in "mcpServers"';
    report('warning', `/${escapePointer(key)}`, `"${quoteOutside(key, 60)}" has no effect`, hint);
  }
  for (const table of TABLES) {
    const servers = document[table];
    if (servers === undefined) continue;
    if (!isRecord(servers)) {
      report('error', `/${table}`, `"${table}" must be an object`, 'write { "NAME": { "command": "…" } }');
      continue;
    }
    for (const [name, value] of Object.entries(servers)) {
      const pointer = `/${table}/${escapePointer(name)}`;
      const shown = quoteOutside(name, 60);
      if (entries.some((entry) => entry.name === name)) {
        report('error', pointer, `there are two servers "${shown}"; the first counts`, 'rename one of them');
        continue;
      }
      const { entry, complaints } = readServer(name, value, { owner, place: { file, pointer, line: null } });
      if (entry !== undefined) entries.push(entry);
      for (const { severity, steps, message, hint } of complaints) {
        const at = steps.map((step) => `/${escapePointer(step)}`).join('');
        report(severity, `${pointer}${at}`, describeComplaint(name, steps, message), hint);
      }
    }
  }
  return { entries, problems };
}

/** `server "github", env.TOKEN: must be text`. */
export function describeComplaint(name: string, steps: readonly string[], message: string): string {
  const where = steps.length === 0 ? '' : `, ${quoteOutside(steps.join('.'), 80)}`;
  return `server "${quoteOutside(name, 60)}"${where}: ${message}`;
}

/** What is told of a server whose name another one has that comes first. */
export function toShadowed({ name, place }: ServerEntry, { place: by }: ServerEntry): Problem {
  const line = place.line === null ? '' : `line ${place.line}: `;
  const where = by.line === null ? by.file : `${by.file}:${by.line}`;
  return {
    severity: 'warning',
    path: place.file,
    ...(place.pointer === null ? {} : { pointer: place.pointer }),
    message: `${line}server "${quoteOutside(name, 60)}" is not used: ${where} names one so, and comes first`,
    hint: 'rename or remove one of them',
  };
}

type Report = (severity: Problem['severity'], pointer: string, message: string, hint: string) => void;

function parseDocument(text: string, report: Report): Readonly<Record<string, Json>> | undefined {
  let document: Json;
  try {
    document = parseJson(text.replace(/^\ufeff/, ''), 'the file');
  } catch (error) {
    if (!isToolError(error)) throw error;
    // The reader quotes what stands around a fault, and that may be a secret.
    const isSyntax = error.data?.fault === 'syntax';
    const line = isSyntax ? findLine(text, error.message) : '';
    report(
      'error',
      '',
      isSyntax ? `is not valid JSON${line}` : error.message,
      isSyntax ? 'check quotes, commas and brackets; comments are no JSON' : (error.hint ?? 'mend it'),
    );
    return undefined;
  }
  if (isRecord(document)) return document as Readonly<Record<string, Json>>;
  report('error', '', 'must be an object', 'write { "mcpServers": {} }');
  return undefined;
}

function findLine(text: string, message: string): string {
  const position = /\bposition (\d+)/.exec(message)?.[1];
  return position === undefined ? '' : `, line ${text.slice(0, Number(position)).split('\n').length}`;
}
