// The stores of a workdir: large results and documents, kept with the user's state, and the calls that read them.

import { join } from 'node:path';
import { createLazyDocuments } from '../context/store/lazy.js';
import { createResultFiles } from '../context/store/results.js';
import { CONTEXT_QUERY } from '../context/tools/names.js';
import type { Settings } from '../core/settings.js';
import type { World } from '../core/world.js';
import { digestParts } from '../files/digest.js';
import { realPath } from '../files/within.js';
import type { Stores } from '../runtime/create.js';
import { READ_RESULT } from './read-result.js';

export interface CreateStoresOptions {
  readonly wieldHome: string;
  readonly workdir: string;
  readonly settings: () => Settings;
  readonly world: World;
  /** Whether whoever reads of a result is offered queries. */
  readonly canQuery: () => boolean;
}

export function createStores(options: CreateStoresOptions): Stores {
  const { wieldHome, workdir, settings, world, canQuery } = options;
  return {
    results: createResultFiles({
      directory: () => join(findProjectState(wieldHome, workdir), 'results'),
      limits: () => settings().results,
      now: world.now,
    }),
    documents: createLazyDocuments(async () => {
      const { createDocumentFiles } = await import('../context/store/documents.js');
      return createDocumentFiles({
        directory: join(findProjectState(wieldHome, workdir), 'context'),
        now: world.now,
      });
    }),
    ways: ({ id, kind }) => [
      `${READ_RESULT} {"id":"${id}","page":${kind === 'json' ? 2 : 1}}`,
      ...(kind === 'binary' ? [] : [`${READ_RESULT} {"id":"${id}","lines":"1-100"}`]),
      ...(kind === 'json' && canQuery()
        ? [`${CONTEXT_QUERY} {"path":"${id}","expression":"$count($)"}`]
        : []),
    ],
  };
}

// CTX: outside the checkout, which could ship a hostile one; by real path, so that a link to it is the same.
function findProjectState(wieldHome: string, workdir: string): string {
  return join(wieldHome, 'projects', digestParts(['project', realPath(workdir) ?? workdir]).slice(0, 32));
}
