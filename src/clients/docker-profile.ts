// Reads an exported profile of Docker's MCP gateway (`docker mcp profile export`): its servers as entries of `mcpServers`.

import { isRecord, type JsonObject, mapValues } from '../core/json.js';

/** Whether a document is such a profile. */
export function isDockerProfile(document: unknown): document is { readonly servers: readonly unknown[] } {
  return isRecord(document) && Array.isArray(document.servers) && document.servers.every(isProfileServer);
}

function isProfileServer(server: unknown): boolean {
  return isRecord(server) && ['image', 'registry', 'remote'].includes(String(server.type));
}

/** Returns the servers by name; what cannot be an entry says why in `unusable`. */
export function readDockerProfile({ servers }: { readonly servers: readonly unknown[] }): [string, JsonObject][] {
  return servers.map((server) => toEntry(server as Record<string, unknown>));
}

function toEntry({
  type,
  image,
  source,
  endpoint,
  config,
  tools,
  snapshot,
}: Record<string, unknown>): [string, JsonObject] {
  const described = isRecord(snapshot) && isRecord(snapshot.server) ? snapshot.server : {};
  const name = nameOf(described.name ?? image ?? source ?? endpoint);
  const allowed: JsonObject = Array.isArray(tools) ? { tools: textsOf(tools) } : {};
  const unusable = (why: string): [string, JsonObject] => [name, { unusable: why }];
  if (type === 'registry')
    return unusable(`it is an entry of a registry: ${String(source)}; add it with wield mcp add`);
  const values = isRecord(config) ? config : {};
  const fill = (text: unknown): string =>
    String(text).replace(/\{\{\s*([\w.-]+)\s*\}\}/g, (whole, path: string) => {
      const value = lookUp(values, path.split('.'));
      return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
        ? String(value)
        : whole;
    });
  const secrets = listOf(described.secrets).map(({ env }) => String(env));
  const remote = isRecord(described.remote) ? described.remote : {};
  const url = remote.url ?? endpoint ?? described.sseEndpoint;
  if (type === 'remote' || (typeof url === 'string' && described.type === 'remote')) {
    const headers = isRecord(remote.headers) ? remote.headers : {};
    const isSse = remote.transport_type === 'sse' || remote.url === undefined;
    return [name, { type: isSse ? 'sse' : 'http', url: fill(url), headers: mapValues(headers, fill), ...allowed }];
  }
  if (described.type === 'poci') return unusable('its tools are containers of their own, not a server');
  const env = Object.fromEntries(listOf(described.env).map((one) => [String(one.name), fill(one.value)]));
  const references = Object.fromEntries(secrets.map((one) => [one, `\${${one}}`]));
  const args = [
    ...['run', '-i', '--rm', '--init'],
    ...(described.disableNetwork === true ? ['--network', 'none'] : []),
    ...(typeof described.user === 'string' && described.user !== '' ? ['-u', fill(described.user)] : []),
    ...textsOf(described.volumes).flatMap((volume) => ['-v', fill(volume)]),
    ...[...Object.keys(env), ...secrets].flatMap((one) => ['-e', one]),
    String(image ?? described.image),
    ...textsOf(described.command).map(fill),
  ];
  const left = [...args, ...Object.values(env)].find((text) => text.includes('{{'));
  if (left !== undefined) return unusable(`${left} has a value that the profile does not have`);
  return [name, { command: 'docker', args, env: { ...env, ...references }, ...allowed }];
}

// `mcp/github:latest@sha256:…` is github.
function nameOf(given: unknown): string {
  const last = String(given ?? 'server')
    .split('@')[0]!
    .split('/')
    .at(-1)!;
  return last.replace(/:.*$/, '').replace(/[^\w.-]+/g, '-') || 'server';
}

// A value by its path, which may begin with the name of the server.
function lookUp(values: Record<string, unknown>, path: readonly string[]): unknown {
  const find = (keys: readonly string[]): unknown =>
    keys.reduce((value: unknown, key) => (isRecord(value) ? value[key] : undefined), values);
  return find(path) ?? find(path.slice(1)) ?? values[path.join('.')];
}

function listOf(value: unknown): readonly Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
