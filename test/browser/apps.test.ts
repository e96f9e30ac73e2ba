// An MCP App of an upstream server in a real browser: its page, the result it shows, and what it asks through its host.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { expect } from 'vitest';
import { APP_CAPABILITIES, showApp } from '../support/app-host.mjs';
import { browserSpec, openPage } from '../support/browser.js';
import { createServeTransport } from '../support/serve.js';
import { onEnd } from '../support/share.js';
import { configureServers, said } from '../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

const SERVER = fileURLToPath(new URL('../support/offers-server.mjs', import.meta.url));
const PAGE = 'ui://app/page.html';
const TYPE = 'text/html;profile=mcp-app';

// As apps do it: JSON-RPC by messages to the window around it.
const APP = `<p id="shown"></p><p id="refreshed"></p><p id="stolen"></p><button>Refresh</button><script>
  let sent = 0;
  const waiting = {};
  const ask = (method, params) => new Promise((resolve) => {
    waiting[++sent] = resolve;
    parent.postMessage({ jsonrpc: '2.0', id: sent, method, params }, '*');
  });
  const show = (id, value) => { document.getElementById(id).textContent = JSON.stringify(value); };
  addEventListener('message', ({ data }) => {
    if (data.method === 'ui/notifications/tool-result') show('shown', data.params.content);
    else waiting[data.id]?.(data);
  });
  document.querySelector('button').onclick = async () => {
    show('refreshed', await ask('tools/call', { name: 'refresh', arguments: {} }));
    show('stolen', await ask('resources/read', { uri: 'ui://near/app/page.html' }));
  };
  ask('ui/initialize', { protocolVersion: '2026-01-26', appInfo: { name: 'app', version: '1' }, appCapabilities: {} })
    .then(() => parent.postMessage({ jsonrpc: '2.0', method: 'ui/notifications/initialized' }, '*'));
</script>`;

function createApps(): Workspace {
  const workspace = createWorkspace();
  const input = { inputSchema: { type: 'object' } };
  const entry = (name: string, html: string): object => {
    const file = join(workspace.home, `${name}.json`);
    const offers = {
      tools: [
        { name: 'show', description: 'Show.', ...input, _meta: { ui: { resourceUri: PAGE } } },
        { name: 'refresh', description: 'Refresh.', ...input, _meta: { ui: { visibility: ['app'] } } },
      ],
      resources: [{ uri: PAGE, name: 'page', mimeType: TYPE }],
      contents: { [PAGE]: html },
      result: { content: [{ type: 'text', text: `told by ${name}` }] },
    };
    writeFileSync(file, JSON.stringify(offers));
    return { command: process.execPath, args: [SERVER, join(workspace.home, `${name}.starts`), file] };
  };
  configureServers(workspace, { far: entry('far', APP), near: entry('near', 'a page of near') });
  return workspace;
}

browserSpec.thorough(
  'RSC-21 RSC-20',
  'an app shows its result, calls its own tools, and reads no page of another server',
  async () => {
    const client = new Client({ name: 'host', version: '1' }, {
      versionNegotiation: { mode: 'auto' },
      capabilities: APP_CAPABILITIES,
    } as never);
    await client.connect(createServeTransport(createApps(), ['--trust']));
    onEnd(() => client.close());
    const { page, messages } = await openPage('about:blank');
    const { app } = await showApp(page, client, 'far_show');
    await app.locator('#shown:not(:empty)').waitFor({ state: 'attached' });
    expect(await app.locator('#shown').textContent()).toContain('told by far');
    await app.locator('button').click();
    await app.locator('#stolen:not(:empty)').waitFor({ state: 'attached' });
    const refreshed = JSON.parse((await app.locator('#refreshed').textContent())!) as { result: unknown };
    expect(said(refreshed.result)).toBe('told by far');
    const stolen = await app.locator('#stolen').textContent();
    expect(stolen).not.toContain('a page of near');
    expect(messages).toEqual([]);
  },
);
