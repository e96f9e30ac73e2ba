// The floor over HTTP: parses a JSON body and responds; prints its port.

const { createServer } = require('node:http');

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const { id, params } = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    const { name, count } = params.arguments;
    const result = { content: [{ type: 'text', text: `${name} ${count}` }] };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
