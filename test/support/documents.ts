// Parses the documents of the project: fenced blocks, shell sessions, tables and links.

import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const SKIPPED = new Set(['node_modules', 'dist', '.git']);

/** Returns the paths of all documents, relative to the root. */
export function listDocuments(): string[] {
  const walk = (directory: string): string[] =>
    readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : walk(path);
      return entry.name.endsWith('.md') ? [relative(ROOT, path)] : [];
    });
  return walk(ROOT).sort();
}

export function readDocument(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

export interface Block {
  readonly language: string;
  readonly text: string;
  /** Its first line in the document. */
  readonly line: number;
}

/** Returns the fenced blocks of a document, in order. */
export function findBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  let open: { language: string; lines: string[]; line: number } | undefined;
  text.split('\n').forEach((line, index) => {
    const fence = /^```(\w*)$/.exec(line);
    if (open === undefined) {
      if (fence) open = { language: fence[1]!, lines: [], line: index + 1 };
    } else if (fence) {
      blocks.push({ language: open.language, text: open.lines.join('\n'), line: open.line });
      open = undefined;
    } else open.lines.push(line);
  });
  return blocks;
}

/** Returns a document without its fenced blocks. */
export function withoutBlocks(text: string): string {
  return text.replace(/^```[\s\S]*?^```$/gm, '');
}

export interface Step {
  readonly command: string;
  /** The expected output. */
  readonly output: string;
  readonly line: number;
}

/**
 * Parses a shell session: a `sh` block that begins with `$ `. Each such line is a command, including its
 * here-document; the lines after it are the expected output.
 */
export function findSteps(block: Block): Step[] {
  if (block.language !== 'sh' || !block.text.startsWith('$ ')) return [];
  const steps: { command: string[]; output: string[]; line: number }[] = [];
  let until: string | undefined;
  block.text.split('\n').forEach((line, index) => {
    if (until !== undefined) {
      steps.at(-1)!.command.push(line);
      if (line === until) until = undefined;
    } else if (line.startsWith('$ ')) {
      steps.push({ command: [line.slice(2)], output: [], line: block.line + 1 + index });
      until = /<<'(\w+)'/.exec(line)?.[1];
    } else steps.at(-1)!.output.push(line);
  });
  return steps.map(({ command, output, line }) => ({
    command: command.join('\n'),
    output: output.join('\n').trimEnd(),
    line,
  }));
}

/** Returns the cells of every table row whose first cell is code, without backticks around whole cells. */
export function findRows(text: string): string[][] {
  return withoutBlocks(text)
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .slice(1, line.lastIndexOf('|'))
        .split(/(?<!\\)\|/)
        .map((cell) =>
          cell
            .trim()
            .replace(/^`([^`]*)`$/, '$1')
            .replaceAll('\\|', '|'),
        ),
    );
}

/** Returns the rows of the table below a heading. */
export function findSection(text: string, heading: string): string {
  const at = text.indexOf(`\n## ${heading}\n`);
  if (at === -1) throw new Error(`there is no heading "${heading}"`);
  const rest = text.slice(at + 1);
  const next = rest.indexOf('\n## ', 1);
  return next === -1 ? rest : rest.slice(0, next);
}
