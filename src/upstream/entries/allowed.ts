// Whether the lists of the configuration allow a server: by its URL, its command line or its name in a registry (POL-41).

import { type Block, findServerBlock, type ServerIdentity } from '../../core/allowance.js';
import { orNothing, ToolError } from '../../core/error.js';
import type { Settings } from '../../core/settings.js';
import type { World } from '../../core/snapshot.js';
import { quoteOutside } from '../../core/text.js';
import { mayStart, type ServerEntry } from '../../core/upstream.js';
import { baseEnvironment } from '../../process/environment.js';
import { isSteering } from '../registry/runner.js';
import { expandServer, type ResolvedServer } from './expand.js';

type Lists = Pick<Settings, 'allowedServers'>;

export interface AllowOptions {
  readonly world: World;
  readonly workdir: string;
  /** Returns the name of a server that was added from a registry. */
  readonly registryOf: (entry: ServerEntry) => string | undefined;
}

/** Returns why a server may not be used. References of its entry are resolved if it can be started now. */
export function findBlock(
  entry: ServerEntry,
  { allowedServers }: Lists,
  options: AllowOptions,
  registry = options.registryOf(entry),
): Block | undefined {
  if (allowedServers.length === 0) return undefined;
  const { world, workdir } = options;
  // Nothing of an untrusted workspace is expanded (POL-20); it is checked again before it is started.
  const resolved = mayStart(entry, { trusted: false })
    ? orNothing(() => expandServer(entry, { ...world, workdir, trusted: false, secretOf: () => '' }).server)
    : undefined;
  return findServerBlock(toIdentity(entry, resolved ?? entry, registry), allowedServers);
}

/** Throws `denied` if a server may not be started as it is now, with its references resolved. */
export function assertAllowed(
  entry: ServerEntry,
  resolved: ResolvedServer,
  { allowedServers, env }: Lists & Pick<Settings, 'env'>,
  { world, registryOf }: Omit<AllowOptions, 'workdir'>,
): void {
  if (allowedServers.length === 0) return;
  const passed = Object.keys(baseEnvironment(world, env.pass));
  const own = Object.keys(baseEnvironment(world, []));
  const added = passed.filter((name) => !own.includes(name));
  const block = findServerBlock(toIdentity(entry, resolved, registryOf(entry), added), allowedServers);
  if (block !== undefined) throw blocked(entry, block);
}

/** Returns a check of the addresses that the requests of a server go to; undefined without a list. */
export function createAddressCheck(
  entry: ServerEntry,
  { allowedServers }: Lists,
  registryOf: AllowOptions['registryOf'],
): ((url: URL) => void) | undefined {
  if (allowedServers.length === 0) return undefined;
  return (url) => {
    const block = findServerBlock({ url: url.href, registry: registryOf(entry) }, allowedServers);
    if (block !== undefined)
      throw blocked(entry, {
        ...block,
        reason: `it leads to ${url.host}${url.pathname}, which mcp.allow does not have`,
      });
  };
}

/** The error for a server that a list does not allow. */
export function blocked({ name }: Pick<ServerEntry, 'name'>, { file, line, reason }: Block): ToolError {
  return new ToolError('denied', `the server ${quoteOutside(name, 60)} is blocked: ${quoteOutside(reason, 300)}`, {
    hint: `${file}:${line} has the list of allowed servers`,
    data: { server: name, file, line },
  });
}

function toIdentity(
  entry: ServerEntry,
  resolved: ServerEntry | ResolvedServer,
  registry: string | undefined,
  passed: readonly string[] = [],
): ServerIdentity {
  if (resolved.kind === 'http' || entry.kind === 'http')
    return { url: resolved.kind === 'http' ? resolved.url : '', registry };
  const variable = [...Object.keys(entry.env), ...passed].find(isSteering);
  return {
    command: {
      written: [entry.command, ...entry.args],
      resolved: [resolved.command, ...resolved.args],
      // Package runners look for settings and packages in the working directory.
      steeredBy: variable ?? (entry.cwd === undefined ? undefined : 'cwd'),
    },
    registry,
  };
}
