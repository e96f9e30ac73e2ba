// Reads SKILL.md: the frontmatter's name, description and permissions, and the text below.

import { isRecord, type Json } from '../../core/json.js';
import { quoteOutside } from '../../core/text.js';
import type { Complaint } from '../script/header.js';
import { readFrontmatter } from './frontmatter.js';

export interface SkillHeader {
  readonly name: string;
  readonly description: string;
  readonly allowedTools: readonly string[] | null;
  readonly metadata: Readonly<Record<string, Json>>;
  /** The text below the frontmatter. */
  readonly body: string;
  /** Where that text begins, in characters. */
  readonly start: number;
}

export interface SkillReading {
  /** Absent where an error keeps it from being a skill. */
  readonly skill?: SkillHeader;
  readonly errors: readonly Complaint[];
  readonly warnings: readonly Complaint[];
}

const MAX_NAME = 64;

/** Reads the text of a SKILL.md (SKL-1). */
export function readSkill(text: string): SkillReading {
  const frontmatter = readFrontmatter(text);
  if ('message' in frontmatter) return { errors: [frontmatter], warnings: [] };
  const { fields, body } = frontmatter;
  const errors: Complaint[] = [];
  const warnings: Complaint[] = [...frontmatter.warnings];
  const name = readName(fields.name, errors);
  const description = readText(fields.description);
  if (description === '') {
    errors.push({ message: 'has no description', hint: 'add description: what it does and when to use it' });
  }
  if (errors.length > 0) return { errors, warnings };
  return {
    skill: {
      name,
      description,
      allowedTools: readAllowedTools(fields['allowed-tools'] ?? fields.allowedTools, warnings),
      metadata: isRecord(fields.metadata) ? (fields.metadata as Record<string, Json>) : {},
      body,
      start: text.length - body.length,
    },
    errors,
    warnings,
  };
}

// What the Agent Skills format asks for, widened by what is found in the wild and harms nobody. No constant: a pattern of
// all letters takes a millisecond to make, and most starts read no skill.
function isAllowedName(name: string): boolean {
  return /^[\p{L}\p{N}][\p{L}\p{N} ._:-]*$/u.test(name);
}

function readName(value: unknown, errors: Complaint[]): string {
  const name = readText(value);
  if (name === '') errors.push({ message: 'has no name', hint: 'add name: the name of its directory' });
  else if (name.length > MAX_NAME || !isAllowedName(name)) {
    errors.push({
      message: `has the name "${quoteOutside(name, 60)}", which is not allowed`,
      hint: 'use at most 64 letters, digits and hyphens',
    });
  }
  return name;
}

function readText(value: unknown): string {
  return typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : '';
}

// As a list, or as text with commas or spaces between: both are found.
function readAllowedTools(value: unknown, warnings: Complaint[]): readonly string[] | null {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return value;
  if (typeof value === 'string') return splitSelectors(value);
  warnings.push({
    message: 'has allowed-tools that are neither text nor a list, so it may call nothing',
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
