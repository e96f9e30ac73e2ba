// The page in a real browser, with a workspace that has something to show in every panel.

import { join } from 'node:path';
import type { Page as Tab } from 'playwright-core';
import { HAS_BROWSER, openBrowser } from './browser.js';
import { wield } from './cli.js';
import { type LoginServer, startLoginServer } from './login-server.js';
import { openPage, type Page } from './page.js';
import { onEnd, share } from './share.js';
import { createUpstreamWorkspace, remoteTool, type UpstreamWorkspace } from './upstream-workspace.js';

// Reorders text, hides it, and looks like markup.
export const HOSTILE = 'a\u202Eb\u200Bc<img src=x onerror="document.title=1"><script>document.title=2</script>**d**';
export const REVEALED =
  'a<U+202E>b<U+200B>c<img src=x onerror="document.title=1"><script>document.title=2</script>**d**';

const SCRIPTS: Readonly<Record<string, string>> = {
  hello:
    '#!/bin/sh\n# @description Say hello.\n# @param *name string Whom\n# @readonly\necho "Hello, $WIELD_PARAM_NAME!"\n',
  deploy:
    '#!/bin/sh\n# @description Publish.\n# @param *branch string Branch\n# @destructive\necho "published $WIELD_PARAM_BRANCH"\n',
  drop: '#!/bin/sh\n# @description Drop a table.\necho dropped\n',
  orders: '#!/bin/sh\n# @description Export orders.\nseq 1 5000\n',
  wait: '#!/bin/sh\n# @description Wait.\nwhile [ ! -e "$WIELD_WORKDIR/go" ]; do sleep 0.05; done\necho went\n',
  hostile: `#!/bin/sh\n# @description ${HOSTILE}\n# @param *x string ${HOSTILE}\nprintf '%s' '${HOSTILE}'\nprintf '%s' '${HOSTILE}' >&2\nexit 3\n`,
};

/** A description of several lines, one of them long. */
export const LINES = `First line.\n\n- one\n- ${'two '.repeat(100)}`;

// Has a null, a union, a list, a map and a nested object.
export const UNION = {
  type: 'object',
  required: ['target'],
  properties: {
    target: {
      oneOf: [
        {
          title: 'File',
          type: 'object',
          required: ['kind', 'path'],
          properties: { kind: { const: 'file' }, path: { type: 'string' } },
        },
        {
          title: 'Port',
          type: 'object',
          required: ['kind', 'port'],
          properties: { kind: { const: 'port' }, port: { type: 'integer', minimum: 1 } },
        },
      ],
    },
    note: { type: ['string', 'null'], description: HOSTILE },
    tags: { type: 'array', items: { type: 'string' } },
    env: { type: 'object', additionalProperties: { type: 'string' } },
    mail: {
      type: 'string',
      format: 'email',
      pattern: "^(?:[A-Za-z0-9_'+-]+\\.)*[A-Za-z0-9_+-]+@(?:[a-z]+\\.)+[a-z]{2,}$",
    },
  },
};

export interface PageInBrowser {
  readonly workspace: UpstreamWorkspace;
  /** The server `notes`, which needs a login. */
  readonly notes: LoginServer;
  readonly server: Page;
  /** Errors and messages of all tabs. */
  readonly messages: string[];
  /** Opens a tab at a route, closed after the test. */
  visit(route: string, options?: { readonly width?: number; readonly dark?: boolean }): Promise<Tab>;
}

/** Creates a page for the tests of a file; nothing where there is no browser, and the tests are skipped. */
export function sharePageInBrowser(): () => PageInBrowser {
  return share(async () => {
    if (!HAS_BROWSER) return undefined as never;
    const notes = await startLoginServer();
    const remote = { command: undefined, args: undefined, env: undefined, url: notes.url };
    const workspace = createUpstreamWorkspace({ up: {}, odd: { mode: 'changing' }, notes: { more: remote } });
    workspace.tools('odd', [
      remoteTool('union', { inputSchema: UNION, description: LINES }),
      remoteTool('bidi', { description: HOSTILE }),
    ]);
    for (const [name, text] of Object.entries(SCRIPTS)) workspace.script(name, text);
    workspace.config('[trust]\nrules = [\n  "drop($policy=deny)",\n  "deploy",\n  "*($policy=allow)",\n]\n');
    await wield(workspace, ['trust', '--yes']);
    // Writes the address that a browser is asked to open to a file.
    workspace.write('bin/xdg-open', '#!/bin/sh\necho "$1" >"$HOME/asked"\nmv "$HOME/asked" "$HOME/opened"\n', 0o755);
    const env = { ...workspace.env, PATH: `${join(workspace.dir, 'bin')}:${workspace.env.PATH}`, DISPLAY: ':0' };
    const server = await openPage({ dir: workspace.dir, env });
    const { context, messages } = await openBrowser();
    // The browser is logged in after the first visit.
    let address = server.url;
    return {
      workspace,
      notes,
      server,
      messages,
      async visit(route, { width = 1400, dark = false } = {}) {
        const tab = await context.newPage();
        onEnd(() => tab.close());
        await tab.setViewportSize({ width, height: 900 });
        await tab.emulateMedia({ colorScheme: dark ? 'dark' : 'light' });
        await tab.goto(address + route);
        address = `${server.origin}/#`;
        return tab;
      },
    };
  });
}
