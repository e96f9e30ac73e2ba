// The upstream format: the tools of servers, by what each listed when it was last asked; nothing is started to list them.

import { isToolError, type ToolError } from '../../core/error.js';
import type { Json } from '../../core/json.js';
import { matchSelectorTool, parseSelectors, type Selector } from '../../core/selector.js';
import { compareText, quoteOutside } from '../../core/text.js';
import type { Problem, Tool } from '../../core/tool.js';
import { type RemoteTool, type ServerEntry, toRemoteUri, type Upstream } from '../../core/upstream.js';
import type { World } from '../../core/world.js';
import type { FailedStart, ListedTool, Listing, ListingFiles } from './listing-file.js';
import { mayBeOf, toToolName } from './name.js';
import { absent, clash, failed, toProblems, untrusted } from './problems.js';
import { type Approved, type KeptTool, keepTool, type ToolPlace, toTool } from './to-tool.js';
import { waitFor } from './wait.js';

export { createListingFiles } from './listing-file.js';

export interface UpstreamFormatOptions {
  /** Which servers there are, and what is wrong with how they are configured. */
  readonly servers: () => { readonly servers: readonly ServerEntry[]; readonly problems: readonly Problem[] };
  /** Names the configuration of a server. */
  readonly configurationOf: (server: ServerEntry) => string;
  /** A server in a line, for people. */
  readonly describe: (server: ServerEntry) => string;
  /** Whether it may be started by whoever only looks. */
  readonly mayStart: (server: ServerEntry) => boolean;
  /** Starts a server; `keep` or `fail` is told what came of it. */
  readonly ask: (server: ServerEntry) => Promise<unknown>;
  readonly files: ListingFiles;
  /** Compares tools with what was approved, and remembers those that are new. */
  readonly review: (tools: readonly Tool[]) => readonly (Approved | undefined)[];
  /** How long a listing waits for servers that it does not know yet. */
  readonly patienceMs: number;
  /** Told which servers someone waits for, each time one of them has answered; none when the wait is over. */
  readonly onWait?: (servers: readonly string[]) => void;
  readonly onChange: () => void;
  readonly world: World;
}

export interface ServerState {
  readonly server: ServerEntry;
  readonly state: 'listed' | 'failed' | 'untrusted' | 'unknown' | 'off';
  readonly tools: readonly Tool[];
  /** Tools that are others than those that were approved. */
  readonly changed: readonly string[];
  readonly listedAt?: number;
  readonly failure?: FailedStart;
}

export interface UpstreamFormat extends Upstream {
  /** Takes what a server listed. */
  keep(server: ServerEntry, listing: RemoteListing): void;
  fail(server: ServerEntry, error: ToolError): void;
  /** The era of a server, where it is known and not too old. */
  verdictOf(server: ServerEntry): Json | undefined;
  /** How each server stands that is not switched off; nothing is started to tell. */
  states(): readonly ServerState[];
  /** A tool as it is now was approved: it is shown as it is. */
  accept(names: ReadonlySet<string>): void;
}

export interface RemoteListing {
  readonly tools: readonly RemoteTool[];
  readonly faults: readonly string[];
  readonly verdict: Json;
  readonly instructions?: string | undefined;
}

/** What a server gives, made of its listing once. */
interface Offered {
  readonly server: ServerEntry;
  readonly listing: Listing;
  readonly tools: readonly Tool[];
  /** The same, those that changed as they were approved. */
  readonly shown: readonly Tool[];
  readonly problems: readonly Problem[];
}

const VERDICT_MS = 24 * 3_600_000;
const FIRST_RETRY_MS = 5000;
const LONGEST_RETRY_MS = 10 * 60_000;

export function createUpstreamFormat(options: UpstreamFormatOptions): UpstreamFormat {
  const { files, configurationOf, world } = options;
  const offers = new Map<string, Offered>();
  const asks = new Map<string, { readonly since: number; readonly over: Promise<unknown> }>();

  const offerOf = (server: ServerEntry): Offered | FailedStart | undefined => {
    const configuration = configurationOf(server);
    const listing = files.load(configuration);
    if (listing === undefined || 'count' in listing) return listing;
    const known = offers.get(configuration);
    if (known?.listing === listing && known.server === server) return known;
    const place = { server, configuration, target: options.describe(server) };
    const offered = { server, listing, ...toTools(listing, place), problems: toProblems(listing, server) };
    offers.set(configuration, offered);
    return offered;
  };

  const listAs = (face: 'tools' | 'shown') => {
    const { servers, problems } = options.servers();
    const all: Problem[] = [...problems];
    const byName = new Map<string, Tool>();
    for (const server of servers) {
      const offered = offerOf(server);
      if (offered === undefined) {
        if (!options.mayStart(server)) all.push(untrusted(server));
      } else if ('count' in offered) all.push(failed(server, offered));
      else {
        all.push(...offered.problems);
        for (const tool of offered[face]) {
          const taken = byName.get(tool.name);
          if (taken === undefined) byName.set(tool.name, tool);
          else all.push(clash(server, tool, taken));
        }
      }
    }
    return { tools: [...byName.values()].sort((a, b) => compareText(a.name, b.name)), problems: all };
  };

  const isDue = (server: ServerEntry): boolean => {
    const listing = files.load(configurationOf(server));
    if (listing === undefined) return true;
    if (!('count' in listing)) return false;
    return world.now() >= listing.at + Math.min(FIRST_RETRY_MS * 2 ** (listing.count - 1), LONGEST_RETRY_MS);
  };

  const askOnce = (server: ServerEntry): { readonly since: number; readonly over: Promise<unknown> } => {
    const configuration = configurationOf(server);
    let asking = asks.get(configuration);
    if (asking === undefined) {
      const over = options
        .ask(server)
        .catch((error: unknown) => world.debug(`${server.name}: ${String(error)}`))
        .finally(() => asks.delete(configuration));
      asking = { since: world.monotonic(), over };
      asks.set(configuration, asking);
    }
    return asking;
  };

  return {
    list: () => listAs('shown'),
    find: (name) => {
      const { servers } = options.servers();
      if (!servers.some((server) => mayBeOf(name, server.name))) return undefined;
      return listAs('tools').tools.find((tool) => tool.name === name);
    },
    at: (uri) =>
      listAs('tools').tools.find(({ origin }) => origin.uri === uri || decode(origin.uri!) === uri),
    settle(ref) {
      const { servers } = options.servers();
      const wanted = servers.filter(
        (server) => isAbout(ref, server) && options.mayStart(server) && isDue(server),
      );
      if (wanted.length === 0) return undefined;
      // Whoever names a tool of it waits until it is there, and whoever looks around has less patience.
      const patience = ref === undefined ? options.patienceMs : Number.POSITIVE_INFINITY;
      const waits = wanted
        .map((server) => ({ name: server.name, ...askOnce(server) }))
        .map(({ name, since, over }) => ({ name, over, left: since + patience - world.monotonic() }))
        .filter(({ left }) => left > 0);
      if (waits.length === 0) return undefined;
      return waitFor(waits, options.onWait);
    },
    absence(name) {
      for (const server of options.servers().servers) {
        if (!mayBeOf(name, server.name)) continue;
        const offered = offerOf(server);
        if (offered === undefined) {
          if (options.mayStart(server)) continue;
          return absent('needs_trust', name, untrusted(server));
        }
        if ('count' in offered) return absent('unavailable', name, failed(server, offered));
      }
      return undefined;
    },
    keep(server, { tools, faults, verdict, instructions }) {
      const configuration = configurationOf(server);
      const said: Listing['faults'][number][] = faults.map((message) => ({ severity: 'error', message }));
      const kept = tools.flatMap((remote) => {
        const about = `the tool "${quoteOutside(remote.name, 80)}"`;
        try {
          return keepTool(remote, server, (doubt) =>
            said.push({ severity: 'warning', message: `${about} ${doubt}` }),
          );
        } catch (error) {
          if (!isToolError(error)) throw error;
          said.push({ severity: 'error', message: `${about} is not offered: ${error.message}` });
          return [];
        }
      });
      const place = { server, configuration, target: options.describe(server) };
      const approved = options.review(kept.map((tool) => toTool(() => tool, tool, place)));
      files.save(
        configuration,
        { at: world.now(), verdict, faults: said, ...(instructions === undefined ? {} : { instructions }) },
        kept.map((tool, at) => withApproved(tool, approved[at])),
      );
      options.onChange();
    },
    fail(server, error) {
      const configuration = configurationOf(server);
      const before = files.load(configuration);
      // What it listed once is still the best that is known of it.
      if (before !== undefined && !('count' in before)) return;
      files.saveFailure(configuration, {
        at: world.now(),
        count: (before?.count ?? 0) + 1,
        message: error.message,
        hint: error.hint ?? '',
      });
    },
    verdictOf(server) {
      const listing = files.load(configurationOf(server));
      if (listing === undefined || 'count' in listing) return undefined;
      return world.now() < listing.at + VERDICT_MS ? listing.verdict : undefined;
    },
    states: () =>
      options.servers().servers.map((server): ServerState => {
        const offered = offerOf(server);
        const none = { server, tools: [], changed: [] };
        if (offered === undefined)
          return { ...none, state: options.mayStart(server) ? 'unknown' : 'untrusted' };
        if ('count' in offered) return { ...none, state: 'failed', failure: offered };
        const { tools, listing } = offered;
        const offeredNow = new Set(tools.map((tool) => tool.name));
        const changed = listing.tools
          .filter(({ head }) => head.changed === true && offeredNow.has(head.name))
          .map(({ head }) => head.name);
        return { server, state: 'listed', tools, changed, listedAt: listing.at };
      }),
    accept(names) {
      for (const server of options.servers().servers) {
        const configuration = configurationOf(server);
        const listing = files.load(configuration);
        if (listing === undefined || 'count' in listing) continue;
        if (!listing.tools.some(({ head }) => head.changed === true && names.has(head.name))) continue;
        const { tools, ...header } = listing;
        files.save(
          configuration,
          header,
          tools.map((tool) => (names.has(tool.head.name) ? withoutApproved(tool) : tool.whole())),
        );
      }
      options.onChange();
    },
  };
}

function toTools({ tools }: Listing, place: ToolPlace): Pick<Offered, 'tools' | 'shown'> {
  const isChosen = createChoice(place.server);
  const chosen = tools.filter(({ head }) => isChosen(head.name, head.remoteName));
  const now = chosen.map((tool) => toTool(tool.whole, tool.head, place));
  const shown = chosen.map(({ head, whole }, at) => {
    if (head.changed === undefined) return now[at]!;
    const before = { ...whole(), ...whole().approved };
    return toTool(() => before, before, place);
  });
  return { tools: now, shown };
}

// A selector names a tool as its server does or as it is called here.
function createChoice({ allow, deny = [] }: ServerEntry): (name: string, remoteName: string) => boolean {
  const allowing = allow === undefined ? undefined : parseSelectors(allow);
  const denying = parseSelectors(deny);
  return (name, remoteName) => {
    const matches = (selector: Selector): boolean =>
      matchSelectorTool(selector, { name }) || matchSelectorTool(selector, { name: remoteName });
    return !denying.some(matches) && (allowing === undefined || allowing.some(matches));
  };
}

function withApproved(tool: KeptTool, approved: Approved | undefined): KeptTool {
  return approved === undefined ? tool : { ...tool, approved, changed: true };
}

function withoutApproved(tool: ListedTool): KeptTool {
  const { approved: _, changed: __, ...kept } = tool.whole();
  return kept;
}

function isAbout(ref: string | undefined, server: ServerEntry): boolean {
  if (ref === undefined) return true;
  return ref.startsWith('mcp:')
    ? ref.startsWith(toRemoteUri(server.name, '')) || ref.startsWith(`mcp://${server.name}/`)
    : mayBeOf(ref, server.name);
}

function decode(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}

export { toToolName };
