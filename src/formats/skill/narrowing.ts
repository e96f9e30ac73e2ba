// Parses `trust`, `middleware` and `paths` of a skill's metadata, which restrict the tools that it governs (RES-44).

import { isToolError } from '../../core/error.js';
import { isRecord, type Json } from '../../core/json.js';
import { isNarrowing, middlewareEntry } from '../../core/middleware-settings.js';
import type { Finding } from '../../core/problem.js';
import { readPaths } from '../../core/search-path.js';
import { parseSelectors } from '../../core/selector.js';
import { formatFault, readShape } from '../../core/shape.js';
import type { Skill, SkillRules } from '../../core/skill.js';
import { quoteOutside } from '../../core/text.js';

export type Narrowings = Pick<Skill, 'trust' | 'middleware' | 'paths'>;

const TRUST_HINT = 'write trust: { rules: "#destructive($policy=ask)" }; until then nothing that it governs runs';

export function readNarrowings(fields: Readonly<Record<string, Json>>, warnings: Finding[]): Narrowings {
  return {
    trust: readTrust(fields.trust, warnings),
    middleware: readMiddleware(fields.middleware, warnings),
    paths: readSearchPath(fields.paths, warnings),
  };
}

/** Rules that were declared but cannot be read, so that nothing they apply to runs (POL-9). */
export function unreadableRules(fault: string): SkillRules {
  return { rules: [], line: null, fault };
}

/** Returns the line of `rules` below `trust`, counted from 1; null if it is not found. */
export function findRulesLine(text: string): number | null {
  const lines = text.split('\n');
  const trust = lines.findIndex((line) => /\btrust["']?\s*:/.test(line));
  if (trust === -1) return null;
  const rules = lines.findIndex((line, at) => at >= trust && /\brules["']?\s*:/.test(line));
  return (rules === -1 ? trust : rules) + 1;
}

// An unknown key may be a misspelled one, so it makes the rules unreadable, as in the configuration.
function readTrust(value: Json | undefined, warnings: Finding[]): SkillRules | undefined {
  if (value === undefined || value === null) return undefined;
  const fault = findTrustFault(value);
  if (fault === undefined) return { rules: toTexts((value as { rules: Json }).rules)!, line: null };
  warnings.push({ message: `metadata.trust ${fault}`, hint: TRUST_HINT });
  return unreadableRules(fault);
}

function findTrustFault(value: Json): string | undefined {
  if (!isRecord(value)) return 'must be a map with rules';
  const unknown = Object.keys(value).find((key) => key !== 'rules');
  if (unknown !== undefined) return `has an unknown key "${quoteOutside(unknown, 40)}"`;
  const texts = toTexts(value.rules as Json);
  if (texts === undefined) return 'has rules that are not selectors, as text or a list';
  try {
    parseSelectors(texts);
    return undefined;
  } catch (error) {
    if (!isToolError(error)) throw error;
    return `has invalid rules: ${error.message}`;
  }
}

function toTexts(value: Json | undefined): readonly string[] | undefined {
  const texts = Array.isArray(value) ? value : [value];
  return texts.every((text): text is string => typeof text === 'string') ? texts : undefined;
}

function readMiddleware(value: Json | undefined, warnings: Finding[]): Narrowings['middleware'] {
  if (value === undefined || value === null) return undefined;
  const limits = (Array.isArray(value) ? value : [value]).flatMap((entry) => {
    const { value: parsed, faults } = readShape(middlewareEntry, entry);
    const isValid = parsed !== undefined && faults.length === 0;
    if (isValid && isNarrowing(parsed)) return [parsed];
    const what = isValid ? 'it is not a rate limit' : formatFault(faults[0]!);
    warnings.push({
      message: `metadata.middleware has an invalid entry, so it has no effect: ${what}`,
      hint: 'write { use: rate-limit, calls: 10, every: 1m }; other middleware belongs in the configuration or in code',
    });
    return [];
  });
  return limits.length === 0 ? undefined : limits;
}

function readSearchPath(value: Json | undefined, warnings: Finding[]): Narrowings['paths'] {
  if (value === undefined || value === null) return undefined;
  const paths = readPaths(typeof value === 'string' ? [value] : value);
  if (paths !== undefined) return paths;
  warnings.push({
    message: 'metadata.paths must be a list of directories, { external: … } and { ignore: … }, so nothing is found',
    hint: 'write paths: [./tools, ...]',
  });
  return [{ ignore: '*' }];
}
