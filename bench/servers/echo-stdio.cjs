// The floor over stdio: parses each line as a JSON message and responds. The lines of a file argument are the pages of a
// tool list.

const pages = process.argv[2] ? require('node:fs').readFileSync(process.argv[2], 'utf8').split('\n') : ['{}'];
const PAGE_SIZE = 1000;

let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  let answers = '';
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) continue;
    if (method === 'tools/list') {
      const from = Number(params?.cursor?.slice('from:'.length) ?? 0);
      answers += `{"jsonrpc":"2.0","id":${id},"result":${pages[from / PAGE_SIZE]}}\n`;
    } else {
      const { name, count } = params.arguments ?? {};
      const result = { content: [{ type: 'text', text: `${name} ${count}` }] };
      answers += `${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`;
    }
  }
  process.stdout.write(answers);
});
