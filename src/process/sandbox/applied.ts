// Which sandbox profiles apply to a tool or a server.

import type { SandboxRequest, SandboxRule, SandboxSettings } from '../../core/sandbox.js';
import { matchSelectorTool } from '../../core/selector-match.js';
import type { Tool } from '../../core/tool.js';

/** A profile that applies to a process, and who asks for it. */
export interface AppliedProfile extends SandboxRequest {
  readonly by: 'tool' | 'user' | 'project';
}

/**
 * Parses `PROFILE` or `PROFILE preferred`, as in `@sandbox workdir preferred`. Returns undefined for `none`. Other words are
 * part of the name, which is unknown then.
 */
export function parseSandboxRequest(text: string): SandboxRequest | undefined {
  const [, profile = ''] = /^\s*(.*?)(?:\s+(?:preferred|required))?\s*$/s.exec(text) ?? [];
  if (profile === 'none') return undefined;
  return { profile: profile === '' ? 'workdir' : profile, required: !/\spreferred\s*$/.test(text) };
}

/** Returns the profiles of a tool: what it asks for, or the user's table of its name, and those of matching rules. */
export function profilesOf(tool: Tool, settings: SandboxSettings): readonly AppliedProfile[] {
  const { name, origin, traits } = tool;
  const named = { name, tags: traits.tags, builtin: origin.builtin };
  return appliedProfiles(name, traits.sandbox, settings, ({ selectors }) =>
    selectors.some((selector) => matchSelectorTool(selector, named)),
  );
}

/** Returns the profiles of something with a name and a wish of its own. */
export function appliedProfiles(
  name: string,
  request: SandboxRequest | undefined,
  { profiles, rules }: SandboxSettings,
  matches: (rule: SandboxRule) => boolean,
): readonly AppliedProfile[] {
  const own = profiles.get(name);
  const applied: AppliedProfile[] = [];
  // The user may replace what the author asks for; a project can only add to it.
  if (own?.some(({ byProject }) => !byProject)) applied.push({ profile: name, required: true, by: 'user' });
  else {
    if (request !== undefined) applied.push({ ...request, by: 'tool' });
    if (own !== undefined) applied.push({ profile: name, required: true, by: 'project' });
  }
  for (const rule of rules) {
    if (rule.profile === 'none' || !matches(rule)) continue;
    applied.push({ profile: rule.profile, required: rule.required, by: rule.byProject ? 'project' : 'user' });
  }
  return applied;
}
