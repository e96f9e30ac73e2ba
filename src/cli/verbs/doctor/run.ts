// Runs all checks of `wield doctor`.

import type { NodeToolbox } from '../../../node.js';
import { commandProblems } from '../../commands.js';
import { type Diagnosis, diagnose } from './diagnose.js';
import { offerProblems } from './offers.js';
import { ruleProblems } from './rules.js';

export async function runDoctor(toolbox: NodeToolbox, reserved: ReadonlySet<string>): Promise<Diagnosis> {
  const survey = await toolbox.catalog.survey();
  const { policy } = toolbox.state.snapshot();
  return diagnose(toolbox, [
    ...commandProblems(survey, reserved),
    ...ruleProblems(policy, survey),
    ...offerProblems(toolbox.state.configuration(), survey),
  ]);
}
