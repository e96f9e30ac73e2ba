// Client of a server that runs in the process which started this one: its output are requests, its input answers.

const AT_ONCE = 32;
const CALL = { name: 'tool-0000', arguments: { name: 'Ada', count: 3 } };
const clientInfo = { name: 'bench', version: '1' };

let calls = 1;
let sent = 0;
let answered = 0;

const send = (method, params) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: ++sent, method, params })}\n`);

process.stdin.on('data', (chunk) => {
  for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) {
    answered++;
    if (answered === calls) process.send('done');
    else if (sent < calls) send('tools/call', CALL);
  }
});
process.on('message', (count) => {
  calls = count;
  sent = 0;
  answered = 0;
  while (sent < Math.min(AT_ONCE, calls)) send('tools/call', CALL);
});
process.on('disconnect', () => process.exit());

send('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
