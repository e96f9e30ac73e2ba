// What `wield doctor` says about telemetry: whether the receivers of OTEL_* accept requests (OBS-16).

import { toToolError } from '../../../core/error.js';
import type { NodeToolbox } from '../../../node.js';
import { sendOtlp } from '../../../telemetry/send.js';
import { readOtelSettings, toFetchOptions } from '../../../telemetry/settings.js';
import type { HealthCheck } from '../../../ui/api.js';

const ABOUT = 'telemetry';

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
      const { message, hint } = toToolError(thrown);
      const help = hint ?? 'check OTEL_EXPORTER_OTLP_ENDPOINT, and that a receiver of OTLP over HTTP runs there';
      checks.push({ level: 'warning', about: ABOUT, message: `${where}: not accepted: ${message}`, hint: help });
    }
  }
  return checks;
}
