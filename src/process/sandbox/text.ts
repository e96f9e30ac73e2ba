// Texts about sandboxes, for people.

import { ToolError } from '../../core/error.js';
import type { SandboxNetwork } from '../../core/hosts.js';
import type { SandboxPlan } from '../../core/sandbox.js';
import { quoteOutside } from '../../core/text.js';

const MAX_SHOWN = 20;

/** Describes a sandbox for people: `workdir by bubblewrap 0.8.0: reads …`. */
export function describeSandbox({ profile, backend, version, reason, ...rules }: SandboxPlan): string {
  if (backend === 'none') return `none: ${profile} is preferred, but ${reason}`;
  const by = version === null ? backend : `${backend} ${version}`;
  return `${profile} by ${by}: ${describeRules(rules)}`;
}

function describeRules({ read, write, network }: Pick<SandboxPlan, 'read' | 'write' | 'network'>): string {
  const reads = read === 'all' ? 'reads all but homes and secrets' : `reads the system and ${read.join(', ')}`;
  const writes =
    write === 'all'
      ? 'writes all but homes and secrets'
      : `writes ${write.length === 0 ? 'nothing' : write.join(', ')}`;
  return `${reads}; ${writes}; ${describeNetwork(network)}`;
}

function describeNetwork(network: SandboxNetwork): string {
  if (typeof network === 'boolean') return network ? 'has the network' : 'no network';
  return `reaches ${network.join(', ')} only`;
}

/** The warning for files that appeared during a sandboxed call and make other programs run code (EXE-75). */
export function describeLeft(paths: readonly string[]): string {
  const shown = paths.slice(0, MAX_SHOWN).map((path) => quoteOutside(path));
  const more = paths.length > MAX_SHOWN ? [`${paths.length - MAX_SHOWN} more`] : [];
  return `warning: created while the tool ran, and used by other programs outside its sandbox; review: ${[...shown, ...more].join(', ')}`;
}

/** The warning for connections that a sandbox refused, though the tool did not fail (EXE-85). */
export function describeRefused(messages: readonly string[]): string {
  return `warning: refused by the sandbox: ${messages.join('; ')}`;
}

/** Reported if a required profile cannot be enforced. */
export function noSandbox(
  { name, isPermanent }: { readonly name: string; readonly isPermanent?: boolean },
  profile: string,
  reason: string,
): ToolError {
  const orWithout = isPermanent ? '' : '; a person can run it without: wield call --sandbox none';
  return new ToolError('unavailable', `${name} requires the sandbox "${profile}": ${reason}`, {
    hint: `run: wield doctor  (it shows how to get one)${orWithout}`,
    data: { sandbox: { profile, backend: 'none' } },
  });
}
