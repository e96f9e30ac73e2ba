// Routes of tools that differ from what was approved: their diff, and accepting it.

import { ToolError } from '../../core/error.js';
import type { Change, PageParts } from './parts.js';
import type { Handlers } from './route.js';

type Names = 'GET /api/changes' | 'POST /api/changes';

export function createChangeRoutes(parts: PageParts): Handlers<Names> {
  const find = async (): Promise<readonly Change[]> => [...remoteChanges(parts), ...(await parts.installedChanges())];
  return {
    'GET /api/changes': async () => ({ changes: (await find()).map(({ accept: _, ...change }) => change) }),
    'POST /api/changes': async ({ body }) => {
      const found = (await find()).find(({ tool }) => tool === body.tool);
      // UI-17: only what was shown can be accepted.
      if (found === undefined || found.digest !== body.digest) throw changedAgain();
      await found.accept();
      return { accepted: body.tool };
    },
  };
}

function remoteChanges({ toolbox }: PageParts): Change[] {
  const { upstreams } = toolbox.state;
  return upstreams.states().flatMap((state) =>
    upstreams.changes(state).map(({ tool, diff }) => ({
      tool: tool.name,
      from: state.server.name,
      diff,
      digest: tool.origin.digest!,
      accept: () => upstreams.approve([tool]),
    })),
  );
}

/** Thrown if the definition is no longer the one that was shown. */
export function changedAgain(): ToolError {
  return new ToolError('conflict', 'nothing was accepted: the definition is not the one that was shown', {
    hint: 'reload the page and look at it again',
  });
}
