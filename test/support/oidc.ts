// The identity provider of a company on loopback (oidc-provider), people who log in there, and MCP clients that send them.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { fileURLToPath } from 'node:url';
import type { OAuthClientProvider } from '@modelcontextprotocol/client';
import { listen } from './http.js';
import { serveUrl } from './serve.js';
import { onEnd } from './share.js';
import type { Workspace } from './workspace.js';

const PROVIDER = fileURLToPath(new URL('./oidc-provider.mjs', import.meta.url));

/** Starts the provider for these people, with their groups. */
export async function startOidc(people: Readonly<Record<string, readonly string[]>>): Promise<string> {
  const child = fork(PROVIDER, [JSON.stringify(people)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  onEnd(() => child.kill());
  const ended = once(child, 'exit').then(([status]) => {
    throw new Error(`the identity provider ended with status ${status} before it listened`);
  });
  const [issuer] = await Promise.race([once(child, 'message'), ended]);
  return issuer;
}

/** A browser without a screen: keeps cookies, and follows redirects until one leaves for `until`. */
export function createBrowser() {
  const cookies = new Map<string, string>();
  const keep = (response: Response): void => {
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = ''] = cookie.split(';', 1);
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
  };
  const open = async (url: URL, form?: Readonly<Record<string, string>>): Promise<Response> => {
    const headers = { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') };
    const body = form && { method: 'POST', body: new URLSearchParams(form) };
    const response = await fetch(url, { headers, redirect: 'manual', ...body });
    keep(response);
    return response;
  };
  return {
    open,
    /** Logs in at the page of an identity provider, and returns the address that it sends the browser back to. */
    async logIn(page: URL, name: string): Promise<URL> {
      let url = page;
      let form: Readonly<Record<string, string>> | undefined;
      for (let step = 0; step < 10; step++) {
        const response = await open(url, form);
        const location = response.headers.get('location');
        const text = await response.text();
        form = undefined;
        if (location !== null) {
          url = new URL(location, url);
          if (url.origin !== page.origin) return url;
        } else if (response.status === 200 && text.includes('name="name"')) form = { name };
        else throw new Error(`${url.pathname} answered ${response.status}: ${text.slice(0, 300)}`);
      }
      throw new Error('too many redirects');
    },
  };
}

/** What an MCP client needs to log in as a person. */
export interface PersonsLogin {
  readonly provider: OAuthClientProvider;
  /** The parameters that the provider answers with. */
  answer(): Promise<URLSearchParams>;
  accessToken(): string;
}

/** Returns the login of a client whose person types a name at the provider. */
export function createLogin(name: string): PersonsLogin {
  const redirectUrl = 'http://127.0.0.1:9/callback';
  let client: Awaited<ReturnType<OAuthClientProvider['clientInformation']>>;
  let tokens: Awaited<ReturnType<OAuthClientProvider['tokens']>>;
  let verifier = '';
  let discovery: Awaited<ReturnType<NonNullable<OAuthClientProvider['discoveryState']>>>;
  let answer: Promise<URL> | undefined;
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: {
      client_name: 'test',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    clientInformation: () => client,
    saveClientInformation: (given) => {
      client = given;
    },
    tokens: () => tokens,
    saveTokens: (given) => {
      tokens = given;
    },
    redirectToAuthorization: (url) => {
      answer = createBrowser().logIn(url, name);
      answer.catch(() => {});
    },
    saveCodeVerifier: (given) => {
      verifier = given;
    },
    codeVerifier: () => verifier,
    saveDiscoveryState: (given) => {
      discovery = given;
    },
    discoveryState: () => discovery,
  };
  return {
    provider,
    answer: async () => (await answer!).searchParams,
    accessToken: () => tokens!.access_token,
  };
}

/** Starts `wield serve --http` behind a proxy that passes requests on as they are, and returns the address of the proxy. */
export async function serveBehindProxy(
  toArguments: (publicUrl: string) => readonly string[],
  workspace: Workspace,
): Promise<string> {
  let target = 0;
  const proxy = await listen((incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const passed = request({ host: '127.0.0.1', port: target, method, path, headers }, (response) => {
      outgoing.writeHead(response.statusCode!, response.headers);
      response.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  });
  const url = `${proxy.origin}/mcp`;
  target = Number(new URL(await serveUrl(workspace, toArguments(url))).port);
  return url;
}
