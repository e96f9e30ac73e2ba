// The methods of `toolbox.catalog`.

import { readSettled } from '../catalog/catalog.js';
import type { References } from '../catalog/skill-references.js';
import { guardListener } from '../core/async.js';
import { type Caller, CODE } from '../core/caller.js';
import type { Prompt, Resource, SkillOffer } from '../core/resource.js';
import type { ToolResult } from '../core/result.js';
import type { Snapshot } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import type { DoorOptions, Survey, ToolboxCatalog } from '../core/toolbox.js';
import { findTool } from './find.js';
import { surveyCatalog } from './list.js';
import { followResource, listOffers } from './offers.js';
import type { CallParts } from './parts.js';
import { toBase } from './scope.js';

export function createCatalogMethods(
  parts: CallParts,
  references: References | undefined,
  watch: (listener: () => void) => () => void,
): Omit<ToolboxCatalog, 'resources' | 'prompts' | 'skills'> {
  const { workspace, catalog, executors, cascade } = parts;
  const listeners = new Set<() => void>();
  // Changes of files are watched; changes by code are reported here.
  const notify = (): void => {
    for (const listener of listeners) listener();
  };
  const survey = async (caller: Caller, now = false): Promise<Survey> => {
    const snapshot = workspace.snapshot(caller);
    const read = () => surveyCatalog({ catalog, cascade, references }, snapshot, caller);
    return now ? read() : readSettled(catalog, snapshot, read);
  };
  const resolve = async (tool: Tool | string, snapshot: Snapshot): Promise<Tool> =>
    typeof tool === 'string' ? findTool(parts, tool, toBase(snapshot)) : tool;
  return {
    survey: ({ caller = CODE, now } = {}) => survey(caller, now),
    problems: async () => (await survey(CODE)).problems,
    watch(given) {
      const listener = guardListener(given, workspace.world.debug);
      listeners.add(listener);
      const stop = watch(listener);
      return () => {
        listeners.delete(listener);
        stop();
      };
    },
    register(tool) {
      catalog.register(tool, workspace.snapshot());
      notify();
    },
    unregister(name) {
      const isRemoved = catalog.unregister(name);
      if (isRemoved) notify();
      return isRemoved;
    },
    clearToolCache: (name) => catalog.forget(workspace.snapshot(), name),
    clearAllCaches() {
      executors.clearDigests();
      catalog.forget(workspace.snapshot());
    },
    async authority(tool) {
      const snapshot = workspace.snapshot();
      return cascade.authorityOf(await resolve(tool, snapshot), snapshot);
    },
    async cascade(tool) {
      const snapshot = workspace.snapshot();
      return cascade.of(await resolve(tool, snapshot), snapshot);
    },
  };
}

/** `call` is that of the toolbox: reads take the path of a call. */
export function createOfferMethods(
  parts: CallParts,
  call: (ref: string, input: unknown, options: DoorOptions) => Promise<ToolResult>,
): Pick<ToolboxCatalog, 'resources' | 'prompts' | 'skills'> {
  const { workspace } = parts;
  return {
    resources: {
      async list(options = {}) {
        const snapshot = workspace.snapshot(options.caller);
        return listOffers<Resource>(parts, snapshot, options, {
          read: (source) => source.resources(snapshot),
          idOf: ({ uri }) => uri,
        });
      },
      // Contents are for programs, which need them whole.
      read: (uri, options = {}) => call(uri, {}, { ...options, as: 'resource', full: true }),
      async subscribe(uri, onUpdate, options = {}) {
        const result = await call(uri, {}, { ...options, as: 'subscription', full: true });
        if (!result.ok) return { result, end: () => {} };
        return { result, end: await followResource(parts, uri, options.caller, onUpdate) };
      },
    },
    skills: {
      async list(options = {}) {
        const snapshot = workspace.snapshot(options.caller);
        return listOffers<SkillOffer>(parts, snapshot, options, {
          read: async (source) => source.skills?.(snapshot) ?? [],
          idOf: ({ uri }) => uri,
        });
      },
    },
    prompts: {
      async list(options = {}) {
        const snapshot = workspace.snapshot(options.caller);
        return listOffers<Prompt>(parts, snapshot, options, {
          read: async (source) => source.prompts(snapshot),
          idOf: ({ name }) => name,
        });
      },
      get: (name, input, options = {}) => call(name, input, { ...options, as: 'prompt', full: true }),
      complete: (ref, input, options = {}) =>
        call('prompt' in ref ? ref.prompt : ref.template, input, { ...options, as: 'completion', full: true }),
    },
  };
}
