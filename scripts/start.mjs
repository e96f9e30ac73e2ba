// `npm start`: serves the tools of the first example over HTTP with the built binary, and says what to try next.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const BINARY = 'dist/cli/wield.cjs';
const EXAMPLE = 'examples/01-script';
const PORT = process.env.PORT ?? '7070';
const TAKEN = 8;
const INTERRUPTED = 130;

function serve(port) {
  // Trusted for this run alone: these tools are the project's own.
  const args = [BINARY, '--cwd', EXAMPLE, 'serve', '--http', port, '--trust'];
  const server = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let complaint = '';
  server.stdout.once('data', (line) => introduce(String(line).trim()));
  server.stderr.on('data', (text) => {
    complaint += text;
  });
  server.once('exit', (status) => {
    if (status === TAKEN && port !== '0') return serve('0');
    if (status !== 0 && status !== INTERRUPTED) process.stderr.write(complaint);
    process.exit(status ?? 1);
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => server.kill('SIGTERM'));
}

function introduce(url) {
  console.log(`Serving the tools of ${EXAMPLE} (greet, sum) over MCP
${url}

Try next, in another terminal
  node ${BINARY} --cwd ${EXAMPLE} call greet --name Ada      the same tools, from a shell
  npx mcp-inspector --cli ${url} --transport http --method tools/list      as a model sees them
  mkdir /tmp/mine && cd /tmp/mine && node ${root}${BINARY} init      a first tool of your own

Ctrl-C stops it.`);
}

serve(PORT);
