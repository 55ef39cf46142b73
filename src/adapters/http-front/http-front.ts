import { randomUUID } from 'node:crypto';
import Fastify from 'fastify';
import type { FastifyInstance } from 'fastify';
import { messageOf, RouterError } from '../../core/router-error.ts';
import type { Closable } from '../../ports/kv-bus.ts';
import type { Log } from '../../ports/log.ts';
import type { PlacementFollower } from '../../ports/placement-bus.ts';
import type { RequestRouter } from '../../ports/request-router.ts';
import type { RouterView } from '../../ports/router-view.ts';
import { adminRoutes } from './admin-routes.ts';
import { engineRoutes, RequestsUnderWay } from './engine-routes.ts';
import { PlacementStreams, placementsRoute } from './placements-route.ts';
import type { PrometheusMetrics } from './prometheus-metrics.ts';
import { sendError } from './send-error.ts';

export interface HttpFrontOptions {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  readonly bodyLimitBytes: number;
  /** How long closing waits for requests under way before it cancels them. */
  readonly closeGraceMs: number;
}

export interface HttpFrontDeps {
  readonly router: RequestRouter;
  readonly view: RouterView;
  readonly placements: PlacementFollower;
  readonly metrics: PrometheusMetrics;
  readonly log: Log;
}

export interface RunningFront extends Closable {
  readonly url: string;
}

/** Starts the router's HTTP side and resolves when it listens. Rejects with `port-in-use`, or `bad-config` for a host that is none of ours. */
export async function startHttpFront(options: HttpFrontOptions, deps: HttpFrontDeps): Promise<RunningFront> {
  const { host, port, bodyLimitBytes, closeGraceMs } = options;
  const app = Fastify({ bodyLimit: bodyLimitBytes, genReqId: () => randomUUID(), requestIdHeader: false, http: { noDelay: true }, exposeHeadRoutes: false, forceCloseConnections: 'idle' });
  const underWay = new RequestsUnderWay();
  const streams = new PlacementStreams(deps.placements);
  common(app, { log: deps.log, bodyLimitBytes });
  engineRoutes(app, deps, underWay);
  adminRoutes(app, deps.view);
  placementsRoute(app, streams);
  app.get('/metrics', async (_request, reply) => {
    const { type, body } = await deps.metrics.text(deps.view);
    return reply.type(type).send(body);
  });
  const url = await listen(app, host, port);
  return {
    url,
    close: () => closeFront(app, streams, { underWay, graceMs: closeGraceMs }),
  };
}

/** No new requests; those under way may end in time, and be read by their clients. */
async function closeFront(app: FastifyInstance, streams: PlacementStreams, { underWay, graceMs }: { readonly underWay: RequestsUnderWay; readonly graceMs: number }): Promise<void> {
  const closing = app.close();
  await Promise.all([streams.close(), underWay.finish(AbortSignal.timeout(graceMs))]);
  // What is left has nothing to wait for; a connection that was opened ahead of a request would keep the server up.
  app.server.closeAllConnections();
  await closing;
}

/** Bodies stay bytes, every answer has its request's id, and every error our shape. */
function common(app: FastifyInstance, at: { readonly log: Log; readonly bodyLimitBytes: number }): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-kinroute-request-id', request.id);
    done();
  });
  app.setErrorHandler((error, _request, reply) => sendError(reply, error, at));
  app.setNotFoundHandler((request, reply) => sendError(reply, new RouterError('not-found', `${request.method} ${request.url.split('?', 1)[0] ?? ''} is not served here`), at));
}

async function listen(app: FastifyInstance, host: string, port: number): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (cause) {
    await app.close();
    const code = typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : null;
    if (code === 'EADDRINUSE') throw new RouterError('port-in-use', `port ${port} of ${host} is in use: give another --port`, { cause });
    throw new RouterError('bad-config', `can't listen on ${host} port ${port}: ${messageOf(cause)}`, { cause });
  }
}
