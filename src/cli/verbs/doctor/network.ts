// What `wield doctor` says about the network: the proxy, authorities and unused variables (NET-7), and receivers of telemetry.

import { isToolError } from '../../../core/error.js';
import { quoteOutside } from '../../../core/text.js';
import { loadAuthorities } from '../../../net/authorities.js';
import { deliveryReason } from '../../../net/fault.js';
import { describeUnused, findUnused } from '../../../net/route.js';
import type { NodeToolbox } from '../../../node.js';
import { sendOtlp } from '../../../telemetry/send.js';
import { readOtelSettings, toFetchOptions } from '../../../telemetry/settings.js';
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

const ABOUT = 'telemetry';

/** Whether the receivers of OTEL_* accept requests (OBS-16). */
export async function checkTelemetry({ machine: { world }, state }: NodeToolbox): Promise<HealthCheck[]> {
  const settings = readOtelSettings(world.env);
  if (settings === undefined) return [];
  const { createFetch } = state.network;
  const checks: HealthCheck[] = settings.faults.map((message) => ({ level: 'warning', about: ABOUT, message }));
  const empty = { traces: '{"resourceSpans":[]}', metrics: '{"resourceMetrics":[]}' };
  for (const signal of ['traces', 'metrics'] as const) {
    const endpoint = settings[signal];
    if (endpoint === undefined) continue;
    const where = `${signal} to ${new URL(endpoint.url).origin}`;
    try {
      const fetch = createFetch(toFetchOptions(endpoint));
      await sendOtlp(endpoint, Buffer.from(empty[signal]), { fetch, signal: AbortSignal.timeout(endpoint.timeoutMs) });
      checks.push({ level: 'ok', about: ABOUT, message: where });
    } catch (thrown) {
      const hint = isToolError(thrown) ? thrown.hint : undefined;
      const message = `${where}: not accepted: ${deliveryReason(thrown)}`;
      const help = hint ?? 'check OTEL_EXPORTER_OTLP_ENDPOINT, and that a receiver of OTLP over HTTP runs there';
      checks.push({ level: 'warning', about: ABOUT, message, hint: help });
    }
  }
  return checks;
}
