// The part of `wield doctor` about what tools and skills require.

import type { Problem } from '../../../core/problem.js';
import { describeRequirements, joinRequirements, type Requirements } from '../../../core/requirements.js';
import type { Tool } from '../../../core/tool.js';
import type { Survey } from '../../../core/toolbox.js';
import { fromFileUri } from '../../../files/within.js';
import type { NodeToolbox } from '../../../node.js';
import { findMissing, type Missing, missingOf } from '../../../process/requirements.js';
import type { HealthCheck } from '../../../ui/api.js';

interface Required {
  readonly name: string;
  readonly path: string;
  readonly requires: Requirements;
  readonly missing: readonly Missing[];
}

/** Lists what tools and skills require; what is missing is a warning (TOOL-27). */
export async function checkRequirements(
  toolbox: NodeToolbox,
  { tools, skills }: Survey,
): Promise<{ readonly checks: readonly HealthCheck[]; readonly problems: readonly Problem[] }> {
  const { world } = toolbox.machine;
  const { workdir, settings } = toolbox.state.snapshot();
  const all: Required[] = [];
  for (const { name, file, requires } of skills) {
    if (requires === undefined) continue;
    all.push({ name, path: file, requires, missing: await findMissing(requires, { world, workdir }) });
  }
  for (const tool of tools) {
    const requires = requirementsOf(tool);
    // Those of a skill are in the list already.
    if (requires === undefined || tool.traits.text === true || tool.traits.ofSkill === true) continue;
    const missing = await missingOf({ ...tool, traits: { ...tool.traits, requires } }, world, { workdir, settings });
    all.push({ name: tool.name, path: fromFileUri(tool.origin.uri) ?? '', requires, missing });
  }
  const met = all.filter(({ missing }) => missing.length === 0);
  const listed = met.map(({ name, requires }) => `${name} (${describeRequirements(requires)})`).join(', ');
  const message = `all there: ${listed}`;
  return {
    checks: met.length === 0 ? [] : [{ level: 'ok', about: 'requires', message }],
    problems: all
      .filter(({ missing }) => missing.length > 0)
      .map(({ name, path, missing }) => ({
        severity: 'warning',
        path,
        message: `${name} needs ${missing.map(({ what }) => what).join('; ')}`,
        hint: [...new Set(missing.map(({ hint }) => hint))].join('; '),
      })),
  };
}

// The variables of `@env` are requirements too.
function requirementsOf({ traits, action }: Tool): Requirements | undefined {
  const env = action.kind === 'process' && action.runs === 'script' ? (action.needs ?? []) : [];
  return joinRequirements([traits.requires, { programs: [], env }]);
}
