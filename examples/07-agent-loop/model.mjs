// A model that follows a script, behind a server that speaks the wire format of Anthropic's messages.

import { createServer } from 'node:http';

/** Serves the script: a function a request, given what the calls before were answered with. */
export async function serveModel(script) {
  let turn = 0;
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { messages } = JSON.parse(body);
    const last = messages.at(-1).content;
    const results = Array.isArray(last) ? last.map(({ content }) => content.map(({ text }) => text).join('')) : [];
    const calls = script[turn]?.(results) ?? [];
    turn++;
    const content = calls.map(([name, input], index) => ({
      type: 'tool_use',
      id: `call_${turn}_${index}`,
      name,
      input,
    }));
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        id: `msg_${turn}`,
        type: 'message',
        role: 'assistant',
        model: 'scripted',
        content: content.length > 0 ? content : [{ type: 'text', text: 'Nothing more to do.' }],
        stop_reason: content.length > 0 ? 'tool_use' : 'end_turn',
        usage: { input_tokens: 1, output_tokens: 1 },
      }),
    );
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
