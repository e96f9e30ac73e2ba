// Names of upstream tools in the catalog (UPS-2), and URIs of upstream resources for clients.

import { isRecord, type Json } from '../../core/json.js';
import { isToolName } from '../../core/name.js';
import { OWN_SCHEMES, otherSpellings, toPromptName, toPublicUri, toResourceName } from '../../core/resource.js';
import type { ServerEntry } from '../../core/upstream.js';
import { hashTexts } from '../../files/digest.js';
import type { RemoteTool } from '../remote-tool.js';

const MAX_NAME = 64;
const CUT_NAME = 55;
const HASH_DIGITS = 8;
const UNUSABLE = /[^A-Za-z0-9_-]/gu;

/** Returns `<server>_<tool>` in the characters of a tool name; a long name is cut and ends in a hash. */
export function toToolName(server: string, tool: string): string {
  const whole = `${server}_${tool}`;
  const name = encode(whole);
  if (name.length <= MAX_NAME) return name;
  return `${name.slice(0, CUT_NAME)}_${hashTexts([whole]).slice(0, HASH_DIGITS)}`;
}

/**
 * Returns patterns for the names of tools of a server, by a pattern in which `*` matches any text. They match at least those
 * tools: names that are cut do not have their end, so that all of them match.
 */
export function toToolPatterns(server: string, tool: string): readonly string[] {
  if (!tool.includes('*')) return [toToolName(server, tool)];
  const [first = '', ...rest] = `${encode(server)}_${tool}`.split('*');
  const begin = encode(first);
  if (rest.every((part) => part === '')) return [`${begin.slice(0, CUT_NAME)}*`];
  const whole = [begin, ...rest.map((part) => part.replace(UNUSABLE, '_'))].join('*');
  const cut = `${begin.slice(0, CUT_NAME).padEnd(CUT_NAME, '?')}_${'[0-9a-f]'.repeat(HASH_DIGITS)}`;
  return [whole, cut];
}

/** Returns the name of what a server lists: its own if the entry keeps names and it is a tool name, else prefixed. */
export function toOfferedName({ name: server, prefix }: ServerEntry, { name, offers }: NamedOffer): string {
  const own = prefix === false;
  if (offers === undefined) return own && isToolName(name) ? name : toToolName(server, name);
  if (offers === 'prompt') return toPromptName(own ? name : toToolName(server, name));
  if (offers === 'instructions') return `instructions:${server}`;
  return toResourceName(toServerUri({ name: server, prefix }, name));
}

type NamedOffer = Pick<RemoteTool, 'name' | 'offers'>;

/** Returns the common prefix of a server's tools. */
export function toPrefix(server: string): string {
  return encode(`${server}_`);
}

/** Whether a name could belong to a tool of a server. */
export function mayBeOf(name: string, server: string): boolean {
  const prefix = toPrefix(server);
  return name.startsWith(prefix.slice(0, CUT_NAME));
}

const RANK = { user: 0, package: 1, workspace: 2 } as const;

/**
 * Returns whether a name of a server is that of another one, whose prefix is longer: `google_drive_read` of `google` beside
 * a server `google_drive`. Servers of a workspace have no such right against those of the user.
 */
export function createNameCheck(server: ServerEntry, servers: readonly ServerEntry[]): (name: string) => boolean {
  const cut = ({ name }: ServerEntry): string => toPrefix(name).slice(0, CUT_NAME);
  const own = cut(server);
  const others = servers
    .filter((other) => other !== server && RANK[other.owner] <= RANK[server.owner])
    .map(cut)
    .filter((other) => server.prefix === false || (other !== own && other.startsWith(own)));
  // `plug:in` has the prefix of a server `plug_in` that someone with more rights configured.
  const isSecond = servers.some((other) => RANK[other.owner] < RANK[server.owner] && cut(other) === own);
  return (name) => {
    const isPrefixed = name.startsWith(own);
    if (isPrefixed && isSecond) return true;
    return others.some((other) => other.length > (isPrefixed ? own.length : 0) && name.startsWith(other));
  };
}

function encode(text: string): string {
  return text.replace(UNUSABLE, '_').replace(/^-/, '_');
}

type Named = Pick<ServerEntry, 'name' | 'prefix'>;

/**
 * Returns the URI of a server's resource for clients. A page of an MCP App has its server as authority even if the
 * server keeps its names, so that no server can name the page of another (RSC-21).
 */
export function toServerUri({ name, prefix }: Named, uri: string): string {
  return prefix === false && !OWN_SCHEMES.test(uri) ? uri : toPublicUri(name, uri);
}

const SKILL = /^skill:/i;

/** Returns the other names of the tool that reads a resource of a server, which rules that restrict match too (RSC-1). */
export function spellingsOf(server: Named, uri: string): readonly string[] {
  const others = otherSpellings(uri);
  const isKept = server.prefix === false;
  const prefixed = (isKept ? [uri, ...others] : others).map((one) => toPublicUri(server.name, one));
  // A skill can also be named like any other resource.
  if (SKILL.test(uri)) prefixed.push(`mcp://${encodeURIComponent(server.name)}/${uri}`);
  return [...(isKept ? others : []), ...prefixed].map(toResourceName);
}

/** Rewrites the page of an MCP App in `_meta`, so that clients can read it. */
export function toPublicMeta(meta: Json, server: Named): Json {
  if (!isRecord(meta)) return meta;
  const rewrite = (uri: unknown): unknown => (typeof uri === 'string' ? toServerUri(server, uri) : uri);
  const { ui } = meta;
  return {
    ...meta,
    ...(isRecord(ui) && ui.resourceUri !== undefined ? { ui: { ...ui, resourceUri: rewrite(ui.resourceUri) } } : {}),
    // An older spelling.
    ...(meta['ui/resourceUri'] === undefined ? {} : { 'ui/resourceUri': rewrite(meta['ui/resourceUri']) }),
  } as Json;
}
