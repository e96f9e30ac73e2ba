// The values that the configuration refers to: variables of processes and modules (SEC-5), and the password of the proxy.

import { dirname } from 'node:path';
import type { WithVariables } from '../core/executor.js';
import { addSecrets, type KnownSecrets } from '../core/redact.js';
import { referencesOf } from '../core/settings.js';
import type { World } from '../core/snapshot.js';
import { expandVariables } from './entries/expand.js';

/** Returns what adds the values to a plan before it runs; `file` contains the references. */
export function createWithVariables(file: string, world: World, known: KnownSecrets): WithVariables {
  return async (plan, { snapshot: { settings, workdir } }) => {
    const { tool, environment } = plan;
    // A sandbox may have left some out.
    const wanted = Object.entries(referencesOf(tool, settings)).filter(([name, text]) => environment[name] === text);
    if (wanted.length === 0) return plan;
    const own = { name: tool.name, file };
    const { values, secrets } = await expandVariables(Object.fromEntries(wanted), own, { world, workdir });
    addSecrets(known, secrets);
    return { ...plan, environment: { ...environment, ...values } };
  };
}

/** Returns what reads `user:password` of the proxy (NET-3); `file` contains the reference. */
export function createReadProxyAuth(file: string, world: World, known: KnownSecrets) {
  return async (reference: string): Promise<string> => {
    const own = { name: '[net] proxy-auth', file };
    const { values } = await expandVariables({ PROXY_AUTH: reference }, own, { world, workdir: dirname(file) });
    const pair = values.PROXY_AUTH!;
    const password = pair.slice(pair.indexOf(':') + 1);
    addSecrets(known, [pair, password, encodeURIComponent(password), Buffer.from(pair).toString('base64')]);
    return pair;
  };
}
