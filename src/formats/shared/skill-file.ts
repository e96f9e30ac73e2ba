// Parses SKILL.md: name, description, allowed tools and metadata from the frontmatter, and the text below.

import { isRecord, type Json } from '../../core/json.js';
import { type Finding, HIDDEN_CHARACTERS } from '../../core/problem.js';
import type { SandboxRequest } from '../../core/sandbox.js';
import { sanitize } from '../../core/text.js';
import { parseSandboxRequest } from '../../process/sandbox/applied.js';
import { findAllowedTools, readAllowedTools } from './allowed-tools.js';
import { readFrontmatter } from './frontmatter.js';
import { readName, readText } from './skill-name.js';

export interface SkillHeader {
  readonly name: string;
  readonly description: string;
  readonly allowedTools: readonly string[] | null;
  readonly metadata: Readonly<Record<string, Json>>;
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
