// A host of MCP Apps: shows the page of a tool in a sandboxed frame of a browser, and passes its requests on to a client.

const EXTENSION = 'io.modelcontextprotocol/ui';
const TYPE = 'text/html;profile=mcp-app';
const VERSION = '2026-01-26';

/** What a client announces that can show apps. */
export const APP_CAPABILITIES = { extensions: { [EXTENSION]: { mimeTypes: [TYPE] } } };

const FRAME = `<iframe sandbox="allow-scripts" style="width: 100%; height: 600px"></iframe><script>
  const frame = document.querySelector('iframe');
  addEventListener('message', async ({ data, source }) => {
    if (source !== frame.contentWindow) return;
    const { id, method, params } = data;
    const post = (message) => source.postMessage({ jsonrpc: '2.0', ...message }, '*');
    if (method === 'ui/notifications/initialized') for (const message of await window.toolMessages()) post(message);
    else if (id !== undefined && method !== undefined) post({ id, ...(await window.request(method, params)) });
  });
  window.open_ = (html) => { frame.srcdoc = html; };
</script>`;

const HOST = {
  protocolVersion: VERSION,
  hostInfo: { name: 'host', version: '1' },
  hostCapabilities: { serverTools: {}, serverResources: {}, logging: {} },
  hostContext: { theme: 'light', displayMode: 'inline' },
};

/** Shows the app of a tool, with the result of a call; returns its frame, and what it asked for. */
export async function showApp(page, client, name, input = {}) {
  const { tools } = await client.listTools();
  const { resourceUri: uri } = tools.find((tool) => tool.name === name)._meta.ui;
  const _meta = { 'wield/app': uri };
  const asked = [];
  const answer = async (method, params) => {
    if (method === 'ui/initialize') return HOST;
    asked.push(`${method} ${params?.name ?? params?.uri ?? ''}`);
    if (method === 'tools/call') return client.callTool({ ...params, _meta });
    if (method === 'resources/read') return client.readResource({ ...params, _meta });
    throw new Error(`unknown method ${method}`);
  };
  await page.exposeFunction('toolMessages', async () => [
    { method: 'ui/notifications/tool-input', params: { arguments: input } },
    { method: 'ui/notifications/tool-result', params: await client.callTool({ name, arguments: input }) },
  ]);
  await page.exposeFunction('request', (method, params) =>
    answer(method, params).then(
      (result) => ({ result }),
      (error) => ({ error: { code: -32603, message: error.message } }),
    ),
  );
  await page.setContent(FRAME);
  const [content] = (await client.readResource({ uri })).contents;
  await page.evaluate(`open_(${JSON.stringify(content.text)})`);
  return { app: page.frameLocator('iframe'), asked };
}
