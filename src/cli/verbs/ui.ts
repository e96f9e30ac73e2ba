// `wield ui`: serves a page that shows the tools, calls and approvals of this workdir.

import { untilAborted } from '../../core/async.js';
import { assertPerson } from '../../core/caller.js';
import { spellOut } from '../../core/text.js';
import { openPage } from '../page.js';
import { printJson } from '../print.js';
import { numberOf, option, toggle, type Verb } from '../verb.js';

export const ui: Verb = {
  usage: 'ui [--port N] [--open] [--json]',
  summary: 'Show the tools, calls and approvals of this workdir on a page in your browser.',
  examples: ['wield ui --open', 'wield ui --port 7080', 'wield ui --json'],
  flags: {
    port: option('N', 'The port on 127.0.0.1; any free one by default', {
      range: [0, 65_535, 'for example --port 7080; the page is served on 127.0.0.1 only'],
    }),
    open: toggle('Open the page in the browser'),
  },
  runsUntilStopped: true,
  async run(call) {
    const { terminal, flags, json, signal } = call;
    const port = numberOf(call, 'port') ?? 0;
    const toolbox = call.toolbox({ guard: true, upstreamPatienceMs: 2000 });
    assertPerson(toolbox.machine.insideCall, 'opening the page');
    const page = await openPage(call, toolbox, port);
    if (json) printJson(terminal, { ok: true, url: page.url, token: page.token });
    else terminal.out(`${page.url}\n`);
    if (flags.has('open')) {
      const { openBrowser } = await import('../../upstream/login/open-browser.js');
      const opened = await openBrowser(new URL(page.url), toolbox.machine.world);
      if (!opened) terminal.err('  no browser could be opened; open this URL yourself\n');
    }
    if (!json) terminal.err(`  the page of ${spellOut(toolbox.workspace.workdir)}; press Ctrl-C to stop\n`);
    await untilAborted(signal);
    page.close();
    return 0;
  },
};
