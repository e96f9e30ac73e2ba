// An MCP App of an upstream server in a real browser: its page, the result it shows, and what it asks through its host.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { expect } from 'vitest';
import { browserSpec, openPage } from '../../support/browser.js';
import { createServeTransport } from '../../support/serve.js';
import { onEnd } from '../../support/share.js';
import { configureServers, said } from '../../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const SERVER = fileURLToPath(new URL('../../support/offers-server.mjs', import.meta.url));
const PAGE = 'ui://app/page.html';
const PAGES = 'io.modelcontextprotocol/ui';
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

// A host: shows the page in a sandboxed frame, and passes its requests on.
const HOST = `<iframe sandbox="allow-scripts"></iframe><script>
  const frame = document.querySelector('iframe');
  addEventListener('message', async ({ data, source }) => {
    if (source !== frame.contentWindow) return;
    const { id, method, params } = data;
    const post = (message) => source.postMessage({ jsonrpc: '2.0', ...message }, '*');
    if (method === 'ui/notifications/initialized') return post(await window.toolResult());
    if (id !== undefined) post({ id, ...(await window.request(method, params)) });
  });
  window.open_ = (html) => { frame.srcdoc = html; };
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

browserSpec(
  'RSC-21 RSC-20',
  'an app shows its result, calls its own tools, and reads no page of another server',
  async () => {
    const client = new Client({ name: 'host', version: '1' }, {
      versionNegotiation: { mode: 'auto' },
      capabilities: { extensions: { [PAGES]: { mimeTypes: [TYPE] } } },
    } as never);
    await client.connect(createServeTransport(createApps(), ['--trust']));
    onEnd(() => client.close());
    const tool = (await client.listTools()).tools.find(({ name }) => name === 'far_show');
    const uri = (tool!._meta as { ui: { resourceUri: string } }).ui.resourceUri;
    const _meta = { 'wield/app': uri };
    const [content] = (await client.readResource({ uri })).contents as { text: string }[];
    const { page, messages } = await openPage('about:blank');
    await page.exposeFunction('toolResult', async () => ({
      method: 'ui/notifications/tool-result',
      params: await client.callTool({ name: 'far_show', arguments: {} }),
    }));
    await page.exposeFunction('request', async (method: string, params: Record<string, unknown>) => {
      try {
        if (method === 'tools/call') return { result: await client.callTool({ ...params, _meta } as never) };
        if (method === 'resources/read') return { result: await client.readResource({ ...params, _meta } as never) };
        return { result: { protocolVersion: '2026-01-26', hostInfo: { name: 'host', version: '1' } } };
      } catch (error) {
        return { error: { code: -32603, message: (error as Error).message } };
      }
    });
    await page.setContent(HOST);
    await page.evaluate(`open_(${JSON.stringify(content!.text)})`);
    const app = page.frameLocator('iframe');
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
