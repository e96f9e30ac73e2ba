// Reads what other agents may do from their settings: rules about tools of MCP servers, and everything else by name.

import { isRecord, showValue } from '../../core/json.js';
import type { SelectorPolicy } from '../../core/selector.js';
import { quoteOutside } from '../../core/text.js';
import { valueAt } from '../forms/form.js';

/** A pattern for tools of servers; `*` matches any text. */
export interface ToolPattern {
  readonly server: string;
  readonly tool: string;
}

/** One entry of a settings file. */
export interface Permission {
  readonly policy: SelectorPolicy;
  /** The key and the entry as written: `permissions.deny: Bash(rm:*)`. */
  readonly written: string;
  /** What it may be about: several where the entry can be read in several ways, none if it cannot be a rule here. */
  readonly patterns: readonly ToolPattern[];
  /** Why it has no patterns. */
  readonly reason?: string;
  /** It may deny what other files of the client allow. */
  readonly outranks?: true;
}

/** What an entry is about. */
type Meaning = Pick<Permission, 'patterns' | 'reason'>;

export type PermissionReader = (document: unknown) => readonly Permission[];

const OWN_TOOL = 'it is about a tool of the client itself';
const OTHERS_ONLY = 'it lists what is allowed, and denies everything else; use allow in the entry of the server';
const UNKNOWN = 'it is not a known rule';
const ANY = '*';

type Fields = Readonly<Record<string, unknown>>;

function show(key: string, value: unknown): string {
  return `${key}: ${quoteOutside(showValue(value), 200)}`;
}

/** Reads each entry of a list; one that is not a text is listed. */
function readList(
  document: unknown,
  key: string,
  policy: SelectorPolicy,
  read: (entry: string) => Meaning,
): Permission[] {
  const value = valueAt(document, key.split('.'));
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) return [listed(key, value, policy, 'it is not a list')];
  return value.map((entry) =>
    typeof entry === 'string'
      ? { policy, written: show(key, entry), ...read(entry) }
      : listed(key, entry, policy, 'it is not a text'),
  );
}

function listed(key: string, value: unknown, policy: SelectorPolicy, reason: string): Permission {
  return { policy, written: show(key, value), patterns: [], reason };
}

// A table of rules that is something else is listed too.
function listMalformed(document: unknown, key: string): Permission[] {
  const value = valueAt(document, key.split('.'));
  return value === undefined || isRecord(value) ? [] : [listed(key, value, 'deny', 'it is not a table')];
}

/** Lists keys that restrict or permit something that is no rule here. */
function listKeys(document: unknown, keys: readonly string[], policy: SelectorPolicy, reason: string): Permission[] {
  return keys.flatMap((key) => {
    const value = valueAt(document, key.split('.'));
    return value === undefined || value === null ? [] : [listed(key, value, policy, reason)];
  });
}

const none = (reason: string) => ({ patterns: [], reason });
const only = (server: string, tool: string) => ({ patterns: [{ server, tool }] });
const ofServer = (server: string) => only(server, ANY);
const ofTool = (): Meaning => none(OWN_TOOL);

// `mcp__server`, `mcp__server__tool` and `mcp__server__get_*`. Both names may contain `__`.
function readClaudeRule(entry: string): Meaning {
  if (!entry.startsWith('mcp__')) return none(OWN_TOOL);
  const name = entry.slice('mcp__'.length);
  if (!/^[\w*.-]+$/.test(name)) return none(UNKNOWN);
  const patterns: ToolPattern[] = [];
  for (let at = name.indexOf('__', 1); at !== -1; at = name.indexOf('__', at + 1)) {
    const [server, tool] = [name.slice(0, at), name.slice(at + 2)];
    patterns.push({ server, tool: tool === '' ? ANY : tool });
  }
  // A star may contain the separator.
  const star = name.indexOf(ANY);
  const isWhole = patterns.length === 0 || (star !== -1 && star < name.indexOf('__', 1));
  return { patterns: isWhole ? [...patterns, { server: name, tool: ANY }] : patterns };
}

const readClaude: PermissionReader = (document) => {
  const denied = valueAt(document, ['deniedMcpServers']);
  return [
    ...listMalformed(document, 'permissions'),
    ...readList(document, 'permissions.deny', 'deny', readClaudeRule),
    ...readList(document, 'permissions.ask', 'ask', readClaudeRule),
    ...readList(document, 'permissions.allow', 'allow', readClaudeRule),
    ...readList(document, 'disabledMcpjsonServers', 'deny', ofServer),
    ...(Array.isArray(denied) ? denied : []).map((one): Permission => {
      const written = show('deniedMcpServers', one);
      const name = isRecord(one) && Object.keys(one).length === 1 ? one.serverName : undefined;
      return { policy: 'deny', written, ...(typeof name === 'string' ? ofServer(name) : none('it is not a name')) };
    }),
    ...listKeys(document, ['allowedMcpServers'], 'deny', OTHERS_ONLY),
    ...listKeys(document, ['permissions.disableBypassPermissionsMode', 'sandbox'], 'deny', 'it is about the client'),
    ...listKeys(document, CLAUDE_MODES, 'allow', 'it is about the client'),
  ];
};

const CLAUDE_MODES = [
  'permissions.defaultMode',
  'permissions.additionalDirectories',
  'enabledMcpjsonServers',
  'enableAllProjectMcpServers',
];

const CODEX_MODES: Readonly<Record<string, SelectorPolicy>> = { prompt: 'ask', approve: 'allow' };

// `auto` leaves the decision to the client.
function readMode(key: string, mode: unknown, pattern: ToolPattern): Permission[] {
  if (mode === undefined || mode === 'auto') return [];
  const policy = typeof mode === 'string' && Object.hasOwn(CODEX_MODES, mode) ? CODEX_MODES[mode]! : undefined;
  if (policy === undefined) return [listed(key, mode, 'deny', UNKNOWN)];
  return [{ policy, written: show(key, mode), patterns: [pattern] }];
}

function readCodexServers(document: unknown): Permission[] {
  const servers = valueAt(document, ['mcp_servers']);
  return Object.entries(isRecord(servers) ? servers : {}).flatMap(([server, fields]) => {
    const key = `mcp_servers.${quoteOutside(server, 60)}`;
    if (!isRecord(fields)) return [listed(key, fields, 'deny', UNKNOWN)];
    const tools = Object.entries(isRecord(fields.tools) ? fields.tools : {});
    return rename(key, [
      ...readList(fields, 'disabled_tools', 'deny', (tool) => only(server, tool)),
      ...listKeys(fields, ['enabled_tools'], 'deny', OTHERS_ONLY),
      ...readSwitch(fields, 'enabled', false, { policy: 'deny', ...ofServer(server) }),
      ...readMode('default_tools_approval_mode', fields.default_tools_approval_mode, { server, tool: ANY }),
      ...tools.flatMap(([tool, own]) =>
        readMode(`tools.${quoteOutside(tool, 60)}`, isRecord(own) ? own.approval_mode : own, { server, tool }),
      ),
    ]);
  });
}

// A profile is in force only if it is chosen, so it restricts, and allows nothing.
function readCodexProfiles(document: unknown): Permission[] {
  const profiles = valueAt(document, ['profiles']);
  return Object.entries(isRecord(profiles) ? profiles : {}).flatMap(([name, profile]) =>
    rename(
      `profiles.${quoteOutside(name, 60)}`,
      [...listMalformed(profile, 'mcp_servers'), ...readCodexServers(profile)].map((one) =>
        one.policy === 'allow' ? { ...one, ...none('it is of a profile; allow it by hand') } : one,
      ),
    ),
  );
}

const readCodex: PermissionReader = (document) => {
  // Of requirements.toml.
  const required = ['rules', 'allowed_approval_policies', 'allowed_sandbox_modes', 'allowed_web_search_modes'];
  return [
    ...listMalformed(document, 'mcp_servers'),
    ...readCodexServers(document),
    ...readCodexProfiles(document),
    ...listKeys(document, required, 'deny', 'it is about commands and the sandbox of the client'),
    ...listKeys(
      document,
      ['approval_policy', 'sandbox_mode'],
      'ask',
      'it is about commands and the sandbox of the client',
    ),
  ];
};

const DECISIONS: Readonly<Record<string, SelectorPolicy>> = { allow: 'allow', prompt: 'ask', forbidden: 'deny' };

/** Lists the rules about commands of Codex, which are calls of functions; one without a decision allows. */
export function readCommandRules(text: string): readonly Permission[] {
  const calls = text.split(/^(?=[ \t]*\w+\()/m).filter((part) => /^[ \t]*\w+\(/.test(part));
  return calls.map((call) => {
    const decision = /\bdecision\s*=\s*["'](\w+)["']/.exec(call)?.[1] ?? 'allow';
    const policy = Object.hasOwn(DECISIONS, decision) ? DECISIONS[decision]! : 'deny';
    return listed('rules', call.replace(/^\s*#.*$/gm, '').trim(), policy, 'it is about commands of the client');
  });
}

// What a switch means if it has this value.
function readSwitch(fields: Fields, key: string, value: boolean, meaning: Omit<Permission, 'written'>): Permission[] {
  return fields[key] === value ? [{ ...meaning, written: show(key, value) }] : [];
}

function rename(key: string, permissions: readonly Permission[]): Permission[] {
  return permissions.map((one) => ({ ...one, written: `${key}.${one.written}` }));
}

// `mcp_server_tool` and `server__tool`; any part of it may be the name of the server.
function readGeminiRule(entry: string): Meaning {
  const [, joined] = /^mcp_(?!_)([\w*.-]+)$/.exec(entry) ?? [];
  if (joined === undefined) {
    const [, server, tool] = /^([\w.-]+?)__([\w*.-]+)$/.exec(entry) ?? [];
    return server === undefined ? none(OWN_TOOL) : only(server, tool!);
  }
  if (joined === ANY) return only(ANY, ANY);
  const patterns: ToolPattern[] = [];
  for (let at = joined.indexOf('_', 1); at !== -1; at = joined.indexOf('_', at + 1))
    if (at < joined.length - 1) patterns.push({ server: joined.slice(0, at), tool: joined.slice(at + 1) });
  return patterns.length === 0 ? none(UNKNOWN) : { patterns };
}

const readGemini: PermissionReader = (document) => {
  const servers = valueAt(document, ['mcpServers']);
  const ofServers = Object.entries(isRecord(servers) ? servers : {}).flatMap(([server, fields]): Permission[] => {
    if (!isRecord(fields)) return [];
    return rename(`mcpServers.${quoteOutside(server, 60)}`, [
      ...readList(fields, 'excludeTools', 'deny', (tool) => only(server, tool)),
      ...listKeys(fields, ['includeTools'], 'deny', OTHERS_ONLY),
      ...readSwitch(fields, 'trust', true, { policy: 'allow', ...ofServer(server) }),
    ]);
  });
  return [
    ...['tools', 'mcp'].flatMap((key) => listMalformed(document, key)),
    ...['tools.exclude', 'excludeTools'].flatMap((key) => readList(document, key, 'deny', readGeminiRule)),
    ...['tools.allowed', 'allowedTools'].flatMap((key) => readList(document, key, 'allow', readGeminiRule)),
    ...readList(document, 'mcp.excluded', 'deny', ofServer),
    ...listKeys(document, ['mcp.allowed', 'tools.core', 'coreTools'], 'deny', OTHERS_ONLY),
    ...listKeys(document, ['policyPaths', 'adminPolicyPaths'], 'deny', 'it names files that are not read').map(outrank),
    ...ofServers,
  ];
};

const GEMINI_DECISIONS: Readonly<Record<string, SelectorPolicy>> = { allow: 'allow', ask_user: 'ask', deny: 'deny' };

// What does not limit a rule to some calls.
const WHOLE = new Set(['toolName', 'mcpName', 'decision', 'priority', 'denyMessage', 'deny_message']);

const outrank = (one: Permission): Permission => ({ ...one, outranks: true });

/**
 * Reads a policy file of Gemini CLI, whose rules are compared by priority with those of all other files: one that allows
 * is listed, and one about certain calls too.
 */
export function readGeminiPolicy(document: unknown): readonly Permission[] {
  const rules = valueAt(document, ['rule']);
  const permissions = (Array.isArray(rules) ? rules : [rules]).flatMap((rule): Permission[] => {
    if (rule === undefined) return [];
    const decision = isRecord(rule) && typeof rule.decision === 'string' ? rule.decision : '';
    const policy = Object.hasOwn(GEMINI_DECISIONS, decision) ? GEMINI_DECISIONS[decision]! : 'deny';
    if (!isRecord(rule) || decision === '') return [listed('rule', rule, policy, UNKNOWN)];
    if (policy === 'allow') return [listed('rule', rule, policy, 'other rules may outrank it; allow it by hand')];
    if (Object.keys(rule).some((key) => !WHOLE.has(key))) return [listed('rule', rule, policy, 'it has conditions')];
    const { mcpName, toolName = ANY } = rule;
    return (Array.isArray(toolName) ? toolName : [toolName]).map((tool): Permission => {
      const names = typeof tool === 'string' && (mcpName === undefined || typeof mcpName === 'string');
      const written = show('rule', rule);
      if (!names) return listed('rule', rule, policy, UNKNOWN);
      if (mcpName !== undefined) return { policy, written, ...only(mcpName, tool) };
      return { policy, written, ...(tool === ANY ? none('it is about all tools') : readGeminiRule(tool)) };
    });
  });
  return permissions.map(outrank);
}

// `server:tool` with stars.
function readCursorTool(entry: string): Meaning {
  const [, server, tool] = /^([^:,()]+?)\s*[:,]\s*([^:,()]+)$/.exec(entry.trim()) ?? [];
  return server === undefined ? none(UNKNOWN) : only(server.trim(), tool!.trim());
}

function readCursorRule(entry: string): Meaning {
  const inside = /^mcp\((.*)\)$/i.exec(entry.trim())?.[1];
  return inside === undefined ? none(OWN_TOOL) : readCursorTool(inside);
}

const readCursor: PermissionReader = (document) => [
  ...listMalformed(document, 'permissions'),
  ...readList(document, 'permissions.deny', 'deny', readCursorRule),
  ...readList(document, 'permissions.allow', 'allow', readCursorRule),
  ...readList(document, 'mcpAllowlist', 'allow', readCursorTool),
  ...readList(document, 'terminalAllowlist', 'allow', ofTool),
];

// The keys have dots in them.
const readVsCode: PermissionReader = (document) =>
  Object.entries(isRecord(document) ? document : {}).flatMap(([key, value]) => {
    if (!key.startsWith('chat.tools.')) return [];
    const entries = isRecord(value) ? Object.entries(value).map(([name, one]) => ({ [name]: one })) : [value];
    const policyOf = (one: unknown): SelectorPolicy => (JSON.stringify(one).includes('false') ? 'ask' : 'allow');
    return entries.map((one) => listed(key, one, policyOf(one), OWN_TOOL));
  });

/** By the id of the client. */
export const READERS: Readonly<Record<string, PermissionReader>> = {
  'claude-code': readClaude,
  codex: readCodex,
  'gemini-cli': readGemini,
  cursor: readCursor,
  vscode: readVsCode,
};
