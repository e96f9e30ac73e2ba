// Calls the tool of a server that it starts, without anything else: `direct-client.cjs PROGRAM…`.

const { spawn } = require('node:child_process');

const [command, ...args] = process.argv.slice(2);
const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] });
const requests = [
  ['initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'direct', version: '0' } }],
  ['tools/call', { name: 'echo', arguments: { name: 'Ada', count: 3 } }],
];
let rest = '';
let id = 0;
const next = () => {
  const [method, params] = requests.shift();
  server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params })}\n`);
};
server.stdout.setEncoding('utf8').on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  for (const line of lines) {
    if (requests.length > 0) next();
    else {
      console.log(JSON.parse(line).result.content[0].text);
      server.stdin.end();
    }
  }
});
next();
