// The composition root: constructs the toolbox of a workdir from formats, executors, policy and state.

import { join, resolve } from 'node:path';
import { createRecorder } from './audit/recorder.js';
import { backgroundDirectory } from './background/files.js';
import { createBackground } from './background/processes.js';
import { createBuiltins } from './builtin/create.js';
import { createInstructions } from './builtin/instructions.js';
import { createOwnOffers } from './builtin/own-resources.js';
import { showInMode } from './builtin/search-mode.js';
import { createStores, findProjectState } from './builtin/stores.js';
import { createTaskTools } from './builtin/task.js';
import { checkOffer, isOffered, mayName, offeredTo } from './builtin/visibility.js';
import { type Catalog, createCatalog } from './catalog/catalog.js';
import { createIndexFile, type ToSchema } from './catalog/index-file.js';
import { createModuleOffers } from './catalog/module-offers.js';
import { createReferences } from './catalog/skill-references.js';
import { createWatch, watchedDirectories } from './catalog/watch.js';
import { createSuspendedPrograms } from './code/host/suspended.js';
import { createConfiguration } from './config/index.js';
import { MANAGED } from './config/managed.js';
import type { Approvals } from './core/approval.js';
import { ToolError } from './core/error.js';
import type { WithVariables } from './core/executor.js';
import type { Format } from './core/format.js';
import type { KnownSecrets } from './core/redact.js';
import { assertConfiguration } from './core/rule.js';
import type { CascadeResolver } from './core/skill.js';
import type { Workspace } from './core/snapshot.js';
import { createDelegateExecutor } from './executors/delegate/index.js';
import { createFunctionExecutor } from './executors/function/index.js';
import { createHttpExecutor } from './executors/http/index.js';
import { createModuleExecutor, type ModuleExecutor } from './executors/module/index.js';
import { createProcessExecutor } from './executors/process/index.js';
import { withRequirements } from './executors/shared/requirements.js';
import { createTextExecutor } from './executors/text/index.js';
import { createCascadeResolver } from './extras/cascade.js';
import { createMiddleware } from './extras/middleware/index.js';
import { createShippedIndex, type ShippedIndex } from './extras/shipped-index.js';
import { digestParts } from './files/digest.js';
import { toAbsolute } from './files/home.js';
import { createComposerFormat } from './formats/composer/index.js';
import { createDenoFormat } from './formats/deno/index.js';
import { createJustfileFormat } from './formats/justfile/index.js';
import { createMakefileFormat } from './formats/makefile/index.js';
import { createMiseDirectoryFormat, createMiseFormat } from './formats/mise/index.js';
import { type ToolDefinition, toRegistry } from './formats/module/define.js';
import { createModuleFormat } from './formats/module/index.js';
import { toOfferSource } from './formats/module/offers.js';
import { createOpenApiFormat } from './formats/openapi/index.js';
import { createPackageJsonFormat } from './formats/package-json/index.js';
import { createPyprojectFormat } from './formats/pyproject/index.js';
import { createForeignScriptFormat } from './formats/script/foreign.js';
import { createScriptFormat } from './formats/script/index.js';
import { createFlatSkillFormat, createSkillFormat } from './formats/skill/index.js';
import { createTaskfileFormat } from './formats/taskfile/index.js';
import { createToolsJsonFormat } from './formats/tools-json/index.js';
import { createPackageFormats, findAlteration, LISTED_KINDS } from './install/format.js';
import { createNetwork, type Network } from './net/network.js';
import type { KnownNodeToolbox, NodeToolboxOptions, ToolboxState } from './node-toolbox.js';
import { createConsents } from './policy/pins.js';
import { createTrustStore } from './policy/trust.js';
import { findEntry } from './process/entry.js';
import { isGranted } from './process/environment.js';
import { describeMissing, findMissing } from './process/requirements.js';
import { assembleToolbox } from './runtime/create.js';
import { createExecutors } from './runtime/execute.js';
import { createSearch, listTools } from './runtime/list.js';
import { createObservers } from './runtime/observers.js';
import type { CallParts } from './runtime/parts.js';
import { createJsonSchema } from './schema/json.js';
import { createShippingRecorder } from './state/audit-shipper.js';
import { createFileState, type State } from './state/files.js';
import { describeState } from './state/metrics.js';
import { createNotifier } from './state/notify.js';
import { createTelemetry, type MeteredTelemetry } from './telemetry/index.js';
import { createServerList } from './upstream/entries/servers.js';
import { createUpstreams, type Upstreams } from './upstream/index.js';
import { createReadProxyAuth, createWithVariables } from './upstream/variables.js';
import { createMachine, readVersion, type ToolboxMachine } from './workspace/machine.js';
import { createBoundaries, createPlaces, findOwner, findTops } from './workspace/places.js';
import { findWorkdir } from './workspace/workdir.js';
import { createWorkspace } from './workspace/workspace.js';

export type { AuditSink } from './audit/sinks.js';
export type { SuspendedProgram } from './code/host/suspended.js';
export type { DefinitionSchema, ToolDefinition } from './formats/module/define.js';
export type { KnownNodeToolbox, NodeToolbox, NodeToolboxOptions, ToolboxState } from './node-toolbox.js';
export type { Approval, ApprovalAdmin, LocalApprovals as ApprovalStore } from './policy/approvals.js';

// Incremented when the format of the index changes.
const INDEX_VERSION = '25';

/** Creates the toolbox of a workdir. */
export function createNodeToolbox<const Definition extends ToolDefinition = never>(
  options: NodeToolboxOptions<Definition> = {},
): KnownNodeToolbox<Definition> {
  const secrets: KnownSecrets = { all: [] };
  const machine = createMachine(options, secrets);
  const { world } = machine;
  const files = openFiles(options, machine);
  const withVariables = createWithVariables(join(machine.wieldHome, 'config.toml'), world, secrets);
  const { formats, modules } = createFormats(options, machine, {
    ...{ ...files, withVariables },
    findRoute: (url) => network.findRoute(url),
  });
  const watching = createWatch(
    // The trust store and the user's configuration are in the wield home, so it is watched too.
    () => [...workspace.snapshot().places.flatMap(watchedDirectories), machine.wieldHome, ...files.managed],
    world,
  );
  const workspace = createWorkspace({
    workdir: files.workdir,
    configuration: files.configuration,
    isTrusted: files.isTrusted,
    places: createPlaces({
      firstWorkdir: files.workdir,
      home: world.home,
      paths: options.paths,
      stores: LISTED_KINDS.map((kind) => join(files.packages.store, kind)),
      hasRootFiles: formats.some(({ places }) => places.includes('root')),
      isRead: (kind, name) => formats.some((format) => format.places.includes(kind) && format.claims(name)),
      boundaryOf: files.boundaryOf,
    }),
    servers: files.servers.read,
    serverSecrets: secrets,
    onMove: () => watching.refresh(),
    world,
  });
  const network = createNetwork({
    settings() {
      const { settings, policy } = workspace.snapshot();
      assertConfiguration(policy);
      return settings.net;
    },
    readAuth: createReadProxyAuth(join(machine.wieldHome, 'config.toml'), world, secrets),
    world,
  });
  const upstreams = createUpstreams({
    ...files,
    wieldHome: machine.wieldHome,
    secrets,
    patienceMs: options.upstreamPatienceMs,
    onWait: options.onWait,
    loginPages: options.loginPages,
    subjectToken: options.subjectToken,
    createFetch: network.createFetch,
    network,
    onChange: () => watching.wake(),
    beforeRun: files.beforeRun,
    broker: options.broker,
    world,
  });
  const tools = createCatalogs({ options, machine, files, workspace, formats, upstreams, network });
  const notifier = createNotifier({
    approvals: files.state.approvals,
    settings: () => workspace.snapshot().settings.approvals.notify,
    file: join(machine.wieldHome, 'config.toml'),
    world,
    secrets,
    createFetch: network.createFetch,
    warn: options.warn ?? (() => {}),
  });
  const { approvals } = notifier;
  const { parts, telemetry } = createParts({
    options,
    machine,
    files,
    workspace,
    tools,
    modules,
    upstreams,
    network,
    secrets,
    approvals,
    withVariables,
  });
  const toolbox = assembleToolbox({
    parts,
    search: tools.search,
    references: tools.references,
    instructions: async (snapshot, asked) => {
      const own = createInstructions({ ...tools, remoteSkills: upstreams.format.skills }, snapshot, {
        ...asked,
        home: world.home,
      });
      const remote = upstreams.instructions(snapshot);
      return [own, remote].filter((text) => text !== '').join('\n\n');
    },
    show: (shown, { settings }, { offer = [], decideMode }) =>
      showInMode(
        shown,
        settings.view,
        ({ name, traits }) => isOffered(name, traits.group, [...files.offered, ...offer], settings),
        decideMode,
      ),
    watch: watching.add,
  });
  const state = toState({ ...tools, files, workspace, parts, formats, upstreams, network, telemetry });
  telemetry.addMetrics(() => describeState(state));
  return {
    ...toolbox,
    async close() {
      await toolbox.close();
      await notifier.close();
      machine.helper.close();
    },
    machine,
    state,
  };
}

type Files = ReturnType<typeof openFiles>;

// State in files, apart from the tools themselves.
function openFiles(options: NodeToolboxOptions, { world, wieldHome, helper }: ToolboxMachine) {
  const { home, now } = world;
  const workdir =
    options.workdir === undefined
      ? findWorkdir({ cwd: options.cwd ?? process.cwd(), home, uid: process.getuid?.() })
      : resolve(options.workdir);
  const trust = createTrustStore(wieldHome, now);
  const isTrusted = (directory: string): boolean => options.trust === true || trust.isTrusted(directory);
  const boundaryOf = createBoundaries(home, isTrusted);
  const { shared } = options;
  const managed = MANAGED.directory;
  const local = createFileState({
    wieldHome,
    results: () => join(findProjectState(wieldHome, workdir), 'results'),
    world,
    onListing: shared?.onListing,
  });
  const state: State = shared?.share(local) ?? local;
  const stores = createStores({ wieldHome, workdir, results: state.results, world });
  return {
    workdir,
    offered: options.offer ?? [],
    managed: [managed, join(managed, 'config.d')],
    configuration: createConfiguration({
      managed,
      wieldHome,
      now,
      boundaryOf,
      profile: options.profile,
      mode: options.mode,
      isGranted,
    }),
    trust,
    isTrusted,
    boundaryOf,
    state,
    approvals: local.approvals,
    pins: state.pins,
    programs: createSuspendedPrograms(join(wieldHome, 'programs'), local.approvals.key, world),
    listingFiles: state.listings,
    servers: createServerList({ workdir, wieldHome, world, boundary: boundaryOf(workdir) }),
    stores,
    background: createBackground({
      directory: backgroundDirectory(wieldHome),
      session: stores.session,
      world,
      guard: helper.ready,
    }),
    recorder: createRecorder({
      wieldHome,
      pid: process.pid,
      world,
      warn: options.warn ?? (() => {}),
      log: state.audit,
      sinks: [...state.auditSinks, ...(options.auditSinks ?? [])],
    }),
    packages: {
      store: join(wieldHome, 'store'),
      record: join(wieldHome, 'installed.json'),
      objects: join(wieldHome, 'objects'),
      now,
    },
    beforeRun: options.guard ? helper.start : undefined,
  };
}

function createFormats(
  { formats: further = [] }: NodeToolboxOptions,
  { world, wieldHome }: ToolboxMachine,
  {
    packages,
    beforeRun,
    withVariables,
    findRoute,
  }: Files & Pick<Network, 'findRoute'> & { readonly withVariables: WithVariables },
) {
  const cacheDirectory = join(wieldHome, 'cache', 'modules');
  const entry = (): string => findEntry('host/main.js');
  const modules = createModuleExecutor({
    ...{ cacheDirectory, world, wieldHome, beforeRun, withVariables, findRoute, entry },
  });
  const formats: readonly Format[] = [
    createToolsJsonFormat(),
    createSkillFormat(join(packages.store, 'skill')),
    createFlatSkillFormat(),
    createScriptFormat(world),
    createModuleFormat({ cacheDirectory, world, describe: modules.describe }),
    createOpenApiFormat({ cacheDirectory: join(wieldHome, 'cache', 'openapi'), world }),
    createForeignScriptFormat(),
    ...createPackageFormats(packages),
    createPackageJsonFormat(),
    createMakefileFormat(),
    createJustfileFormat(),
    createTaskfileFormat(),
    createDenoFormat(),
    createComposerFormat(),
    createPyprojectFormat(),
    createMiseFormat(),
    createMiseDirectoryFormat(),
    ...further,
  ];
  const repeated = formats.find(({ name }, at) => formats.findIndex((other) => other.name === name) < at);
  if (repeated !== undefined)
    throw new ToolError('conflict', `there are two formats named "${repeated.name}"`, { hint: 'rename one of them' });
  return { formats, modules };
}

interface CatalogParts {
  readonly options: NodeToolboxOptions;
  readonly machine: ToolboxMachine;
  readonly files: Files;
  readonly workspace: Workspace;
  readonly formats: readonly Format[];
  readonly upstreams: Upstreams;
  readonly network: Network;
}

function createCatalogs({ options, machine, files, workspace, formats, upstreams, network }: CatalogParts) {
  const { world, wieldHome } = machine;
  const toSchema: ToSchema = (json, side) => createJsonSchema(json, { closed: side === 'input' });
  const shippedIndex = createShippedIndex({ version: INDEX_VERSION, toSchema, world });
  const remoteSkills = upstreams.format.skills;
  const builtin = createBuiltins({
    workspace,
    queries: { world, beforeRun: files.beforeRun },
    parts: () => ({ catalog, references, search, cascade, remoteSkills }),
    createFetch: network.createFetch,
    suspended: files.programs,
    stores: files.stores,
    background: files.background,
    labels: files.state.labels,
    missing: async ({ requires }, { workdir }) =>
      requires && describeMissing(await findMissing(requires, { world, workdir })),
  });
  const yielding = createTaskTools();
  checkOffer(files.offered, [...builtin, ...yielding]);
  const catalog: Catalog = createCatalog({
    registered: toRegistry(options.tools ?? []),
    builtin,
    yielding,
    offered: (tool, listed, snapshot) => offeredTo(tool, listed, snapshot, { offered: files.offered, remoteSkills }),
    toAbsolute: (path, { workdir }) => toAbsolute(path, workdir, world.home),
    ownerOf: (directory, { places }) => findOwner(directory, places),
    formats,
    upstream: upstreams.format,
    offers: () => offers,
    index: createIndexFile({
      directory: join(wieldHome, 'cache', 'index'),
      version: INDEX_VERSION,
      toSchema: (json, side) => createJsonSchema(json, { closed: side === 'input', inspected: true }),
      loadShipped: shippedIndex.load,
      world,
    }),
    world,
  });
  const references = createReferences(catalog, (tool, snapshot, skills) =>
    mayName(cascade, tool, 'model', snapshot, skills),
  );
  const cascade: CascadeResolver = createCascadeResolver({
    skills: createSkillFormat(),
    flatSkills: createFlatSkillFormat(),
    roots: findTops(world.home),
    now: world.now,
    find: (ref, snapshot) => catalog.find(ref, { snapshot }),
  });
  const own = createOwnOffers({
    catalog,
    cascade,
    stores: files.stores,
    tools: (snapshot) => listTools({ catalog, cascade }, snapshot, { caller: { kind: 'model', door: 'mcp' } }),
    offered: files.offered,
    world,
  });
  const modules = createModuleOffers(catalog.moduleOffers, toSchema);
  const offers = [toOfferSource(options.resources, options.prompts), own, modules, upstreams.offers];
  const search = createSearch(catalog, cascade);
  return { catalog, references, search, cascade, shippedIndex };
}

interface PartsOptions extends Omit<CatalogParts, 'formats'> {
  readonly tools: ReturnType<typeof createCatalogs>;
  readonly modules: ModuleExecutor;
  readonly secrets: KnownSecrets;
  /** Those that calls use. */
  readonly approvals: Approvals;
  readonly withVariables: WithVariables;
}

function createParts(parts: PartsOptions) {
  const { options, machine, files, workspace, tools, modules, upstreams, network, secrets, approvals, withVariables } =
    parts;
  const { world } = machine;
  const { catalog, references, cascade } = tools;
  const { beforeRun, recorder, state, stores, pins, packages, background } = files;
  const shipped = createShippingRecorder(recorder, {
    directory: recorder.directory,
    settings: () => workspace.snapshot().settings.audit,
    file: join(machine.wieldHome, 'config.toml'),
    world,
    secrets,
    createFetch: network.createFetch,
    warn: options.warn ?? (() => {}),
  });
  const telemetry = createTelemetry({
    world,
    exports: options.telemetry,
    counts: options.metrics,
    version: readVersion,
    secrets,
    createFetch: network.createFetch,
    warn: options.warn ?? (() => {}),
  });
  const callParts: CallParts = {
    workspace,
    catalog,
    executors: createExecutors(
      withRequirements(
        [
          createProcessExecutor({
            ...{ world, wieldHome: machine.wieldHome, beforeRun, background, withVariables },
            findRoute: network.findRoute,
          }),
          modules,
          createFunctionExecutor({ digest: digestParts, debug: world.debug }),
          createTextExecutor({ refer: references.refer }),
          createDelegateExecutor({ digest: digestParts }),
          upstreams.executor,
          createHttpExecutor({ expand: upstreams.expandCredentials, secrets, createFetch: network.createFetch }),
        ],
        { world, dispatcher: options.dispatcher },
      ),
      options.dispatcher,
    ),
    cascade,
    consents: createConsents({
      approvals,
      isInsideCall: () => machine.insideCall,
      pins,
      findAlteration: (tool) => findAlteration(tool, packages),
      acceptRemote: (tool, snapshot) => upstreams.approve([tool], snapshot),
      warn: options.warn ?? (() => {}),
      world,
    }),
    limiter: state.limiter,
    observers: createObservers({ recorder: shipped, telemetry, debug: world.debug }),
    middleware: createMiddleware(options.middleware ?? []),
    labels: state.labels,
    stores,
  };
  return { parts: callParts, telemetry };
}

interface StateParts {
  readonly shippedIndex: ShippedIndex;
  readonly files: Files;
  readonly workspace: Workspace;
  readonly parts: CallParts;
  readonly formats: readonly Format[];
  readonly upstreams: Upstreams;
  readonly network: Network;
  readonly telemetry: MeteredTelemetry;
}

function toState(from: StateParts): ToolboxState {
  const { shippedIndex, files, workspace, parts, formats, upstreams, network, telemetry } = from;
  const { snapshot } = workspace;
  const { recorder } = files;
  return {
    ...files,
    network,
    telemetry,
    load() {
      const here = parts.limiter.load();
      const elsewhere = parts.executors.dispatcher?.load?.();
      if (elsewhere === undefined) return here;
      return { running: here.running + elsewhere.running, waiting: here.waiting + elsewhere.waiting };
    },
    snapshot,
    configuration: () => files.configuration(snapshot().workdir),
    sharedApprovals: files.state.approvals,
    labels: files.state.labels,
    audit: {
      directory: recorder.directory,
      findFault: () => recorder.findFault(snapshot().settings.audit),
    },
    upstreams: upstreams.administer(snapshot),
    formats: [...new Set(formats.map(({ name, shownAs = name }) => shownAs)), 'upstream', 'builtin'],
    taskFormats: formats.filter(({ places }) => places.includes('tasks')),
    shippedIndex: {
      write: (directory) => shippedIndex.write(directory, formats),
      fileOf: shippedIndex.fileOf,
      remove: shippedIndex.remove,
    },
  };
}
