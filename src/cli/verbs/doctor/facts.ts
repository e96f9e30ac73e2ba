// What `wield doctor` says about the network (NET-7), receivers of telemetry, secrets (never their values, SEC-6) and what tools require.

import { isToolError } from '../../../core/error.js';
import type { Problem } from '../../../core/problem.js';
import { describeRequirements, joinRequirements, type Requirements } from '../../../core/requirements.js';
import { quoteOutside } from '../../../core/text.js';
import type { Tool } from '../../../core/tool.js';
import type { Survey } from '../../../core/toolbox.js';
import { fromFileUri } from '../../../files/within.js';
import { loadAuthorities } from '../../../net/authorities.js';
import { deliveryReason } from '../../../net/fault.js';
import { describeUnused, findUnused } from '../../../net/route.js';
import type { NodeToolbox } from '../../../node.js';
import { findProgram, pathOutside } from '../../../process/environment.js';
import { keychainOf } from '../../../process/keychain.js';
import { findMissing, type Missing, missingOf } from '../../../process/requirements.js';
import type { SecretReference } from '../../../process/secret-reference.js';
import { sendOtlp } from '../../../telemetry/send.js';
import { readOtelSettings, toFetchOptions } from '../../../telemetry/settings.js';
import type { HealthCheck } from '../../../ui/api.js';
import { mapTexts } from '../../../upstream/entries/fields.js';
import { findSecretReferences, parseServerValue } from '../../../upstream/entries/value.js';

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

interface Use {
  /** What it is the value of. */
  readonly name: string;
  readonly reference: SecretReference;
}

/** Returns a check per secret. */
export function checkSecrets({ machine: { world }, workspace, state }: NodeToolbox): HealthCheck[] {
  const path = pathOutside(workspace.workdir, world);
  return findUses(state).map(({ name, reference }) => {
    const [program = ''] =
      reference.kind === 'command' ? reference.argv : keychainOf(world.platform).read(reference.name);
    const where = reference.kind === 'command' ? reference.argv.join(' ') : reference.written;
    const message = `${quoteOutside(name, 80)} from ${quoteOutside(where, 120)}`;
    if (findProgram(program, path) !== undefined) return { level: 'ok', about: 'secret', message };
    const hint = reference.kind === 'command' ? 'install it, or change the command' : 'install libsecret-tools';
    return { level: 'warning', about: 'secret', message: `${message}: ${quoteOutside(program, 60)} not found`, hint };
  });
}

function findUses({ configuration, snapshot }: NodeToolbox['state']): Use[] {
  const { env, tools, net } = configuration().settings;
  const uses: Use[] = [];
  const add = (name: string, text: string, field: string): string => {
    uses.push(...findSecretReferences(parseServerValue(text, field)).map((reference) => ({ name, reference })));
    return text;
  };
  if (net.proxyAuth !== undefined) add('net.proxy-auth', net.proxyAuth, 'env');
  for (const [name, text] of Object.entries(env.from)) add(name, text, 'env');
  for (const [tool, { from = {} }] of tools)
    for (const [name, text] of Object.entries(from)) add(`${name} of ${tool}`, text, 'env');
  for (const server of snapshot().servers.servers)
    mapTexts(server, (text, { field, name = field }) => add(`${name} of the server ${server.name}`, text, field));
  return uses;
}

interface Required {
  readonly name: string;
  readonly path: string;
  readonly requires: Requirements;
  readonly missing: readonly Missing[];
}

/** Lists what tools and skills require; what is missing is a warning (TOOL-27). */
export async function checkRequirements(toolbox: NodeToolbox, { tools, skills }: Survey) {
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
  const checks: HealthCheck[] =
    met.length === 0 ? [] : [{ level: 'ok', about: 'requires', message: `all there: ${listed}` }];
  const unmet = all.filter(({ missing }) => missing.length > 0);
  const problems = unmet.map(({ name, path, missing }): Problem => {
    const hint = [...new Set(missing.map((one) => one.hint))].join('; ');
    return { severity: 'warning', path, message: `${name} needs ${missing.map(({ what }) => what).join('; ')}`, hint };
  });
  return { checks, problems };
}

// The variables of `@env` are requirements too.
function requirementsOf({ traits, action }: Tool): Requirements | undefined {
  const env = action.kind === 'process' && action.runs === 'script' ? (action.needs ?? []) : [];
  return joinRequirements([traits.requires, { programs: [], env }]);
}
