// A stdio server whose one tool requests an address through the proxy of its environment.

import { request } from 'node:http';
import { createInterface } from 'node:readline';

const write = (id, result) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);

const get = (url) =>
  new Promise((resolve) => {
    const { hostname: host, port } = new URL(process.env.HTTP_PROXY);
    request({ host, port, path: url, headers: { host: new URL(url).host } }, async (response) => {
      let text = '';
      for await (const chunk of response) text += chunk;
      resolve({ isError: response.statusCode !== 200, content: [{ type: 'text', text }] });
    })
      .on('error', ({ message: text }) => resolve({ isError: true, content: [{ type: 'text', text }] }))
      .end();
  });

createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method, params } = JSON.parse(line);
  const inputSchema = { type: 'object', properties: { url: { type: 'string' } } };
  if (id === undefined) return;
  if (method === 'initialize')
    write(id, {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'get', version: '1' },
    });
  else if (method === 'tools/list') write(id, { tools: [{ name: 'get', description: 'Get.', inputSchema }] });
  else if (method === 'tools/call') write(id, await get(params.arguments.url));
  else process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'unknown' } })}\n`);
});
