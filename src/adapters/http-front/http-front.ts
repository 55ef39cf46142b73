import { randomUUID } from 'node:crypto';
import { setImmediate as loopTurn, setTimeout as delay } from 'node:timers/promises';
import Fastify from 'fastify';
import type { FastifyInstance } from 'fastify';
import { messageOf, RouterError } from '../../core/router-error.ts';
import type { Closable } from '../../ports/kv-bus.ts';
import type { Log } from '../../ports/log.ts';
import type { PlacementFollower } from '../../ports/placement-bus.ts';
import type { RequestRouter } from '../../ports/request-router.ts';
import type { RouterView } from '../../ports/router-view.ts';
import { adminRoutes } from './admin-routes.ts';
import { refuseClient } from './client-error.ts';
import { engineRoutes } from './engine-routes.ts';
import { PlacementStreams, placementsRoute } from './placements-route.ts';
import type { PrometheusMetrics } from './prometheus-metrics.ts';
import { RequestsUnderWay } from './requests-under-way.ts';
import { sendError } from './send-error.ts';

export interface HttpFrontOptions {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  readonly bodyLimitBytes: number;
  /** How long closing waits for requests under way before it cancels them. */
  readonly closeGraceMs: number;
  /** How long a request may take to come in as a whole. */
  readonly uploadPatienceMs?: number;
  /** A client that takes nothing of its answer for so long is given up. */
  readonly readPatienceMs?: number;
}

const defaultPatienceMs = 120_000;
/** Requests that clients had sent when closing began may still be on their way to us. */
const lateRequestsMs = 100;
/** What is cancelled at the end of the grace has this long to say so to its client. */
const lastWordsMs = 500;

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
  const { host, port, closeGraceMs: graceMs, readPatienceMs = defaultPatienceMs } = options;
  const app = newServer(options, deps.log);
  const underWay = new RequestsUnderWay();
  const streams = new PlacementStreams(deps.placements);
  common(app, underWay, { log: deps.log, bodyLimitBytes: options.bodyLimitBytes });
  engineRoutes(app, { ...deps, underWay, readPatienceMs });
  adminRoutes(app, deps.view);
  placementsRoute(app, streams);
  app.get('/metrics', async (_request, reply) => {
    const { type, body } = await deps.metrics.text(deps.view);
    return reply.type(type).send(body);
  });
  const url = await listen(app, host, port);
  return {
    url,
    close: () => closeFront(app, streams, { underWay, graceMs }),
  };
}

function newServer({ bodyLimitBytes, uploadPatienceMs = defaultPatienceMs }: HttpFrontOptions, log: Log): FastifyInstance {
  const app = Fastify({
    bodyLimit: bodyLimitBytes,
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    // Node takes the smaller of the two for the headers, whichever is set as which.
    http: { noDelay: true, connectionsCheckingInterval: Math.ceil(uploadPatienceMs / 4), headersTimeout: uploadPatienceMs },
    requestTimeout: uploadPatienceMs,
    exposeHeadRoutes: false,
    forceCloseConnections: 'idle',
    // What still comes in while we close is served.
    return503OnClosing: false,
    clientErrorHandler: refuseClient,
    frameworkErrors: (error, _request, reply) => void sendError(reply, new RouterError('bad-request', messageOf(error)), { log, bodyLimitBytes }),
  });
  // Above Node's own limit headers are dropped in silence, the body's length among them. Their bytes are limited.
  app.server.maxHeadersCount = 0;
  return app;
}

interface Closing {
  readonly underWay: RequestsUnderWay;
  readonly graceMs: number;
}

/** Takes what clients had sent, then nothing new; those under way may end in time, and be read by their clients. */
async function closeFront(app: FastifyInstance, streams: PlacementStreams, { underWay, graceMs }: Closing): Promise<void> {
  const grace = AbortSignal.timeout(graceMs);
  underWay.sayGoodbye();
  await delay(Math.min(lateRequestsMs, graceMs));
  const closing = app.close();
  // Two turns, to read what has arrived on the connections that are there.
  for (const _turn of [1, 2]) await loopTurn();
  const finished = Promise.all([streams.close(), underWay.finish(grace)]);
  await Promise.race([finished, delay(graceMs + lastWordsMs, undefined, { ref: false })]);
  // What is left has nothing to wait for; a connection that was opened ahead of a request would keep the server up.
  app.server.closeAllConnections();
  await Promise.all([finished, closing]);
}

/** Bodies stay bytes, every answer has its request's id, and every error our shape. */
function common(app: FastifyInstance, underWay: RequestsUnderWay, at: { readonly log: Log; readonly bodyLimitBytes: number }): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.addHook('onRequest', (request, reply, done) => {
    underWay.begin(request.raw, reply.raw);
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
