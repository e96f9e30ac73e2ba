// The stores of a workspace, in the wield home: large results and documents.

import { join } from 'node:path';
import { createDocumentFiles } from '../context/store/documents.js';
import type { World } from '../core/snapshot.js';
import type { ResultStore, Stores } from '../core/store.js';
import { digestParts } from '../files/digest.js';
import { realPath } from '../files/within.js';
import { QUERY_RESULT } from './query-result.js';
import { READ_RESULT } from './read-result.js';

export interface CreateStoresOptions {
  readonly wieldHome: string;
  readonly workdir: string;
  readonly results: ResultStore;
  readonly world: World;
}

export function createStores({ wieldHome, workdir, results, world }: CreateStoresOptions): Stores {
  return {
    session: `toolbox ${world.now()} ${Math.random()}`,
    results,
    documentsName: `documents of ${realPath(workdir) ?? workdir}`,
    documents: createDocumentFiles({
      directory: () => join(findProjectState(wieldHome, workdir), 'context'),
      now: world.now,
    }),
    nextCalls: ({ id, kind }) => [
      `${READ_RESULT} {"id":"${id}","page":${kind === 'json' ? 2 : 1}}`,
      ...(kind === 'binary' ? [] : [`${READ_RESULT} {"id":"${id}","lines":"1-100"}`]),
      ...(kind === 'json' ? [`${QUERY_RESULT} {"id":"${id}","query":"$count($)"}`] : []),
      ...(kind === 'text' ? [`${QUERY_RESULT} {"id":"${id}","search":"words to find"}`] : []),
    ],
  };
}

// Outside the workspace, which could contain a hostile store; by real path, so that a link to it gets the same one.
export function findProjectState(wieldHome: string, workdir: string): string {
  return join(wieldHome, 'projects', digestParts(['project', realPath(workdir) ?? workdir]).slice(0, 32));
}
