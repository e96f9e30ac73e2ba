// The http executor. What builds and sends requests is loaded by the first call: most workspaces have no documents.

import { ToolError } from '../../core/error.js';
import type { Executor } from '../../core/executor.js';
import type { HttpAction, HttpSettings } from '../../core/http.js';
import { canonicalJson, isRecord, type Json } from '../../core/json.js';
import type { HttpPlan } from '../../core/plan.js';
import { actionOf, type Tool } from '../../core/tool.js';
import { digestParts } from '../../files/digest.js';
import { sameIdentity, statIdentity } from '../../files/read.js';
import type { Fetches, HttpRunOptions } from './exchange.js';

export type { HttpRunOptions } from './exchange.js';

/** Creates the executor of HTTP operations. */
export function createHttpExecutor(options: HttpRunOptions): Executor<'http'> {
  const fetches: Fetches = new Map();
  return {
    kind: 'http',
    digest(tool) {
      const { file, identity, ...action } = actionOf(tool, 'http');
      if (!sameIdentity(statIdentity(file), identity)) {
        throw new ToolError('integrity', `${file} changed while it was being read`, { hint: 'call it again' });
      }
      return digestParts([
        'http',
        tool.name,
        tool.description,
        canonicalJson(tool.input.json),
        canonicalJson(action as never),
      ]);
    },
    async plan(tool, input, { timeoutMs, snapshot }) {
      const action = actionOf(tool, 'http');
      const settings = snapshot.settings.openapi.get(action.document);
      const server = settings?.server?.replace(/\/+$/, '') ?? action.server;
      if (server === '') throw noServer(tool, action);
      const { buildRequest } = await import('./request.js');
      const given = isRecord(input) ? (input as Record<string, Json>) : {};
      const { required } = tool.input.json;
      const request = buildRequest(action, server, given, Array.isArray(required) ? required.map(String) : []);
      const credentials = chooseCredentials(action, settings);
      const { method } = action;
      const { outputBytes } = snapshot.settings.limits;
      return { kind: 'http', tool, input, timeoutMs, method, ...request, server, credentials, outputBytes };
    },
    async run(plan, scope) {
      const { runRequest } = await import('./exchange.js');
      return runRequest(plan, scope, fetches, options);
    },
  };
}

function noServer({ name }: Tool, { document, file }: HttpAction): ToolError {
  return new ToolError('unavailable', `${name} has no server: ${file} names none by its whole address`, {
    hint: `set server = "https://…" in [openapi.${document}] of ~/.wield/config.toml`,
  });
}

// Credentials are sent only to a server that the user's configuration names (OAS-8).
function chooseCredentials({ security }: HttpAction, settings: HttpSettings | undefined): HttpPlan['credentials'] {
  const { auth, server } = settings ?? {};
  if (auth === undefined || server === undefined) return [];
  for (const schemes of security) {
    const found = schemes.map((scheme) => ({
      scheme,
      value: typeof auth === 'string' ? (schemes.length === 1 ? auth : undefined) : own(auth, scheme.name),
    }));
    if (found.length > 0 && found.every(({ value }) => value !== undefined)) return found as HttpPlan['credentials'];
  }
  return [];
}

function own(table: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
