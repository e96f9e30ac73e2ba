// Routes about the whole: the session, the catalog, health, settings, and tools that differ from what was approved.

import { formatPosition } from '../../core/problem.js';
import type { SettingsList } from '../api.js';
import { callerOf, readCatalog } from './catalog.js';
import { type Change, LOOK_AGAIN, outdated, type PageParts } from './parts.js';
import type { Handlers } from './route.js';

export function createSessionRoutes(parts: PageParts) {
  const { toolbox, version, doctor, providers } = parts;
  const findChanges = async (): Promise<readonly Change[]> => [
    ...remoteChanges(parts),
    ...(await parts.installedChanges()),
  ];
  return {
    'GET /api/session': async () => {
      const { workdir, trusted } = toolbox.workspace;
      return { version, workdir, trusted, providers: Object.keys(providers) };
    },
    'GET /api/catalog/:as': async ({ params }) => readCatalog(parts, callerOf(params.as!)),
    'GET /api/health': async () => ({ checks: await doctor() }),
    'GET /api/settings': async () => readSettings(parts),
    'GET /api/changes': async () => ({ changes: (await findChanges()).map(({ accept: _, ...change }) => change) }),
    'POST /api/changes': async ({ body }) => {
      const found = (await findChanges()).find(({ tool }) => tool === body.tool);
      // UI-17: only what was shown can be accepted.
      if (found === undefined || found.digest !== body.digest) throw changedAgain();
      await found.accept();
      return { accepted: body.tool };
    },
  } satisfies Partial<Handlers>;
}

function readSettings({ toolbox }: PageParts): SettingsList {
  const { fault, problems, entries } = toolbox.state.configuration();
  return {
    settings: entries().map(({ key, shown, file, line }) => ({
      key,
      value: shown,
      position: file === null ? null : { file, line },
    })),
    fault: fault ?? null,
    problems: problems.map((problem) => ({
      severity: problem.severity,
      path: formatPosition(problem.path, problem),
      message: problem.message,
      hint: problem.hint,
    })),
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
export function changedAgain(): Error {
  return outdated('conflict', 'nothing was accepted: the definition is not the one that was shown', LOOK_AGAIN);
}
