import fastify, { type FastifyInstance } from 'fastify';
import { messageOf, RouterError } from '../../core/router-error.ts';
import { controlRoutes, loadRoutes, sessionRoutes, tokenizerRoutes } from './admin-routes.ts';
import { chatRoute } from './chat-route.ts';
import { completionRoute } from './completion-route.ts';
import { errorAnswers } from './error-answers.ts';
import { generateRoute } from './generate-route.ts';
import { acceptBodies, mostBodyBytes } from './request-body.ts';
import { infoRoutes } from './server-info.ts';
import type { SimulatedEngine } from './simulated-engine.ts';
import { vllmChatRoute } from './vllm/vllm-chat-route.ts';
import { vllmCompletionRoute } from './vllm/vllm-completion-route.ts';
import { vllmInfoRoutes, vllmTokenizerRoutes } from './vllm/vllm-info-routes.ts';

/** The HTTP side of a simulated engine, not yet listening. */
export function simulatedServer(engine: SimulatedEngine): FastifyInstance {
  const app = fastify({ bodyLimit: mostBodyBytes, forceCloseConnections: true, exposeHeadRoutes: false });
  errorAnswers(app, engine);
  acceptBodies(app);
  for (const register of engine.options.wire.kind === 'vllm' ? vllmRoutes : sglangRoutes) register(app, engine);
  return app;
}

const sglangRoutes = [generateRoute, chatRoute, completionRoute, infoRoutes, loadRoutes, controlRoutes, sessionRoutes, tokenizerRoutes];
const vllmRoutes = [vllmChatRoute, vllmCompletionRoute, vllmInfoRoutes, vllmTokenizerRoutes];

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : null);

/** Resolves with the base URL. Rejects with `port-in-use`, or `bad-config` for a host that is not ours. */
export async function listen(app: FastifyInstance, host: string, port: number): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (cause) {
    if (codeOf(cause) === 'EADDRINUSE') throw new RouterError('port-in-use', `port ${port} of ${host} is in use: choose another with --port, or --port 0 for a free one`, { cause });
    throw new RouterError('bad-config', `cannot listen on ${host}:${port} (${messageOf(cause)}): choose another --host or --port`, { cause });
  }
}
