// Changes the output of a declared command: hints, the limit of lines, and a file that is appended.

import { join } from 'node:path';
import type { OutputHint, SideRead } from '../../core/command.js';
import { type Json, type JsonObject, showValue } from '../../core/json.js';
import type { CommandPlan, Slot } from '../../core/plan.js';
import { containedPath } from '../../files/contained-path.js';
import { readHead } from '../../files/read.js';
import { textsOf } from './arguments.js';

function effectiveValue(name: string, command: CommandPlan, input: JsonObject): Json | undefined {
  return command.slots.find((slot) => slot.mapping.param === name)?.value ?? input[name];
}

/** Whether all conditions of a hint are met. */
export function applies(
  hint: OutputHint,
  text: string,
  exitCode: number | null,
  command: CommandPlan,
  input: JsonObject,
): boolean {
  if (hint.match !== undefined && !text.includes(hint.match)) return false;
  if (hint.exitCode === 'nonzero' && exitCode === 0) return false;
  if (typeof hint.exitCode === 'number' && exitCode !== hint.exitCode) return false;
  if (hint.notEmpty && text.trim() === '') return false;
  return Object.entries(hint.whenArg).every(([name, value]) => effectiveValue(name, command, input) === value);
}

export function fillHint(hint: string, command: CommandPlan, input: JsonObject): string {
  return hint.replace(/\{([A-Za-z_][\w-]*)\}/g, (match, name: string) => {
    const value = effectiveValue(name, command, input);
    return value === undefined || value === null ? match : showValue(value);
  });
}

export function limitLines(text: string, { execution }: CommandPlan): string {
  const { maxOutputLines, truncationHint } = execution;
  const lines = text.replace(/\n$/, '').split('\n');
  if (maxOutputLines === undefined || lines.length <= maxOutputLines) return text;
  const kept = lines.slice(0, maxOutputLines);
  const numbered = /^\s*(\d+)\t/.exec(kept[kept.length - 1] ?? '');
  const facts: Readonly<Record<string, number>> = {
    kept: kept.length,
    total: lines.length,
    omitted: lines.length - kept.length,
    next_start: (numbered ? Number(numbered[1]) : kept.length) + 1,
  };
  const notice =
    truncationHint ?? 'truncated: {kept} of {total} lines shown, {omitted} omitted; request less at a time';
  return `${kept.join('\n')}\n[${notice.replace(/\{(\w+)\}/g, (match, name: string) => String(facts[name] ?? match))}]\n`;
}

const MAX_BYTES = 64 * 1024;
const MAX_SESSIONS = 1000;
const MAX_FILES = 10_000;

/** The files that were appended in each session. */
export type SeenFiles = Map<string, Set<string>>;

interface SideReadOptions {
  readonly slots: readonly Slot[];
  /** Directory that a relative path starts from. */
  readonly base: string;
  readonly roots: readonly string[];
  readonly session: string | undefined;
  readonly seen: SeenFiles;
  /** Whether the process of the command could read a file. */
  readonly isVisible: (path: string) => boolean;
}

/** Returns the output with the file appended; unchanged if the file is missing, empty or outside the roots. */
export function appendSideRead(output: string, sideRead: SideRead, options: SideReadOptions): string {
  const { slots, base, roots, session, seen, isVisible } = options;
  const [directory] = textsOf(slots.find(({ mapping }) => mapping.param === sideRead.param)?.value);
  if (directory === undefined || directory === '') return output;
  const wanted = join(directory, sideRead.file);
  const path = containedPath(wanted, { base, roots });
  if (path === undefined || !isVisible(path)) return output;
  if (sideRead.oncePerSession && session !== undefined && !isNew(seen, session, path)) return output;
  const reading = readHead(path, MAX_BYTES);
  // Links can change while it is read.
  if ('fault' in reading || containedPath(wanted, { base, roots }) !== path) return output;
  const text = reading.bytes.toString('utf8').trimEnd();
  if (text.trim() === '') return output;
  const more = reading.complete ? '' : `\n[truncated: the file is larger than ${MAX_BYTES / 1024} KiB]`;
  const { label } = sideRead;
  return `${output.trimEnd()}\n\n--- ${label} (BOF) ---\n\n${text}${more}\n\n--- ${label} (EOF) ---\n`;
}

function isNew(seen: SeenFiles, session: string, path: string): boolean {
  let files = seen.get(session);
  if (files === undefined) {
    const oldest = seen.keys().next();
    if (seen.size >= MAX_SESSIONS && oldest.done !== true) seen.delete(oldest.value);
    files = new Set();
    seen.set(session, files);
  }
  if (files.has(path)) return false;
  if (files.size < MAX_FILES) files.add(path);
  return true;
}
