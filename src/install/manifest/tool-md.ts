// Parses TOOL.md: description, entrypoint, build and parameters of an installable tool.

import { isRecord, type Json } from '../../core/json.js';
import { readFrontmatter } from '../../formats/shared/frontmatter.js';
import { readFileRequirements } from '../../formats/shared/requirements.js';
import { toText } from './plugin-json.js';

export type ItemFacts = ReturnType<typeof parseItemFacts>;

/** Parses the frontmatter of a TOOL.md or of any other Markdown text (INS-20). */
export function parseItemFacts(text: string) {
  const frontmatter = readFrontmatter(text);
  const fields = 'message' in frontmatter ? {} : frontmatter.fields;
  return {
    description: toText(fields.description),
    bin: toText(fields.bin),
    build: toText(fields.build),
    install: toText(fields.install),
    uninstall: toText(fields.uninstall),
    /** The name that an agent has by its own account. */
    name: toText(fields.name),
    /** The parameters, in any form that a skill's `metadata.params` accepts. */
    params: fields.params as Json | undefined,
    requires: toRequires(fields.requires),
    /** What must be there before a call of the tool. */
    needs: readFileRequirements(fields, []),
  };
}

// An array of references, or a string separated by commas or spaces. A table lists required programs instead.
function toRequires(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.split(/[\s,]+/).filter((word) => word !== '');
  if (isRecord(value) || !Array.isArray(value)) return [];
  return value.filter((entry): entry is string => typeof entry === 'string');
}
