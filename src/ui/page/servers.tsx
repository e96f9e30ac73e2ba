// Servers: state, protocol version, last lines of stderr, restart and login.

import type { ServerItem } from '../api.js';
import { request } from './client.js';
import { Button, Chip, Code, Empty, ErrorBox, Facts, Fetched, PositionText, type Tone } from './parts.js';
import { catalog, serversVersion } from './store.js';
import { useFetch, useTask } from './use-request.js';

const TONES: Readonly<Partial<Record<ServerItem['state'], Tone>>> = {
  listed: 'good',
  failed: 'bad',
  untrusted: 'warn',
};

export function ServersPanel() {
  const listed = useFetch(() => request('GET /api/servers'), [catalog.value, serversVersion.value]);
  return (
    <section aria-label="Servers">
      <h1>Servers</h1>
      <Fetched task={listed}>
        {({ servers }) =>
          servers.length === 0 ? (
            <Empty>No servers. wield mcp add adds one.</Empty>
          ) : (
            servers.map((server) => <Server key={server.name} server={server} />)
          )
        }
      </Fetched>
    </section>
  );
}

function Server({ server }: { server: ServerItem }) {
  const { name, kind, target, state, connected, protocol, tools, changed, failure, stderr, login, position } = server;
  const task = useTask<void>();
  const act = (route: 'POST /api/servers/:name/restart' | 'POST /api/servers/:name/login'): Promise<void> =>
    task.run(async () => {
      await request(route, { params: [name], body: {} });
      serversVersion.value++;
    });
  return (
    <article class="card" aria-label={`Server ${name}`}>
      <header class="card-head">
        <strong>{name}</strong> <Chip tone={TONES[state] ?? 'plain'}>{state}</Chip>
        {connected && <Chip tone="info">connected</Chip>}
        {changed.length > 0 && <Chip tone="warn">{`${changed.length} changed`}</Chip>}
      </header>
      <Facts
        rows={[
          [kind === 'http' ? 'Address' : 'Command', <code key="target">{target}</code>],
          ['Tools', String(tools)],
          ['Protocol', protocol],
          ['Listed', server.listedAt && new Date(server.listedAt).toLocaleString()],
          ['Owner', server.owner],
          ['File', <PositionText key="position" position={position} />],
        ]}
      />
      {failure !== null && <ErrorBox error={{ code: 'unavailable', message: failure.message, hint: failure.hint }} />}
      {stderr.length > 0 && <Code label={`Last lines of stderr of ${name}`} value={stderr.join('\n')} />}
      <div class="actions">
        <Button task={task} onClick={() => act('POST /api/servers/:name/restart')}>
          Restart
        </Button>
        {login === 'possible' && (
          <Button task={task} onClick={() => act('POST /api/servers/:name/login')}>
            Log in
          </Button>
        )}
      </div>
      <ErrorBox error={task.error.value} />
    </article>
  );
}
