// Digests of scripts and commands, and the check that they have not changed since planning.

import { ToolError } from '../../core/error.js';
import { canonicalJson } from '../../core/json.js';
import { type CommandAction, type ScriptAction, sameIdentity, type Tool } from '../../core/tool.js';
import { digestFile, digestParts } from '../../files/digest.js';
import { statIdentity } from '../../files/read.js';
import { findSkillScript } from './skill-script.js';

/** Returns the SHA-256 of a script's name and bytes. Throws `integrity` if the file changed since it was read. */
export function digestScript(tool: Tool, action: ScriptAction): string {
  const hashed = digestFile(action.file, [tool.origin.format, tool.name]);
  if ('fault' in hashed) throw changed(tool, `can no longer be read: ${hashed.message}`);
  if (!sameIdentity(hashed.identity, action.identity)) throw changed(tool, 'changed while it was being read');
  return hashed.digest;
}

/** Returns the SHA-256 of a declaration and of the skill's scripts that it uses. */
export function digestCommand(tool: Tool, action: CommandAction): string {
  const declaration = { input: tool.input.json, allowlist: action.allowlist, executions: action.executions };
  return digestParts([
    tool.origin.format,
    tool.name,
    tool.description,
    canonicalJson(declaration),
    ...scriptNames(action).map((name) => digestOfFile(findSkillScript(action.directory, name))),
  ]);
}

/** Throws `integrity` if a script changed since it was planned; an approval can take minutes. */
export function assertScriptUnchanged(tool: Tool, action: ScriptAction): void {
  const identity = statIdentity(action.file);
  if (identity === undefined) throw changed(tool, `is gone: ${action.file}`);
  if (sameIdentity(identity, action.identity)) return;
  const hashed = digestFile(action.file, [tool.origin.format, tool.name]);
  if ('fault' in hashed || hashed.digest !== tool.origin.digest)
    throw changed(tool, 'changed after it was planned');
}

export function assertCommandUnchanged(tool: Tool, action: CommandAction): void {
  if (scriptNames(action).length > 0 && digestCommand(tool, action) !== tool.origin.digest)
    throw changed(tool, 'changed after it was planned');
}

/** Returns the names of the skill's scripts that a command may run. */
export function scriptNames({ executions }: CommandAction): string[] {
  const resolvers = executions.flatMap(({ args, postProcess }) => [
    ...args.map(({ resolve }) => resolve),
    postProcess,
  ]);
  return [...new Set(resolvers.flatMap((resolver) => resolver?.script ?? []))].sort();
}

function digestOfFile(path: string | undefined): string {
  const hashed = path === undefined ? undefined : digestFile(path, []);
  return hashed === undefined || 'fault' in hashed ? 'missing' : hashed.digest;
}

function changed(tool: Tool, how: string): ToolError {
  return new ToolError('integrity', `${tool.name} ${how}, so it was not run`, { hint: 'call it again' });
}
