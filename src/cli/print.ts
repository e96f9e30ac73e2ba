// Prints errors, help, plans and JSON documents.

import { errorText, JSON_SCHEMA } from '../commands/output.js';
import type { Verdict } from '../core/caller.js';
import type { ErrorValue } from '../core/error.js';
import { describePlan, type Plan } from '../core/plan.js';
import { sanitize, shortenPath } from '../core/text.js';
import type { NodeToolbox } from '../node.js';
import { planRows } from '../ui/plan-text.js';
import type { Terminal } from './terminal.js';
import type { VerbCall } from './verb.js';

/** Prints the one JSON document of a command and returns 0, its exit status (CLI-3). */
export function printJson(terminal: Terminal, document: { readonly ok: boolean; readonly [key: string]: unknown }): 0 {
  const { ok, ...rest } = document;
  printDocument(terminal, { ok, schema: JSON_SCHEMA, ...rest });
  return 0;
}

/** Prints what a command did, as a JSON document or as text, and returns 0, its exit status. */
export function report({ json, terminal }: Pick<VerbCall, 'json' | 'terminal'>, document: object, text: string): 0 {
  if (json) return printJson(terminal, { ok: true, ...document });
  terminal.out(text);
  return 0;
}

/** Prints a JSON document of another format. */
export function printDocument(terminal: Terminal, document: unknown): void {
  const text = JSON.stringify(document, null, terminal.outIsTerminal ? 2 : undefined);
  terminal.out(`${terminal.io.stdout.isTerminal ? escapeControls(text) : text}\n`);
}

// JSON.stringify() escapes only some of the characters that a terminal acts on.
function escapeControls(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Prints one of many JSON documents, one per line. */
export function printJsonLine(terminal: Terminal, document: Readonly<Record<string, unknown>>): void {
  terminal.out(`${JSON.stringify({ ok: true, schema: JSON_SCHEMA, ...document })}\n`);
}

/** Prints help as text, or inside a JSON document with `--json`. */
export function printHelp(terminal: Terminal, help: string, json: boolean): void {
  if (json) printJson(terminal, { ok: true, help });
  else terminal.out(help);
}

/** Prints an error for a person at a shell. */
export function printError(terminal: Terminal, given: ErrorValue): void {
  const error = { ...given, hint: toShellHint(given) };
  const words = { error: terminal.paint('red', 'error', 'err'), hint: terminal.paint('cyan', 'hint', 'err') };
  terminal.err(errorText(error, words));
}

/** Shortens a path as people at the workdir write it. */
export function shortPath(path: string, { workspace, machine }: Pick<NodeToolbox, 'workspace' | 'machine'>): string {
  return shortenPath(path, workspace.workdir, machine.world.home);
}

/** Prints a warning, which the caller has made safe for a terminal. */
export function printWarning(terminal: Terminal, text: string): void {
  terminal.err(`${terminal.paint('yellow', 'warning', 'err')}  ${text}\n`);
}

/** Names commands and flags instead of tools and parameters. */
export function toShellHint({ hint }: ErrorValue): string | undefined {
  return hint?.replace(/(?<![\w-])context_(\w+)(?: with (\w+): (\w+))?/g, (_, tool: string, name = '', value = '') =>
    `wield context ${tool}${name && ` --${name}`}`.replaceAll('_', '-').concat(value && ` ${value}`),
  );
}

/** Prints a plan and its verdict: `wield call --dry-run`. */
export function printPlan(
  terminal: Terminal,
  { plan, verdict }: { readonly plan: Plan; readonly verdict: Verdict },
  json: boolean,
): void {
  if (json) {
    printJson(terminal, { ok: true, plan: describePlan(plan), verdict });
    return;
  }
  const { source } = verdict;
  const where = source === undefined ? '' : `  (${source.file}:${source.line})`;
  const policy = `${verdict.verdict.padEnd(8)} ${verdict.reason}${where}`;
  for (const [name, value] of [...planRows(plan), ['policy', policy] as const])
    terminal.out(`  ${name.padEnd(11)} ${sanitize(value).replace(/\n/g, `\n${' '.repeat(14)}`)}\n`);
}
