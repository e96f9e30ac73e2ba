// The composition root: wires formats, executors, policy and state into the toolbox of a workdir.

import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { type AuditRecorder, createRecorder } from './audit/recorder.js';
import { createBuiltins } from './builtin/create.js';
import { createOffer } from './builtin/offer.js';
import { createStores } from './builtin/stores.js';
import { createTaskTools } from './builtin/task.js';
import { createAuthorities } from './catalog/authority.js';
import { createCascadeResolver } from './catalog/cascade.js';
import { createCatalog } from './catalog/catalog.js';
import { createIndexFile } from './catalog/index-file.js';
import { createReferences } from './catalog/skill-references.js';
import { createWatch, watchedDirectories } from './catalog/watch.js';
import { type Configuration, createConfiguration } from './config/index.js';
import { CONTEXT_GROUP, CONTEXT_QUERY } from './context/tools/names.js';
import { ToolError } from './core/error.js';
import type { Middleware, MiddlewareFunction } from './core/middleware.js';
import type { PathEntry } from './core/search-path.js';
import type { Toolbox } from './core/toolbox.js';
import { readRemote } from './core/upstream.js';
import type { World } from './core/world.js';
import { createDelegateExecutor } from './executors/delegate/index.js';
import { createFunctionExecutor } from './executors/function/index.js';
import { createModuleExecutor } from './executors/module/index.js';
import { createProcessExecutor } from './executors/process/index.js';
import { createTextExecutor } from './executors/text/index.js';
import { digestParts } from './files/digest.js';
import type { ToolDefinition } from './formats/module/define.js';
import { createModuleFormat } from './formats/module/index.js';
import { createScriptFormat } from './formats/script/index.js';
import { createSkillFormat } from './formats/skill/index.js';
import { createToolsJsonFormat } from './formats/tools-json/index.js';
import { createPackageFormat, findAlteration } from './install/format.js';
import type { ApprovalStore } from './policy/approvals.js';
import { createPinStore, type PinStore } from './policy/pins.js';
import { createTrustStore, type TrustStore } from './policy/trust.js';
import { MARK } from './process/group.js';
import { createGuard } from './process/guard.js';
import { assembleToolbox, type Stores } from './runtime/create.js';
import { joinMiddleware } from './runtime/middleware/index.js';
import { toMiddleware } from './runtime/steps.js';
import { createTracer } from './runtime/telemetry.js';
import { createJsonSchema } from './schema/json.js';
import { toRegistry } from './toolbox.js';
import { createKnownSecrets } from './upstream/entries/known-secrets.js';
import { createUpstreams, type Upstreams } from './upstream/index.js';
import { createWorld, findEntry, findWieldHome } from './workspace/machine.js';
import { createPlaces } from './workspace/places.js';
import { findSecrets } from './workspace/secrets.js';
import { findWorkdir } from './workspace/workdir.js';

export type { Approval, ApprovalStore } from './policy/approvals.js';

export interface NodeToolboxOptions {
  /** The workdir itself; without it the nearest one from `cwd` upward is found. */
  readonly workdir?: string;
  readonly cwd?: string;
  /** Tools given by code; they win over every other of their name. */
  readonly tools?: readonly ToolDefinition[];
  /** The search path, over every configuration; `...` in it stands for what that says (RES-6). */
  readonly paths?: readonly PathEntry[];
  /** What runs are wrapped in, around what the configuration names; the first is outermost. */
  readonly middleware?: readonly (Middleware | MiddlewareFunction)[];
  /** Built-in tools that are listed, by name or group; all can be called by a person or code. */
  readonly offer?: readonly string[];
  /** Trusts the workspace for the life of this toolbox (POL-22). */
  readonly trust?: boolean;
  /** Ends running tools also where this process is killed without warning; for servers. */
  readonly guard?: boolean;
  /** How long a listing waits for servers whose tools are not known yet; a server that serves others waits less. */
  readonly upstreamPatienceMs?: number;
  /** Told which servers a listing waits for, as they answer; none when it goes on. */
  readonly onWait?: (servers: readonly string[]) => void;
  /** The environment to read; the process's own by default. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Wall clock in milliseconds, `Date.now` by default. */
  readonly now?: () => number;
  /** Where debug lines go; nowhere by default. */
  readonly debug?: (message: string) => void;
  /** Where a failure is told that no call shows, such as an audit log that cannot be written; nowhere by default. */
  readonly warn?: (message: string) => void;
}

/** A toolbox with the machine and the stored state that it uses. */
export interface NodeToolbox extends Toolbox {
  readonly machine: ToolboxMachine;
  readonly state: ToolboxState;
}

export interface ToolboxMachine {
  readonly world: World;
  readonly wieldHome: string;
  /** Whether this process was started by a tool, and so can neither approve nor trust anything (A44). */
  readonly insideCall: boolean;
}

/** What is stored in the wield home, and the configuration. */
export interface ToolboxState {
  readonly trust: TrustStore;
  readonly pins: PinStore;
  readonly stores: Stores;
  readonly upstreams: Upstreams;
  readonly audit: Pick<AuditRecorder, 'directory' | 'findFault'>;
  configuration(): Configuration;
  approvals(): Promise<ApprovalStore>;
  /** The index that a library ships in its directory of skills (RES-22). */
  readonly shippedIndex: {
    write(directory: string): Promise<{ file: string; entries: number; tools: number }>;
    remove(directory: string): Promise<{ file: string; removed: boolean }>;
  };
}

// Raised whenever a line of the index means something else.
const INDEX_VERSION = '12';
// As long as a server may take to start, unless its entry says more.
const LISTING_PATIENCE_MS = 30_000;
const MANAGED_CONFIG = '/etc/wield/config.toml';

/** The default toolbox of a workdir. */
export function createNodeToolbox(options: NodeToolboxOptions = {}): NodeToolbox {
  const serverSecrets = createKnownSecrets();
  const world = createWorld(options, serverSecrets.all);
  const wieldHome = findWieldHome(world);
  const uid = process.getuid?.();
  let workdir =
    options.workdir === undefined
      ? findWorkdir({ cwd: options.cwd ?? process.cwd(), home: world.home, uid })
      : resolve(options.workdir);
  const firstWorkdir = workdir;
  const setWorkdir = (directory: string): void => {
    if (!isAbsolute(directory)) {
      throw new ToolError('usage', `the workdir must be an absolute path, not ${directory}`, {
        hint: 'resolve it first',
      });
    }
    workdir = directory;
    watching.refresh();
  };
  const store = join(wieldHome, 'store', 'tool');
  const places = createPlaces({
    workdir: () => workdir,
    firstWorkdir,
    home: world.home,
    paths: options.paths,
    store,
    settings: () => settings(),
  });
  // Trust and the user's configuration change what is offered, so their directory is watched too.
  const watching = createWatch(() => [...places.list().flatMap(watchedDirectories), wieldHome], world);
  const configuration = createConfiguration({
    managed: MANAGED_CONFIG,
    wieldHome,
    workdir: () => workdir,
    now: world.now,
  });
  const settings = () => configuration().settings;
  const trustStore = createTrustStore(wieldHome, world.now);
  const pinStore = createPinStore(wieldHome, world.now);
  const trusted = (): boolean => options.trust === true || trustStore.isTrusted(workdir);
  const offer = createOffer({
    named: options.offer ?? [],
    settings,
    policy: () => configuration().policy,
    trusted,
    workdir: () => workdir,
    catalog: () => catalog,
    references: () => references,
    world,
  });
  const stores = createStores({
    wieldHome,
    workdir: firstWorkdir,
    settings,
    world,
    canQuery: () => offer.isNamed(CONTEXT_QUERY, CONTEXT_GROUP),
  });

  const skillFormat = createSkillFormat();
  const packages = {
    store,
    record: join(wieldHome, 'installed.json'),
    objects: join(wieldHome, 'objects'),
    now: world.now,
  };
  const packageFormat = createPackageFormat(packages);
  const beforeRun = options.guard ? { beforeRun: createGuard(world) } : {};
  const modules = { cacheDirectory: join(wieldHome, 'cache', 'modules'), world };
  const moduleExecutor = createModuleExecutor({
    ...modules,
    ...beforeRun,
    settings,
    entry: () => findEntry('host/main.js'),
  });
  const upstreams = createUpstreams({
    wieldHome,
    workdir: firstWorkdir,
    settings,
    trusted,
    pins: pinStore,
    secrets: serverSecrets,
    patienceMs: options.upstreamPatienceMs ?? LISTING_PATIENCE_MS,
    ...(options.onWait === undefined ? {} : { onWait: options.onWait }),
    onChange: () => watching.wake(),
    ...beforeRun,
    world,
  });
  const formats = [
    createToolsJsonFormat(),
    skillFormat,
    createScriptFormat(world),
    createModuleFormat({
      ...modules,
      mayLoad: ({ owner }) => owner !== 'workspace' || trusted(),
      describe: (source) => moduleExecutor.describe(source, workdir),
    }),
    packageFormat,
  ];

  const catalog = createCatalog({
    registered: toRegistry(options.tools ?? []),
    builtin: createBuiltins({
      workdir: { get: () => workdir, set: setWorkdir, roots: places.roots },
      queries: { world, entry: () => findEntry('query/main.cjs'), ...beforeRun },
      offer,
      settings,
      catalog: () => catalog,
      references: () => references,
      toolbox: () => toolbox,
    }),
    yielding: createTaskTools(),
    offered: offer.of,
    places: places.list,
    toAbsolute: places.toAbsolute,
    ownerOf: places.ownerOf,
    formats,
    upstream: upstreams.format,
    index: createIndexFile({
      directory: join(wieldHome, 'cache', 'index'),
      version: INDEX_VERSION,
      toSchema: (json, face) => createJsonSchema(json, { closed: face === 'input' }),
      world,
    }),
    world,
  });
  let approvalStore: ApprovalStore | undefined;
  const approvals = async (): Promise<ApprovalStore> => {
    const { createApprovalStore } = await import('./policy/approvals.js');
    approvalStore ??= createApprovalStore({ directory: join(wieldHome, 'approvals'), now: world.now });
    return approvalStore;
  };
  const recorder = createRecorder({
    wieldHome,
    look: () => {
      const now = settings();
      return { settings: now.audit, secrets: findSecrets(now, world, serverSecrets.all()) };
    },
    workdir: () => workdir,
    pid: process.pid,
    world,
    warn: options.warn ?? (() => {}),
  });
  const references = createReferences(catalog, offer.mayName('model'));
  const cascade = createCascadeResolver({
    authorities: createAuthorities({
      readSkill: (directory, owner) =>
        skillFormat.read(basename(directory), { directory: dirname(directory), owner, kind: 'skills' }),
      workdir: () => workdir,
      roots: places.tops,
      now: world.now,
    }),
    find: catalog.find,
    trusted,
  });
  const toolbox = assembleToolbox({
    catalog,
    approvals,
    cascade,
    references,
    executors: [
      createProcessExecutor({ world, settings, ...beforeRun }),
      moduleExecutor,
      createFunctionExecutor({ digest: digestParts, debug: world.debug }),
      createTextExecutor({ refer: references.refer }),
      createDelegateExecutor({ digest: digestParts }),
      upstreams.executor,
    ],
    trusted,
    instructions: offer.instructions,
    remoteTools: async (caller) =>
      (await toolbox.list({ caller })).flatMap((tool) => {
        const remote = readRemote(tool);
        return remote === undefined ? [] : [{ ...remote, description: tool.description }];
      }),
    stores,
    watch: watching.add,
    rules: (tool, call) => {
      const altered = tool.origin.owner === 'package' ? findAlteration(tool, packages) : undefined;
      // A person is told, and decides by calling; the pin would only ask them about the same bytes again.
      if (altered !== undefined) {
        if (call.caller?.kind === 'person')
          options.warn?.(`${tool.name}: ${altered.reason}; ${altered.hint}`);
        return { trusted: call.trust === true || trusted(), altered };
      }
      const pin = pinStore.check(tool);
      return {
        trusted: call.trust === true || trusted(),
        changes: typeof pin === 'string' ? undefined : pin.diff,
      };
    },
    policy: () => configuration().policy,
    settings,
    middleware: joinMiddleware((options.middleware ?? []).map(toMiddleware)),
    paths: () => places.list().map((place) => place.directory),
    steadily: configuration.during,
    problems: () => [...configuration().problems, ...places.problems()],
    secrets: () => findSecrets(settings(), world, serverSecrets.all()),
    recorder,
    onAccepted: (tool) =>
      tool.action.kind === 'remote' ? upstreams.approve([tool]) : pinStore.pin([tool], new Date(world.now())),
    tracer: createTracer(world.debug),
    workdir: { get: () => workdir, set: setWorkdir },
    world,
  });
  const insideCall = world.env[MARK] !== undefined;
  return {
    ...toolbox,
    machine: { world, wieldHome, insideCall },
    state: {
      trust: trustStore,
      pins: pinStore,
      stores,
      upstreams,
      audit: recorder,
      configuration,
      approvals,
      shippedIndex: {
        async write(directory) {
          const { writeShippedIndex } = await import('./catalog/shipped/write.js');
          return writeShippedIndex({ directory, formats, version: INDEX_VERSION, world });
        },
        async remove(directory) {
          const { removeShippedIndex } = await import('./catalog/shipped/write.js');
          return removeShippedIndex(directory);
        },
      },
    },
  };
}
