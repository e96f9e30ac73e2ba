// The flags --profile and --mode.

import { formatPosition } from '../core/problem.js';
import { nearest, quoteOutside } from '../core/text.js';
import { MODES } from '../core/view.js';
import type { NodeToolbox, NodeToolboxOptions } from '../node.js';
import { printWarning, shortPath } from './print.js';
import { option, usageError, type VerbCall } from './verb.js';

export const PROFILE = option('NAME', 'Only what this profile of the configuration allows', {
  names: 'profile',
});
export const MODE = option(
  'MODE',
  'all, search (tools that find and call the others), code (programs call them) or auto',
  { choices: MODES },
);

/** Opens the toolbox with the profile and mode of the flags. Throws `usage` if there is no such profile. */
export function openProfile(call: VerbCall, options: Partial<NodeToolboxOptions> = {}): NodeToolbox {
  const profile = call.flags.get('profile');
  const mode = MODES.find((one) => one === call.flags.get('mode'));
  const toolbox = call.toolbox({
    ...options,
    ...(profile === undefined ? {} : { profile: String(profile) }),
    ...(mode === undefined ? {} : { mode }),
  });
  if (profile !== undefined) assertProfile(toolbox, String(profile));
  return toolbox;
}

/** Warns of selectors of the profile in use that select nothing: it fails closed, and its user should know why. */
export async function warnOfProfile({ flags, terminal }: VerbCall, toolbox: NodeToolbox): Promise<void> {
  const profile = toolbox.state.configuration().profiles.get(String(flags.get('profile')));
  // A server that was never listed may have the tools.
  if (profile === undefined || toolbox.state.upstreams.states().some(({ state }) => state !== 'listed')) return;
  const { ruleProblems, rulesOf } = await import('./verbs/doctor/rules.js');
  const survey = await toolbox.catalog.survey();
  const { policy, settings } = toolbox.state.snapshot();
  for (const problem of ruleProblems(rulesOf(profile), survey, settings.view, policy)) {
    const place = formatPosition(shortPath(problem.path, toolbox), problem);
    printWarning(terminal, quoteOutside(`${place} ${problem.message}; ${problem.hint}`, 2000));
  }
}

function assertProfile(toolbox: NodeToolbox, name: string): void {
  const { profiles } = toolbox.state.configuration();
  if (profiles.has(name)) return;
  const names = [...profiles.keys()];
  const [close = names[0]] = nearest(name, names);
  throw usageError(
    `unknown profile "${quoteOutside(name, 60)}"`,
    close === undefined
      ? `define it in ~/.wield/config.toml: [profiles.${quoteOutside(name, 60)}] tools = ["…"]`
      : `did you mean ${close}? wield config shows all profiles`,
  );
}
