// Converts an entry of the MCP registry (`server.json`) to an entry of `mcp.json`, with the version pinned.

import { ToolError } from '../../core/error.js';
import { isRecord, type Json, type JsonObject } from '../../core/json.js';
import { quoteOutside } from '../../core/text.js';
import { classifyHost } from '../../net/address.js';
import { findReferences } from '../entries/value.js';
import { findRunnerFault, GIVEN, type Runner } from './runner.js';

export interface RegistryServer {
  /** The last part of its name in the registry. */
  readonly name: string;
  readonly version: string;
  readonly entry: JsonObject;
  /** The archive to install in place of an entry: its address and its SHA-256. */
  readonly bundle?: { readonly url: string; readonly sha256: string };
  /** Variables that the entry refers to; a person sets them where the server is started. */
  readonly variables: readonly RegistryInput[];
  /** What the entry leaves out: it is optional, and was not given. */
  readonly optional: readonly RegistryInput[];
}

interface RegistryInput {
  readonly name: string;
  readonly description: string | null;
}

export interface RegistryOptions {
  /** Values that a person gave, by the name of the variable. */
  readonly values: Readonly<Record<string, string>>;
  readonly hasProgram: (name: string) => boolean;
  /** Whether the entry may name an address of this machine: it comes from a file or a registry here. */
  readonly local?: boolean;
}

type Build = (item: JsonObject, fill: Fill) => JsonObject | string;

/** Throws `invalid_definition` if nothing of the entry can be used; the message has every reason. */
export function toServerEntry(server: JsonObject, options: RegistryOptions): RegistryServer {
  const { name, version } = server;
  if (isEarlier(server))
    throw unusable('the entry has a format from before 2025-09-16, in which names are written with _');
  if (
    typeof name !== 'string' ||
    !/^[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*$/.test(name) ||
    typeof version !== 'string' ||
    !isExact(version)
  )
    throw unusable('the entry has no valid name and version');
  const named = { name: name.split('/').at(-1)!, version };
  const reasons: string[] = [];
  const attempts: [readonly JsonObject[], Build][] = [
    [listOf(server.packages), (item, fill) => fromPackage(item, fill, options)],
    [listOf(server.remotes), fromRemote],
  ];
  for (const [items, build] of attempts)
    for (const item of items) {
      const bundle = item.registryType === 'mcpb' ? readBundlePackage(item, options.local) : undefined;
      if (typeof bundle === 'object') return { ...named, entry: {}, bundle, variables: [], optional: [] };
      if (bundle !== undefined) {
        reasons.push(bundle);
        continue;
      }
      const fill = createFill(options.values);
      const entry = build(item, fill);
      const fault = typeof entry === 'string' ? entry : findFault(entry, fill, options);
      if (typeof entry === 'string' || fault !== undefined) reasons.push(fault!);
      else return { ...named, entry, variables: fill.variables(), optional: fill.optional() };
    }
  throw unusable(reasons.length === 0 ? 'the entry has no packages and no remotes' : reasons.join('; '));
}

// Checked as it will be read, because parts that are harmless alone can be a reference together (UPS-93).
function findFault(
  { args, env, url, headers }: JsonObject,
  fill: Fill,
  { local }: RegistryOptions,
): string | undefined {
  const texts = (value: Json | undefined, field: string): [string, string][] =>
    Object.values((value ?? {}) as Record<string, string>).map((text) => [text, field]);
  const all = [...texts(args, 'args'), ...texts(env, 'env'), ...texts(headers, 'headers')];
  if (typeof url === 'string') all.push([url, 'url']);
  for (const [text, field] of all) {
    const foreign = findReferences(text, field).find((reference) => !fill.isListed(reference));
    if (foreign !== undefined) return `"${quoteOutside(foreign, 80)}" would be read from this machine`;
  }
  if (local === true || typeof url !== 'string' || !isNear(url)) return undefined;
  return 'the remote is an address of this machine or its network';
}

// Of an address that a person completes, nothing is known.
function isNear(url: string): boolean {
  return URL.canParse(url) && classifyHost(new URL(url).hostname).class !== 'public';
}

// The first formats have a version in an object, and packages and remotes with other names.
function isEarlier({ version_detail, packages, remotes }: JsonObject): boolean {
  const names = ['registry_type', 'registry_name', 'transport_type', 'environment_variables', 'package_arguments'];
  const items = [...listOf(packages), ...listOf(remotes)];
  return version_detail !== undefined || items.some((item) => names.some((name) => item[name] !== undefined));
}

function unusable(why: string): ToolError {
  return new ToolError('invalid_definition', `the server cannot be added: ${quoteOutside(why, 500)}`, {
    hint: 'add it by hand: wield mcp add NAME -- COMMAND …, or --url URL',
  });
}

function listOf(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value.filter(isRecord) as JsonObject[]) : [];
}

// A range or a tag such as `latest` would change what is started.
function isExact(version: string): boolean {
  return /^[0-9][\w.+-]*$/.test(version) && version !== 'latest';
}

// Names of packages are arguments, so that none may be an option.
const IDENTIFIER = /^@?[A-Za-z0-9][\w./:@-]*$/;

// Returns why it cannot be used as text.
function readBundlePackage({ identifier, fileSha256 }: JsonObject, local = false): RegistryServer['bundle'] | string {
  const place = local ? /^https:|^http:\/\/127\.0\.0\.1:\d+\// : /^https:/;
  const isPlace =
    typeof identifier === 'string' && place.test(identifier) && /^[^?#]*\.(?:mcpb|dxt)$/i.test(identifier);
  if (!isPlace) return 'the mcpb package has no https:// address of an .mcpb file';
  if (!local && isNear(identifier)) return 'the mcpb package is at an address of this machine or its network';
  if (typeof fileSha256 !== 'string' || !/^[0-9a-f]{64}$/i.test(fileSha256))
    return 'the mcpb package has no fileSha256';
  return { url: identifier, sha256: fileSha256.toLowerCase() };
}

// Registries that a runner asks anyway; the names of images contain theirs.
const REGISTRIES: Readonly<Record<string, RegExp>> = {
  npm: /^https:\/\/registry\.npmjs\.org\/?$/,
  pypi: /^https:\/\/pypi\.org(?:\/simple)?\/?$/,
  oci: /^https:\/\/(?:(?:registry\.hub\.|index\.|registry-1\.)?docker\.(?:io|com))\/?$/,
};

function fromPackage(item: JsonObject, fill: Fill, { hasProgram, values }: RegistryOptions): JsonObject | string {
  const { registryType: type, identifier, version, transport, registryBaseUrl: registry } = item;
  if (isRecord(transport) && transport.type !== undefined && transport.type !== 'stdio')
    return `the ${type} package uses the transport "${transport.type}"`;
  if (typeof identifier !== 'string' || !IDENTIFIER.test(identifier))
    return `the ${type} package has no valid identifier`;
  const host = typeof registry === 'string' ? registry.replace(/^https:\/\//, '').replace(/\/*$/, '/') : '';
  const isUsual = typeof registry !== 'string' || REGISTRIES[String(type)]?.test(registry) !== false;
  if (!isUsual && !(type === 'oci' && identifier.startsWith(host)))
    return `the ${type} package is in the registry ${registry}, which is not used here`;
  const pinned = typeof version === 'string' && isExact(version) ? version : undefined;
  const env = fill.table(item.environmentVariables);
  const runtime = fill.words(item.runtimeArguments);
  const own = fill.words(item.packageArguments);
  const withEnv = (command: Runner, args: readonly string[]): JsonObject | string => {
    const marked = createFill(Object.fromEntries(Object.keys(values).map((name) => [name, GIVEN])));
    const fault = findRunnerFault(command, {
      runtime: marked.words(item.runtimeArguments),
      own,
      env: marked.table(item.environmentVariables),
    });
    if (fault !== undefined) return `the ${type} package ${fault}`;
    return { command, args: [...args, ...own], ...(Object.keys(env).length === 0 ? {} : { env }) };
  };
  if (type === 'oci') {
    const engine = (['docker', 'podman'] as const).find(hasProgram);
    if (engine === undefined) return 'the oci package needs docker or podman';
    const isPinned = /@sha256:[0-9a-f]{64}$|:[\w][\w.-]*$/.test(identifier) && !identifier.endsWith(':latest');
    const image = isPinned ? identifier : pinned === undefined ? undefined : `${identifier}:${pinned}`;
    if (image === undefined) return 'the oci package has no fixed version';
    // Only the names: values are taken from the environment of the process.
    return withEnv(engine, ['run', '--rm', '-i', ...Object.keys(env).flatMap((key) => ['-e', key]), ...runtime, image]);
  }
  if (type !== 'npm' && type !== 'pypi')
    return `packages of the type "${quoteOutside(String(type), 30)}" are not supported`;
  if (pinned === undefined) return `the ${type} package has no fixed version`;
  if (item.fileSha256 !== undefined) return `the ${type} package names a hash, which its runner cannot check`;
  return type === 'npm'
    ? withEnv('npx', ['-y', ...runtime, `${identifier}@${pinned}`])
    : withEnv('uvx', [...runtime, `${identifier}==${pinned}`]);
}

function fromRemote(item: JsonObject, fill: Fill): JsonObject | string {
  const { type, url, headers } = item;
  if (type !== 'streamable-http') return `the remote uses the transport "${quoteOutside(String(type), 30)}"`;
  if (typeof url !== 'string' || !url.startsWith('https://')) return 'the remote has no https:// URL';
  const table = fill.table(headers);
  const filled = fill.text(url, item.variables);
  return { type: 'http', url: filled, ...(Object.keys(table).length === 0 ? {} : { headers: table }) };
}

type Fill = ReturnType<typeof createFill>;

const describe = ({ description }: JsonObject): string | null => (typeof description === 'string' ? description : null);

// Fills in inputs of an entry: a fixed value, what a person gave, the default, or a reference to a variable.
function createFill(values: Readonly<Record<string, string>>) {
  const asked = new Map<string, string | null>();
  const left = new Map<string, string | null>();
  const given = new Set<string>();
  const literal = (text: string): string => text.replaceAll('${', () => '$${');
  const reference = (name: string, input: JsonObject): string => {
    const variable = name
      .replace(/\W/g, '_')
      .toUpperCase()
      .replace(/^(?=\d)/, '_');
    asked.set(variable, describe(input));
    return `\${${variable}}`;
  };
  // Undefined: optional, and not given. Secrets are never written: a person's value must be a reference itself.
  const input = (name: string, value: JsonObject): string | undefined => {
    const own = Object.hasOwn(values, name) ? values[name] : undefined;
    if (own !== undefined) {
      for (const reference of findReferences(own, 'env')) given.add(reference);
      return own;
    }
    if (typeof value.value === 'string') return text(value.value, value.variables);
    if (typeof value.default === 'string' && value.isSecret !== true) return literal(value.default);
    if (value.isRequired === true || value.isSecret === true) return reference(name, value);
    left.set(name, describe(value));
    return undefined;
  };
  // `{name}` in a text is a variable of the entry.
  const text = (template: string, variables: Json | undefined): string => {
    const known = isRecord(variables) ? variables : {};
    let [filled, from] = ['', 0];
    for (const { 0: whole, 1: name, index } of template.matchAll(/\{([\w.-]+)\}/g)) {
      const variable = Object.hasOwn(known, name!) ? known[name!] : undefined;
      if (!isRecord(variable)) continue;
      const value = input(name!, { isRequired: true, ...(variable as JsonObject) }) ?? '';
      filled += literal(template.slice(from, index)) + value;
      from = index + whole.length;
    }
    return filled + literal(template.slice(from));
  };
  return {
    text,
    /** Whether a reference is a variable that is listed, or was given by a person. */
    isListed: (reference: string): boolean => given.has(reference) || asked.has(reference.slice(2, -1)),
    variables: () => [...asked].map(([name, description]) => ({ name, description })),
    optional: () => [...left].map(([name, description]) => ({ name, description })),
    table: (value: Json | undefined): Record<string, string> =>
      Object.fromEntries(
        listOf(value).flatMap((item) => {
          const filled = typeof item.name === 'string' ? input(item.name, item) : undefined;
          return filled === undefined ? [] : [[item.name as string, filled]];
        }),
      ),
    words: (value: Json | undefined): string[] =>
      listOf(value).flatMap((item) => {
        const name = String(item.name ?? item.valueHint ?? 'argument');
        const filled = input(name.replace(/^-+/, ''), item);
        if (item.type === 'named') return filled === undefined ? [] : filled === '' ? [name] : [name, filled];
        return filled === undefined ? [] : [filled];
      }),
  };
}
