import type { FastifyInstance } from 'fastify';
import { wallSeconds, type SimulatedEngine } from './simulated-engine.ts';

/** Where the events are, as the server was configured: a wildcard, which its reader replaces by this server's host. */
function kvEvents(engine: SimulatedEngine): object {
  const { wire, topic, pageSize } = engine.options;
  const { kvPort, replayPort } = engine.sockets;
  return {
    publisher: 'zmq',
    endpoint_host: '*',
    endpoint_port_base: kvPort,
    topic,
    block_size: pageSize,
    dp_size: engine.ranks.length,
    ...(wire.kvEventsBlock === 'with-replay' ? { replay_endpoint_port_base: replayPort } : {}),
  };
}

/** The server arguments that routers and agents read; SGLang lists some 550. A flat list, and so longer than a function should be. */
function serverArguments(engine: SimulatedEngine, address: { readonly host: string; readonly port: number }): object {
  const { options, sockets } = engine;
  const events = { publisher: 'zmq', endpoint: `tcp://*:${sockets.kvPort}`, replay_endpoint: `tcp://*:${sockets.replayPort}`, topic: options.topic };
  return {
    model_path: options.modelName,
    tokenizer_path: options.modelName,
    tokenizer_mode: 'auto',
    skip_tokenizer_init: false,
    context_length: options.contextLength,
    is_embedding: false,
    max_running_requests: options.maxRunning,
    max_queued_requests: null,
    max_total_tokens: options.kvTokens,
    chunked_prefill_size: options.chunkTokens,
    schedule_policy: 'fcfs',
    page_size: options.pageSize,
    radix_eviction_policy: 'lru',
    disable_radix_cache: false,
    tp_size: 1,
    pp_size: 1,
    dp_size: engine.ranks.length,
    attn_dp_size: 1,
    load_balance_method: 'round_robin',
    enable_dp_attention: false,
    device: 'simulated',
    host: address.host,
    port: address.port,
    api_key: options.apiKey,
    served_model_name: options.modelName,
    weight_version: 'default',
    chat_template: null,
    enable_cache_report: options.cacheReport,
    stream_interval: 1,
    incremental_streaming_output: options.incrementalStreaming,
    enable_metrics: true,
    load_snapshot_publish_interval: 15,
    decode_log_interval: 40,
    kv_events_config: JSON.stringify(events),
    load_publish_endpoint: null,
    speculative_algorithm: null,
    enable_hierarchical_cache: false,
    enable_lora: null,
    disaggregation_mode: 'null',
    disaggregation_bootstrap_port: 8998,
  };
}

function internalState(engine: SimulatedEngine, index: number): object {
  const { model } = engine.rank(index);
  return { last_gen_throughput: 0, memory_usage: { weight: 0, kvcache: 0, token_capacity: model.capacityTokens, graph: 0 }, effective_max_running_requests_per_dp: engine.options.maxRunning };
}

function modelInfo(engine: SimulatedEngine): object {
  const { modelName } = engine.options;
  return {
    model_path: modelName,
    served_model_name: modelName,
    tokenizer_path: modelName,
    is_generation: true,
    preferred_sampling_params: null,
    weight_version: 'default',
    load_format: 'dummy',
    reasoning_parser: null,
    tool_call_parser: null,
    disaggregation_mode: 'null',
    has_image_understanding: false,
    has_audio_understanding: false,
    model_type: 'kinroute-simulated',
    architectures: ['SimulatedForCausalLM'],
  };
}

const modelCard = (engine: SimulatedEngine): object => ({
  id: engine.options.modelName,
  object: 'model',
  created: Math.floor(wallSeconds()),
  owned_by: 'sglang',
  root: engine.options.modelName,
  parent: null,
  max_model_len: engine.options.contextLength,
});

/** What a server says of itself: `/server_info`, `/model_info` with their former names, `/v1/models`. */
export function infoRoutes(app: FastifyInstance, engine: SimulatedEngine): void {
  const serverInfo = (): object => {
    const address = app.server.address();
    const at = typeof address === 'object' && address !== null ? { host: address.address, port: address.port } : { host: '', port: 0 };
    const { capacityTokens } = engine.rank(0).model;
    return {
      ...serverArguments(engine, at),
      status: 'ready',
      max_total_num_tokens: capacityTokens,
      max_req_input_len: Math.min(engine.options.contextLength, capacityTokens) - 6,
      ...(engine.options.wire.kvEventsBlock === 'none' ? {} : { kv_events: kvEvents(engine) }),
      internal_states: engine.ranks.map((_, index) => internalState(engine, index)),
      version: engine.options.wire.version,
    };
  };
  app.get('/server_info', serverInfo);
  app.get('/get_server_info', serverInfo);
  app.get('/model_info', () => modelInfo(engine));
  app.get('/get_model_info', () => modelInfo(engine));
  app.get('/v1/models', () => ({ object: 'list', data: [modelCard(engine)] }));
  app.get<{ Params: { '*': string } }>('/v1/models/*', (request, reply) => {
    const asked = request.params['*'];
    if (asked === engine.options.modelName) return modelCard(engine);
    return reply.code(404).send({ error: { message: `The model '${asked}' does not exist`, type: 'invalid_request_error', param: 'model', code: 'model_not_found' } });
  });
}
