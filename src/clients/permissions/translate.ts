// Translates permissions of other agents to rules, so that nothing is allowed that was denied or asked about (POL-39).

import { compileGlob } from '../../core/glob.js';
import { decodeName, isToolName } from '../../core/name.js';
import type { SelectorPolicy } from '../../core/selector.js';
import { matchPattern } from '../../core/selector-match.js';
import { toToolPatterns } from '../../upstream/catalog/name.js';
import type { Scope } from '../client.js';
import type { Permission, ToolPattern } from './read.js';

/** A tool of an upstream server, as it is listed now. */
export interface ServerTool {
  readonly server: string;
  /** Its name on the server. */
  readonly tool: string;
  readonly name: string;
}

export interface Translated {
  /** Selectors with their directives. */
  readonly selectors: readonly string[];
  /** What is not imported of it. */
  readonly left?: string;
}

// The name that `wield connect` gives to wield in clients.
const OWN = 'wield';
const DIRECTIVES: Readonly<Record<SelectorPolicy, string>> = {
  deny: '$deny',
  ask: '$policy=ask',
  allow: '$policy=allow',
};

/** Translates one permission; `tools` are those of the user's servers. */
export function translatePermission(permission: Permission, scope: Scope, tools: readonly ServerTool[]): Translated {
  const { policy, patterns, reason } = permission;
  if (patterns.length === 0) return { selectors: [], left: reason ?? 'it is not a known rule' };
  const { names, left } = policy === 'allow' ? findAllowed(patterns, scope, tools) : findRestricted(patterns, tools);
  return { selectors: [...new Set(names)].map((name) => `${name}(${DIRECTIVES[policy]})`), left };
}

interface Found {
  readonly names: readonly string[];
  readonly left?: string;
}

// Each reading counts, and patterns match later tools too.
function findRestricted(patterns: readonly ToolPattern[], tools: readonly ServerTool[]): Found {
  let left: string | undefined;
  const names = patterns.flatMap(({ server, tool }) => {
    const listed = tools.filter((one) => isOf(one, { server, tool })).map(({ name }) => name);
    if (server.includes('*')) {
      left = 'servers that are added later are not included';
      return listed;
    }
    if (server === OWN && tool === '*') {
      left = 'it is about all of wield; disconnect it with: wield connect --undo';
      return listed;
    }
    const own = server === OWN ? [tool, decodeName(tool)].filter((name) => isToolName(name.replaceAll('*', 'x'))) : [];
    const by = [...toToolPatterns(server, tool), ...own];
    return [...by, ...listed.filter((name) => !by.some((pattern) => matchPattern(pattern, name)))];
  });
  return { names, left: names.length === 0 ? (left ?? 'no tool of it is known') : left };
}

// Only what is listed now, by its exact name: a pattern could match tools of others.
function findAllowed(patterns: readonly ToolPattern[], scope: Scope, tools: readonly ServerTool[]): Found {
  const [pattern] = patterns;
  if (scope === 'project') return { names: [], left: 'a project can only restrict; allow it in your own settings' };
  if (pattern === undefined || patterns.length > 1) return { names: [], left: 'its server is ambiguous' };
  if (pattern.server.includes('*')) return { names: [], left: 'it would allow servers that are added later' };
  if (pattern.server === OWN) return { names: [], left: 'the rules of wield decide about its own tools' };
  const names = tools.filter((one) => isOf(one, pattern)).map(({ name }) => name);
  if (names.length > 0) return { names };
  return { names, left: 'none of your servers lists such a tool; run: wield mcp refresh' };
}

function isOf({ server, tool }: ServerTool, pattern: ToolPattern): boolean {
  return matchesName(pattern.server, server) && matchesName(pattern.tool, tool);
}

// Clients replace other characters of names by underscores.
function matchesName(pattern: string, name: string): boolean {
  const plain = (text: string): string => text.replace(/[^\w*-]/gu, '_');
  return compileGlob(plain(pattern)).matches(plain(name).replaceAll('*', '_'));
}
