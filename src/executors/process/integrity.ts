// Digests of scripts and commands, and the check that they have not changed since planning.

import { join } from 'node:path';
import { resolversOf } from '../../core/command.js';
import { ToolError } from '../../core/error.js';
import { canonicalJson } from '../../core/json.js';
import type { ProcessPlan } from '../../core/plan.js';
import type { CommandAction, ScriptAction, Tool } from '../../core/tool.js';
import { digestAsFile, digestFile, digestParts } from '../../files/digest.js';
import { readHead, sameIdentity, statIdentity, statOrNothing } from '../../files/read.js';
import { isWithin, realPath } from '../../files/within.js';

const MAX_SCRIPT_BYTES = 8 * 1024 * 1024;

/** Returns the SHA-256 of a script's name and bytes. Throws `integrity` if the file changed since it was read. */
export function digestScript(tool: Tool, action: ScriptAction): string {
  const hashed = digestFile(action.file, [tool.origin.format, tool.name]);
  if ('fault' in hashed) throw changed(tool, `can no longer be read: ${hashed.message}`);
  if (!sameIdentity(hashed.identity, action.identity)) throw changed(tool, 'changed while it was being read');
  return hashed.digest;
}

/**
 * Returns the SHA-256 of a declaration, of the skill's scripts that it uses, and of the file that defines it. Throws
 * `integrity` if the file changed since it was read.
 */
export function digestCommand(tool: Tool, action: CommandAction): string {
  return digestDeclaration(tool, action, readScripts(action));
}

/** The scripts of a skill by their path, with the bytes that were hashed. */
export type SkillScripts = ReadonlyMap<string, Buffer>;

/** Throws `integrity` if the program or interpreter of a plan changed since planning. */
export function assertSameProgram({ tool, binary, interpreter = binary, identity }: ProcessPlan): void {
  if (identity !== undefined && !sameIdentity(statIdentity(interpreter), identity))
    throw changed(tool, `runs ${interpreter}, which changed after it was planned`);
}

/** Returns the scripts that a command may run. Throws `integrity` if they or its program changed since planning. */
export function readPlannedScripts(plan: ProcessPlan, action: CommandAction): SkillScripts {
  const { tool } = plan;
  assertSameProgram(plan);
  const scripts = readScripts(action);
  if (
    (scripts.length > 0 || action.file !== undefined) &&
    digestDeclaration(tool, action, scripts) !== tool.origin.digest
  )
    throw changed(tool, 'changed after it was planned');
  return new Map(scripts.flatMap(({ path, bytes }) => (path && bytes ? [[path, bytes] as const] : [])));
}

interface SkillScript {
  readonly path: string | undefined;
  readonly bytes: Buffer | undefined;
}

function readScripts(action: CommandAction): readonly SkillScript[] {
  return scriptNames(action).map((name) => {
    const path = findSkillScript(action.directory, name);
    const reading = path === undefined ? undefined : readHead(path, MAX_SCRIPT_BYTES);
    const bytes = reading === undefined || 'fault' in reading || !reading.complete ? undefined : reading.bytes;
    return { path, bytes };
  });
}

function digestDeclaration(tool: Tool, action: CommandAction, scripts: readonly SkillScript[]): string {
  const { allowlist, executions } = action;
  const { sandbox, background } = tool.traits;
  const declaration = { input: tool.input.json, allowlist, executions, sandbox, background };
  return digestParts([
    tool.origin.format,
    tool.name,
    tool.description,
    canonicalJson(declaration),
    ...scripts.map(({ bytes }) => (bytes === undefined ? 'missing' : digestAsFile(bytes, []))),
    ...(action.file === undefined ? [] : [digestDefinition(tool, action.file)]),
  ]);
}

function digestDefinition(tool: Tool, { path, identity }: NonNullable<CommandAction['file']>): string {
  const hashed = digestFile(path, []);
  if ('fault' in hashed) throw changed(tool, `can no longer be read: ${hashed.message}`);
  if (!sameIdentity(hashed.identity, identity)) throw changed(tool, 'changed while it was being read');
  return hashed.digest;
}

/** Returns the names of the skill's scripts that a command may run. */
export function scriptNames({ executions }: CommandAction): string[] {
  return [...new Set(executions.flatMap(resolversOf).flatMap(({ script }) => script ?? []))].sort();
}

/** The error for a tool whose bytes are not those that were planned. */
export function changed(tool: Tool, how: string): ToolError {
  return new ToolError('integrity', `${tool.name} ${how}, so it was not run`, { hint: 'call it again' });
}

/** Returns the real path of `scripts/<name>` or `scripts/<name>.sh`, if it is a file inside `scripts` (TJS-16). */
export function findSkillScript(directory: string, name: string): string | undefined {
  const scripts = realPath(join(directory, 'scripts'));
  const skill = realPath(directory);
  if (scripts === undefined || skill === undefined || !isWithin(skill, scripts)) return undefined;
  for (const file of [name, `${name}.sh`]) {
    const real = realPath(join(scripts, file));
    if (real !== undefined && isWithin(scripts, real) && statOrNothing(real)?.isFile()) return real;
  }
  return undefined;
}
