// `resources/subscribe` and `resources/unsubscribe` of the older protocol version.

import { RpcError } from '../net/mcp.js';
import { Followed, MAX_SUBSCRIPTIONS } from './followed.js';
import { ERROR } from './message.js';
import { assertOk, type OfferHandlers } from './offers.js';

/** Registers the requests of the older version. Subscriptions end with the connection of the server. */
export function registerSubscriptions({ server, toolbox, serve }: OfferHandlers): void {
  const followed = new Followed();
  server.setRequestHandler('resources/subscribe', async ({ params: { uri } }, context) => {
    let end = (): void => {};
    const tell = (): void => void server.sendResourceUpdated({ uri }).catch(() => {});
    const outcome = await followed.start(() =>
      serve(context, `resource:${uri}`, {}, async (options) => {
        const subscription = await toolbox.catalog.resources.subscribe(uri, tell, options);
        end = subscription.end;
        return subscription.result;
      }),
    );
    if (outcome === undefined)
      throw new RpcError(ERROR.invalidParams, `more than ${MAX_SUBSCRIPTIONS} subscriptions; unsubscribe first`);
    if ('resultType' in outcome) return outcome as never;
    assertOk(outcome, { uri });
    followed.add(uri, end);
    return {};
  });
  server.setRequestHandler('resources/unsubscribe', async ({ params: { uri } }) => {
    followed.delete(uri);
    return {};
  });
  const { onclose } = server;
  server.onclose = () => {
    onclose?.();
    followed.close();
  };
}
