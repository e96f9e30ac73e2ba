// The variables by which git takes the way of other requests: the proxy and certificate authorities of the settings (NET-5).

import { join } from 'node:path';
import { digestParts } from '../../files/digest.js';
import { makeDirectory } from '../../files/make-directory.js';
import { statOrNothing } from '../../files/read.js';
import { writeFileAtomic } from '../../files/write.js';
import type { ProxyServer } from '../../net/route.js';
import type { InstallEnvironment } from '../environment.js';

/** Returns the variables of a fetch; none for other protocols than HTTP, and without settings. */
export async function routeVariables(
  location: string,
  { network, paths }: Pick<InstallEnvironment, 'network' | 'paths'>,
): Promise<Record<string, string>> {
  if (!/^https?:/i.test(location)) return {};
  const { proxy, isExempt, authorities } = await network.findRoute(new URL(location));
  const way = proxy === undefined ? (isExempt ? AROUND : {}) : through(proxy);
  return {
    ...way,
    ...(authorities && { GIT_SSL_CAINFO: writeAuthorities(authorities, join(paths.sources, '..', 'cache')) }),
  };
}

const AROUND = { NO_PROXY: '*', no_proxy: '*' };

function through({ url, authorization }: ProxyServer) {
  const address = new URL(url);
  if (authorization !== undefined) {
    const pair = Buffer.from(authorization.replace(/^Basic /, ''), 'base64').toString('utf8');
    const at = pair.indexOf(':');
    address.username = encodeURIComponent(pair.slice(0, at));
    address.password = encodeURIComponent(pair.slice(at + 1));
  }
  const { href } = address;
  const method = { GIT_HTTP_PROXY_AUTHMETHOD: 'basic' };
  return { ...method, http_proxy: href, https_proxy: href, HTTPS_PROXY: href, NO_PROXY: '', no_proxy: '' };
}

// Git reads them from a file, which replaces those of the system.
function writeAuthorities(certificates: string, directory: string): string {
  const file = join(directory, `authorities-${digestParts([certificates]).slice(0, 16)}.pem`);
  if (statOrNothing(file) === undefined) {
    makeDirectory(directory);
    writeFileAtomic(file, certificates, { durable: false });
  }
  return file;
}
