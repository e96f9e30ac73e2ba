// Minimal upstream server with one tool.

const TOOL = {
  name: 'echo',
  description: 'Says how often who is published.',
  inputSchema: { type: 'object', properties: { name: { type: 'string' }, count: { type: 'integer' } } },
};

const answer = (method, params) => {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'upstream', version: '0' },
      };
    case 'tools/list':
      return { tools: [TOOL] };
    case 'tools/call':
      return { content: [{ type: 'text', text: `${params.arguments.name} ${params.arguments.count}` }] };
    default:
      return undefined;
  }
};

let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  let answers = '';
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) continue;
    const result = answer(method, params);
    const told = result === undefined ? { error: { code: -32601, message: 'unknown method' } } : { result };
    answers += `${JSON.stringify({ jsonrpc: '2.0', id, ...told })}\n`;
  }
  process.stdout.write(answers);
});
process.stdin.on('end', () => process.exit(0));
