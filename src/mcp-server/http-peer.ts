// The client of an HTTP request, as the lane sees it. Classes: a literal with a getter takes 3 µs per request.

import type { Exchange } from './exchange.js';
import type { InputAnswer, InputRequest } from './input-request.js';
import type { Peer } from './lane.js';
import type { Params } from './message.js';
import type { Outgoing } from './outgoing.js';
import type { Responder } from './responder.js';

/** Sends a request of the newer protocol version. It has no sessions: all clients with access share one. */
export class RequestPeer implements Peer {
  readonly session = 'http';
  readonly isNewer = true;
  readonly initialized = undefined;
  readonly #responder: Responder;
  readonly #exchange: Exchange;

  constructor(responder: Responder, exchange: Exchange) {
    this.#responder = responder;
    this.#exchange = exchange;
  }

  mayConsent(): boolean {
    return this.#exchange.mayConsent();
  }

  notify(text: string): void {
    this.#responder.send(text);
  }

  request(): Promise<InputAnswer> {
    return Promise.reject(new Error('this protocol version has no requests of the server'));
  }
}

export interface SessionPeerOptions extends Pick<Peer, 'session' | 'initialized' | 'logLevel'> {
  readonly exchange: Exchange;
  readonly responder: Responder;
  readonly outgoing: Outgoing;
}

/** Sends a request in a session of the older protocol version. */
export class SessionPeer implements Peer {
  readonly session: string;
  readonly isNewer = false;
  readonly initialized: Params | undefined;
  readonly logLevel: string | undefined;
  readonly #options: SessionPeerOptions;
  #connection: AbortController | undefined;

  constructor(options: SessionPeerOptions) {
    this.session = options.session;
    this.initialized = options.initialized;
    this.logLevel = options.logLevel;
    this.#options = options;
  }

  // Only questions need it.
  get connection(): AbortSignal {
    if (this.#connection === undefined) {
      const controller = new AbortController();
      this.#connection = controller;
      this.#options.exchange.onDisconnect(() => controller.abort());
    }
    return this.#connection.signal;
  }

  mayConsent(): boolean {
    return this.#options.exchange.mayConsent();
  }

  notify(text: string): void {
    this.#options.responder.send(text);
  }

  request(request: InputRequest, signal: AbortSignal): Promise<InputAnswer> {
    return this.#options.outgoing.request(request, signal, (text) => this.notify(text));
  }
}
