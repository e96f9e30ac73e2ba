// Routes about the whole: the session, the catalog, health and settings.

import { formatPlace } from '../../core/problem.js';
import type { SettingsList } from '../api.js';
import { callerOf, readCatalog } from './catalog.js';
import type { PageParts } from './parts.js';
import type { Handlers } from './route.js';

type Names = 'GET /api/session' | 'GET /api/catalog/:as' | 'GET /api/health' | 'GET /api/settings';

export function createSessionRoutes(parts: PageParts): Handlers<Names> {
  const { toolbox, version, doctor, providers } = parts;
  return {
    'GET /api/session': async () => {
      const { workdir, trusted } = toolbox.workspace;
      return { version, workdir, trusted, providers: Object.keys(providers) };
    },
    'GET /api/catalog/:as': async ({ params }) => readCatalog(parts, callerOf(params.as!)),
    'GET /api/health': async () => ({ checks: await doctor() }),
    'GET /api/settings': async () => readSettings(parts),
  };
}

function readSettings({ toolbox }: PageParts): SettingsList {
  const { fault, problems, entries } = toolbox.state.configuration();
  return {
    settings: entries.map(({ key, shown, file, line }) => ({
      key,
      value: shown,
      place: file === null ? null : { file, line },
    })),
    fault: fault ?? null,
    problems: problems.map((problem) => ({
      severity: problem.severity,
      path: formatPlace(problem.path, problem),
      message: problem.message,
      hint: problem.hint,
    })),
  };
}
