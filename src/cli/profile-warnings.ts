// Warns of selectors of the profile in use that select nothing: it fails closed, and its user should know why.

import { formatPlace } from '../core/problem.js';
import { quoteOutside, shortenPath } from '../core/text.js';
import type { NodeToolbox } from '../node.js';
import type { VerbCall } from './verb.js';
import { ruleProblems, rulesOf } from './verbs/doctor/rules.js';

export async function warnOfProfile({ flags, terminal }: VerbCall, toolbox: NodeToolbox): Promise<void> {
  const profile = toolbox.state.configuration().profiles.get(String(flags.get('profile')));
  // A server that was never listed may have the tools.
  if (profile === undefined || toolbox.state.upstreams.states().some(({ state }) => state !== 'listed')) return;
  const { workspace, machine, catalog, state } = toolbox;
  const survey = await catalog.survey();
  const { view } = state.snapshot().settings;
  for (const problem of ruleProblems({ rules: rulesOf(profile), survey, view })) {
    const place = formatPlace(shortenPath(problem.path, workspace.workdir, machine.world.home), problem);
    const label = terminal.paint('yellow', 'warning', 'err');
    terminal.err(`${label}  ${quoteOutside(`${place} ${problem.message}; ${problem.hint}`, 2000)}\n`);
  }
}
