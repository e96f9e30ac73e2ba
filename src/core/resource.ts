// Resources, data that clients read by URI, and prompts, messages for a conversation.

import { orNothing } from './error.js';
import { matchesItems } from './glob.js';
import { anyNumber, exactly, type GlobItem, one, oneOf } from './glob-syntax.js';
import type { JsonObject } from './json.js';
import type { Tool } from './tool.js';

/** A resource, or a template of many. It is read by calling its tool, so a read takes the path of a call (RSC-1). */
export interface Resource {
  /** The URI, or the URI template. */
  readonly uri: string;
  /** Whether `uri` is a template. */
  readonly isTemplate: boolean;
  /** As listed: name, title, description, mimeType, size, annotations, icons and _meta. */
  readonly fields: JsonObject;
  /** Named `resource:<uri>`. */
  readonly tool: Tool;
}

/** A skill as it is listed over MCP: its files with their digests (SKL-11). */
export interface SkillOffer {
  /** The URI of its `SKILL.md`. */
  readonly uri: string;
  /** Reads its `SKILL.md`: who may not read that may not know of the skill. */
  readonly tool: Tool;
  /** Returns `frontmatter`, `resources` and `_meta`; undefined if it cannot be offered in this form. */
  readonly describe: () => JsonObject | undefined;
}

/** The name of the tool that reads a resource; selectors of rules match it. */
export function toResourceName(uri: string): string {
  return `resource:${uri}`;
}

/** Schemes of resources that a file cannot define: those of skills, documents, servers and their pages. */
export const OWN_SCHEMES = /^(?:skill|context|mcp|ui):/i;

export function isTemplate(uri: string): boolean {
  return uri.includes('{');
}

// Schemes that a resource of a server keeps, with the server as authority.
const KEPT = /^(?:ui|skill):\/\//i;

const PUBLIC = /^(mcp|ui|skill):\/\/([^/?#]+)\/(.+)$/s;

/** Whether a URI is that of a page of an MCP App. */
export function isPage(uri: string): boolean {
  return /^ui:\/\//i.test(uri);
}

/** Returns the URI of a server's resource for clients. MCP Apps and skills keep their scheme, with the server as authority. */
export function toPublicUri(server: string, uri: string): string {
  const authority = encodeURIComponent(server);
  const [scheme] = KEPT.exec(uri) ?? [];
  return scheme === undefined
    ? `mcp://${authority}/${uri}`
    : `${scheme.toLowerCase()}${authority}/${uri.slice(scheme.length)}`;
}

/** Reverses `toPublicUri`; undefined for other URIs. */
export function parsePublicUri(uri: string): { readonly server: string; readonly uri: string } | undefined {
  const [, scheme, authority = '', rest = ''] = PUBLIC.exec(uri) ?? [];
  if (scheme === undefined || (scheme === 'mcp' && !/^[A-Za-z][\w+.-]*:/.test(rest))) return undefined;
  const own = scheme === 'mcp' ? rest : `${scheme}://${rest}`;
  return orNothing(() => ({ server: decodeURIComponent(authority), uri: own }));
}

/**
 * Returns other spellings that a server may take for the same URI: with percent-encoded characters decoded, without dot
 * segments, and as URLs are normalized.
 */
export function otherSpellings(uri: string): readonly string[] {
  const decoded = decodeAll(uri);
  const found = [decoded, ...[uri, decoded].map(parseUrl)].flatMap((text) =>
    text === undefined ? [] : [text, withoutDots(text)],
  );
  return [...new Set(found)].filter((text) => text !== uri);
}

/** Returns the names of the tool that reads a resource, by other spellings of its URI. */
export function toSpellings(uri: string): readonly string[] {
  return otherSpellings(uri).map(toResourceName);
}

function decodeAll(text: string): string {
  try {
    const decoded = decodeURIComponent(text);
    return decoded === text ? text : decodeAll(decoded);
  } catch {
    return text;
  }
}

function parseUrl(text: string): string | undefined {
  return orNothing(() => new URL(text).href);
}

// Keeps the slashes after the scheme.
function withoutDots(uri: string): string {
  const [, head = '', path = ''] = /^([^/]*:\/*)?(.*)$/s.exec(uri) ?? [];
  const steps: string[] = [];
  for (const step of path.split('/')) {
    if (step === '..') steps.pop();
    else if (step !== '' && step !== '.') steps.push(step);
  }
  return head + steps.join('/');
}

const MAX_URI = 4096;

// Of all templates that one URI is compared with: a few milliseconds.
const MAX_STEPS = 1_000_000;

/** Finds the first entry whose URI template (RFC 6570) a URI can be an expansion of. The work is limited. */
export function findByTemplate<T>(
  uri: string,
  entries: readonly T[],
  templateOf: (entry: T) => string | undefined,
): T | undefined {
  if (uri.length > MAX_URI) return undefined;
  const budget = { steps: MAX_STEPS };
  return entries.find((entry) => {
    const template = templateOf(entry);
    if (template === undefined || !uri.startsWith(template.split('{', 1)[0]!)) return false;
    budget.steps -= template.length;
    return budget.steps > 0 && matchesItems(toItems(template), uri, budget);
  });
}

function toItems(template: string): GlobItem[] {
  const parts = template.split(/(\{[^{}]*\})/);
  return parts.flatMap((part) => (part.startsWith('{') ? [toExpression(part)] : [...part].map(exactly)));
}

function toExpression(expression: string): GlobItem {
  const without = (characters: string): GlobItem => anyNumber((character) => !isIn(characters, character));
  const optional = (first: string, rest: GlobItem): GlobItem =>
    oneOf([[], [one((character) => isIn(first, character)), rest]]);
  switch (expression[1]) {
    case '+':
    case '#':
      return anyNumber(() => true, true);
    case '?':
    case '&':
      return optional('?&', without('#'));
    case '/':
      return optional('/', without('?#'));
    default:
      return without('/?#');
  }
}

function isIn(characters: string, character: number): boolean {
  return characters.includes(String.fromCodePoint(character));
}

/** A prompt. Its messages are made by calling its tool, so that takes the path of a call (RSC-1). */
export interface Prompt {
  /** The name that clients use. */
  readonly name: string;
  /** As listed: title, description, arguments, icons and _meta. */
  readonly fields: JsonObject;
  /** Named `prompt:<name>`. */
  readonly tool: Tool;
}

/** The names of the prompts of wield. */
export const OWN_PROMPT_NAMES = ['tools', 'capabilities'] as const;

/** The name of the tool that makes the messages of a prompt; selectors of rules match it. */
export function toPromptName(name: string): string {
  return `prompt:${name}`;
}
