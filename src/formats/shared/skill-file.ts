// Parses SKILL.md: name, description, allowed tools and metadata from the frontmatter, and the text below.

import { isRecord, type Json } from '../../core/json.js';
import { type Finding, HIDDEN_CHARACTERS } from '../../core/problem.js';
import type { Requirements } from '../../core/requirements.js';
import type { SandboxRequest } from '../../core/sandbox.js';
import { quoteOutside, sanitize } from '../../core/text.js';
import { parseSandboxRequest } from '../../process/sandbox/applied.js';
import { readFrontmatter } from './frontmatter.js';
import { readFileRequirements } from './requirements.js';

export interface SkillHeader {
  readonly name: string;
  readonly description: string;
  readonly allowedTools: readonly string[] | null;
  readonly metadata: Readonly<Record<string, Json>>;
  readonly requires?: Requirements | undefined;
  /** The text below the frontmatter. */
  readonly body: string;
  /** Offset of that text in characters. */
  readonly start: number;
}

export interface SkillReading {
  /** Absent if there is no frontmatter. Not to be used if there are errors. */
  readonly skill?: SkillHeader;
  readonly errors: readonly Finding[];
  readonly warnings: readonly Finding[];
}

/** Parses the text of a SKILL.md (SKL-1). Without a name it has that of its directory (SKL-8). */
export function parseSkillFile(text: string, directoryName: string): SkillReading {
  const frontmatter = readFrontmatter(text);
  if ('message' in frontmatter) return { errors: [frontmatter], warnings: [] };
  const { fields, body } = frontmatter;
  const errors: Finding[] = [];
  const warnings: Finding[] = [...frontmatter.warnings];
  const name = readName(fields.name, directoryName, errors, warnings);
  const written = readText(fields.description);
  const description = sanitize(written).trim();
  if (description !== written) warnings.push(HIDDEN_CHARACTERS);
  if (description === '') {
    errors.push({ message: 'has no description', hint: 'add description: what it does and when to use it' });
  }
  return {
    skill: {
      name,
      description,
      allowedTools: readAllowedTools(findAllowedTools(fields, warnings), warnings),
      metadata: readMetadata(fields),
      requires: readFileRequirements(fields, warnings),
      body,
      start: text.length - body.length,
    },
    errors,
    warnings,
  };
}

/** Returns the sandbox that `metadata.sandbox` of a skill asks for. */
export function readSkillSandbox({ sandbox }: Readonly<Record<string, Json>>): SandboxRequest | undefined {
  if (sandbox === true) return parseSandboxRequest('');
  return typeof sandbox === 'string' ? parseSandboxRequest(sandbox) : undefined;
}

// `trust` may also be next to `allowed-tools`; rules in both places cannot both be meant.
function readMetadata({ metadata, trust }: Readonly<Record<string, unknown>>): Record<string, Json> {
  const given = isRecord(metadata) ? (metadata as Record<string, Json>) : {};
  if (trust === undefined || trust === null) return given;
  return { ...given, trust: given.trust === undefined ? (trust as Json) : 'declared twice' };
}

const MAX_NAME = 64;

function readName(value: unknown, directoryName: string, errors: Finding[], warnings: Finding[]): string {
  const given = readText(value);
  const name = given === '' ? directoryName : given;
  if (given === '')
    warnings.push({
      message: `has no name, so it has that of its directory: ${quoteOutside(directoryName, 60)}`,
      hint: 'add name: the name of its directory; some agents require it',
    });
  // Wider than the Agent Skills format, for existing skills.
  if (/^[\p{L}\p{N}][\p{L}\p{N} ._:-]*$/u.test(name) && name.length <= MAX_NAME) return name;
  const hint = hintFor(name);
  const usable = name.includes('..') ? '' : toAllowedName(name);
  const message = `name "${quoteOutside(name, 60)}" is not allowed`;
  if (usable === '' || usable.length > MAX_NAME) errors.push({ message, hint });
  else warnings.push({ message: `${message}, using "${usable}"`, hint });
  return usable;
}

function toAllowedName(name: string): string {
  return name
    .replace(/ *[^\p{L}\p{N} ._:-]+ */gu, '-')
    .replace(/^[^\p{L}\p{N}]+/u, '')
    .replace(/-+$/, '');
}

function hintFor(name: string): string {
  if (name.length > MAX_NAME) return `use at most ${MAX_NAME} characters`;
  const odd = /[^\p{L}\p{N} ._:-]/u.exec(name)?.[0];
  if (odd === undefined) return 'start with a letter or digit';
  return /[\p{P}\p{S}]/u.test(odd)
    ? `leave out "${odd}"; use letters, digits and hyphens`
    : 'use letters, digits and hyphens';
}

function readText(value: unknown): string {
  return typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : '';
}

// A misspelled key must not allow everything.
function findAllowedTools(fields: Readonly<Record<string, unknown>>, warnings: Finding[]): unknown {
  if (Object.hasOwn(fields, 'allowed-tools')) return fields['allowed-tools'];
  const key = Object.keys(fields).find((name) => /^allowed[-_ ]?tools?$/i.test(name));
  if (key === undefined) return undefined;
  if (key !== 'allowedTools')
    warnings.push({ message: `"${key}" is read as allowed-tools`, hint: 'write allowed-tools' });
  return fields[key];
}

// Accepts a list, or a string separated by commas or spaces.
function readAllowedTools(value: unknown, warnings: Finding[]): readonly string[] | null {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return value;
  if (typeof value === 'string') return splitSelectors(value);
  warnings.push({
    message: 'allowed-tools must be a string or a list, so no tool is allowed',
    hint: 'write allowed-tools: name name',
  });
  return [];
}

// Commas and spaces inside parentheses or braces belong to a selector.
function splitSelectors(text: string): string[] {
  const selectors: string[] = [];
  let depth = 0;
  let current = '';
  for (const character of text) {
    if (character === '(' || character === '{') depth++;
    if (character === ')' || character === '}') depth--;
    if (depth <= 0 && /[\s,]/.test(character)) {
      if (current !== '') selectors.push(current);
      current = '';
    } else current += character;
  }
  if (current !== '') selectors.push(current);
  return selectors;
}
