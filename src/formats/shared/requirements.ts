// Reads what the frontmatter of a skill or tool requires, in our form and in those of other agents.

import { orNothing } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import type { Finding } from '../../core/problem.js';
import { joinRequirements, openRequirements, type Requirements } from '../../core/requirements.js';
import { formatFault, readShape } from '../../core/shape.js';

/**
 * Reads `requires` of the frontmatter and of its `metadata`, and `metadata.openclaw.requires` and others of its form (SKL-16). A list
 * or a text says something else: items of a source, or a sentence.
 */
export function readFileRequirements(
  { requires, metadata: given }: Readonly<Record<string, unknown>>,
  warnings: Finding[],
): Requirements | undefined {
  const metadata = toRecord(given);
  const own = [requires, metadata.requires].filter(isRecord).map((value) => {
    const { value: read, faults } = readShape(openRequirements, value, ['requires']);
    warnings.push(...faults.map((fault) => ({ message: formatFault(fault), hint: fault.hint ?? '' })));
    return read;
  });
  const foreign = Object.values(metadata)
    .filter(isRecord)
    .flatMap(({ requires: one }) => (isRecord(one) ? [readShape(openRequirements, one).value] : []));
  return joinRequirements([...own, ...foreign]);
}

// Some write `metadata` as JSON in quotes.
function toRecord(metadata: unknown): Readonly<Record<string, unknown>> {
  const given = typeof metadata === 'string' ? orNothing(() => JSON.parse(metadata) as unknown) : metadata;
  return isRecord(given) ? given : {};
}
