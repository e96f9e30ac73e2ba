// Runs all checks of `wield doctor`.

import type { NodeToolbox } from '../../../node.js';
import { commandProblems } from '../../commands.js';
import { type Diagnosis, diagnose } from './diagnose.js';
import { checkRequirements } from './requirements.js';
import { allRules, offerProblems, ruleProblems, sandboxProblems } from './rules.js';

export async function runDoctor(toolbox: NodeToolbox, reserved: ReadonlySet<string>): Promise<Diagnosis> {
  const survey = await toolbox.catalog.survey();
  const { policy, settings } = toolbox.state.snapshot();
  const configuration = toolbox.state.configuration();
  const rules = allRules(policy, configuration.profiles.values());
  const requirements = await checkRequirements(toolbox, survey);
  const more = [
    ...commandProblems(survey, reserved),
    ...ruleProblems({ rules, survey, view: settings.view, policy }),
    ...offerProblems(configuration, survey),
    ...sandboxProblems(toolbox, configuration, survey),
    ...requirements.problems,
  ];
  return diagnose(toolbox, more, requirements.checks);
}
