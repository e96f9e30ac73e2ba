// The methods of `toolbox.catalog.resources` and `toolbox.catalog.prompts`.

import type { Prompt, Resource } from '../core/resource.js';
import type { ToolResult } from '../core/result.js';
import type { DoorOptions, ToolboxCatalog } from '../core/toolbox.js';
import { followResource, listOffers } from './offers.js';
import type { CallParts } from './parts.js';

/** `call` is that of the toolbox: reads take the path of a call. */
export function createOfferMethods(
  parts: CallParts,
  call: (ref: string, input: unknown, options: DoorOptions) => Promise<ToolResult>,
): Pick<ToolboxCatalog, 'resources' | 'prompts'> {
  const { workspace } = parts;
  return {
    resources: {
      async list(options = {}) {
        const snapshot = workspace.snapshot();
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
    prompts: {
      async list(options = {}) {
        const snapshot = workspace.snapshot();
        return listOffers<Prompt>(parts, snapshot, options, {
          read: (source) => source.prompts(snapshot),
          idOf: ({ name }) => name,
        });
      },
      get: (name, input, options = {}) => call(name, input, { ...options, as: 'prompt', full: true }),
      complete: (ref, input, options = {}) =>
        call('prompt' in ref ? ref.prompt : ref.template, input, { ...options, as: 'completion', full: true }),
    },
  };
}
