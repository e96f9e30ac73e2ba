// The sandbox of a server: what its entry asks for, and the profiles that apply to it.

import { ToolError } from '../../core/error.js';
import { HOSTS, meetHosts, meetNetworks } from '../../core/hosts.js';
import { isRecord, type Json } from '../../core/json.js';
import type { SandboxRule, SandboxSettings } from '../../core/sandbox.js';
import { matchSelectorTool } from '../../core/selector-match.js';
import { checked, object, optional, readShape, strings } from '../../core/shape.js';
import type { Tool } from '../../core/tool.js';
import type { ServerEntry } from '../../core/upstream.js';
import {
  type AppliedProfile,
  appliedProfiles,
  parseSandboxRequest,
  profilesOf,
} from '../../process/sandbox/applied.js';
import type { Report } from './fields.js';

/** Adds the `sandbox` of a document: VS Code has one for all servers of a file with `sandboxEnabled`. */
export function withSandbox(entry: Json, { sandbox }: Readonly<Record<string, Json>>): Json {
  const isMeant = sandbox !== undefined && isRecord(entry) && entry.sandboxEnabled === true && !('sandbox' in entry);
  return isMeant ? { ...entry, sandbox } : entry;
}

const paths = checked(
  strings,
  (given, fail) => {
    if (given.some((path) => toOwnPath(path).includes('*')))
      fail([], 'patterns are not supported', 'write paths of files and directories');
  },
  { items: { type: 'string', pattern: '^[^*]*(?:[^*]/\\*\\*)?$' } },
);
/** A sandbox as VS Code writes it. */
export const SANDBOX_TABLE = object({
  filesystem: optional(object({ allowWrite: optional(paths), denyRead: optional(paths), denyWrite: optional(paths) })),
  network: optional(object({ allowedDomains: optional(HOSTS), deniedDomains: optional(HOSTS) })),
});

/** Reads `sandbox`, a profile, or `sandboxEnabled` and `sandbox` as VS Code writes them. */
export function readSandbox(
  { sandbox, sandboxEnabled }: Readonly<Record<string, unknown>>,
  error: Report,
  warn: Report,
): ServerEntry['sandbox'] {
  if (sandboxEnabled !== undefined && typeof sandboxEnabled !== 'boolean')
    error(['sandboxEnabled'], 'must be true or false', 'write true or false');
  if (typeof sandbox === 'string') return parseSandboxRequest(sandbox);
  if (sandbox !== undefined && !isRecord(sandbox)) {
    error(['sandbox'], 'must be the name of a profile, or an object', 'write "sandbox": "workdir"');
    return undefined;
  }
  if (sandboxEnabled !== true) {
    if (sandbox !== undefined && sandboxEnabled === undefined)
      warn(['sandbox'], 'has no effect without sandboxEnabled', 'write "sandboxEnabled": true');
    return undefined;
  }
  if (sandbox === undefined) return { profile: 'workdir', required: true };
  return { profile: 'workdir', required: true, table: readTable(sandbox, error, warn) };
}

function readTable(sandbox: unknown, error: Report, warn: Report) {
  const { value = {}, faults } = readShape(SANDBOX_TABLE, sandbox, ['sandbox']);
  for (const { kind, path, message, hint } of faults) {
    // What allows more may be left out; a restriction may not.
    const mayBeLeftOut = kind === 'unknown' && String(path.at(-1)).startsWith('allow');
    (mayBeLeftOut ? warn : error)(path.map(String), message, hint);
  }
  const { filesystem: { allowWrite = [], denyRead = [], denyWrite = [] } = {}, network: domains = {} } = value;
  const { allowedDomains: network = [], deniedDomains = [] } = domains;
  // Everything else is denied anyway.
  const both = meetHosts(network.map(withoutPort), deniedDomains.map(withoutPort));
  if (both.length > 0)
    error(
      ['sandbox', 'network', 'deniedDomains'],
      'cannot deny a part of allowedDomains',
      'list in allowedDomains what the server needs, and nothing else',
    );
  if (denyWrite.length > 0)
    warn(['sandbox', 'filesystem', 'denyWrite'], 'has no effect', 'only what allowWrite names can be written');
  return {
    write: ['.', ...allowWrite.map(toOwnPath)],
    deny: denyRead.map(toOwnPath),
    network: meetNetworks(network, true),
  };
}

function withoutPort(host: string): string {
  return host.replace(/:\d+$/, '');
}

function toOwnPath(path: string): string {
  return path
    .replace(/^\$\{(?:workspaceFolder|cwd)\}\/?/, './')
    .replace(/^\$\{userHome\}/, '~')
    .replace(/(?<=.)\/\*\*$/, '');
}

/** Returns the profiles of a server; a rule applies if it matches its name or all of its tools. */
export function serverProfiles(
  { name, sandbox }: Pick<ServerEntry, 'name' | 'sandbox'>,
  settings: SandboxSettings,
): { readonly applied: readonly AppliedProfile[]; readonly sandboxes: SandboxSettings } {
  const own = `server ${name}`;
  const request = sandbox?.table === undefined ? sandbox : { ...sandbox, profile: own };
  const applied = appliedProfiles(name, request, settings, (rule) => appliesTo(rule, name));
  if (sandbox?.table === undefined) return { applied, sandboxes: settings };
  const profiles = new Map([...settings.profiles, [own, [{ ...sandbox.table, byProject: true }]]]);
  return { applied, sandboxes: { ...settings, profiles } };
}

function appliesTo({ selectors }: SandboxRule, name: string): boolean {
  return selectors.some((selector) =>
    [name, `${name}_*`].some((named) => matchSelectorTool(selector, { name: named })),
  );
}

/** Throws `unavailable` for a tool that a rule puts into a sandbox without the rest of its server (EXE-70). */
export function assertWholeServer(tool: Tool, { name }: Pick<ServerEntry, 'name'>, settings: SandboxSettings): void {
  const rule = settings.rules.find(
    (one) =>
      !appliesTo(one, name) &&
      profilesOf(tool, { profiles: new Map(), rules: [one] }).some(({ by, required }) => by !== 'tool' && required),
  );
  if (rule === undefined) return;
  throw new ToolError('unavailable', `a [[sandbox]] rule matches ${tool.name}, but a server runs as a whole`, {
    hint: `match the server: match = "${name}_*"`,
    data: { server: name, sandbox: { profile: rule.profile, backend: 'none' } },
  });
}

/** Reported if a call asks for a server without its sandbox: the server may run already, and others use it. */
export function keepsSandbox({ name, position }: Pick<ServerEntry, 'name' | 'position'>): ToolError {
  return new ToolError('usage', `the server ${name} cannot run without its sandbox for one call`, {
    hint: `change its entry in ${position.file}, or the [sandbox] tables and rules that name it, and leave out --sandbox`,
    data: { server: name },
  });
}
