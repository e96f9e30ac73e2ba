// Takes everything that it is sent over OTLP/HTTP; prints its port.

const { createServer } = require('node:http');

const server = createServer((request, response) => {
  request.resume().once('end', () => response.setHeader('content-type', 'application/json').end('{}'));
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
