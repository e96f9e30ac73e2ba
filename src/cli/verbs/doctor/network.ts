// What `wield doctor` says about the network: the proxy, authorities, and variables that are not used (NET-7).

import { quoteOutside } from '../../../core/text.js';
import { loadAuthorities } from '../../../net/authorities.js';
import { describeUnused, findUnused } from '../../../net/unused-proxy.js';
import type { NodeToolbox } from '../../../node.js';
import type { HealthCheck } from '../../../ui/api.js';

/** Throws `unavailable` if the file of authorities cannot be used. */
export function checkNetwork({ machine: { world }, state }: NodeToolbox): HealthCheck[] {
  const { net } = state.configuration().settings;
  const { proxy, noProxy, ca } = net;
  const checks: HealthCheck[] = [];
  const unused = findUnused(net, world.env);
  if (unused !== undefined) checks.push({ level: 'warning', about: 'proxy', ...describeUnused(unused, world.env) });
  if (proxy !== undefined) {
    const except = noProxy.length === 0 ? '' : `, not for ${noProxy.join(', ')}`;
    checks.push({ level: 'ok', about: 'proxy', message: quoteOutside(`${proxy}${except}`, 300) });
  }
  if (ca !== undefined) {
    loadAuthorities(ca, world);
    checks.push({ level: 'ok', about: 'ca', message: quoteOutside(ca, 200) });
  }
  return checks;
}
