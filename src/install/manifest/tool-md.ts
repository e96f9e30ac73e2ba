// Reads TOOL.md: what a packaged tool says about itself.

import { isRecord, type Json } from '../../core/json.js';
import { readFrontmatter } from '../../formats/shared/frontmatter.js';

export interface ToolFacts {
  readonly description: string | null;
  readonly bin: string | null;
  readonly build: string | null;
  /** The parameters, in any form that a skill's `metadata.params` may have. */
  readonly params: Json | undefined;
  readonly requires: readonly string[];
}

const NOTHING: ToolFacts = { description: null, bin: null, build: null, params: undefined, requires: [] };

/** The facts of a TOOL.md, or of any Markdown text with a frontmatter; one without says nothing (INS-20). */
export function readItemFacts(text: string): ToolFacts {
  const frontmatter = readFrontmatter(text);
  if ('message' in frontmatter) return NOTHING;
  const { fields } = frontmatter;
  return {
    description: readText(fields.description),
    bin: readText(fields.bin),
    build: readText(fields.build),
    params: fields.params as Json | undefined,
    requires: readRequires(fields.requires),
  };
}

function readText(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

// A list of references, or text with commas or spaces between; what programs a skill needs is another thing.
function readRequires(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.split(/[\s,]+/).filter((word) => word !== '');
  if (isRecord(value) || !Array.isArray(value)) return [];
  return value.filter((entry): entry is string => typeof entry === 'string');
}
