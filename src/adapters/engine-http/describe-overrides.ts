import type { TcpEndpoint } from './event-endpoints.ts';
import type { JsonObject } from './json-fields.ts';

/** What flags say goes before what the engine says; null leaves it to the engine. */
export interface DescribeOverrides {
  /** Tokens a page. */
  readonly pageSize: number | null;
  /** Token ids are below this. */
  readonly vocabSize: number | null;
  /** Rank 0's publisher. A host of `*` means that the engine connects and the agent binds. */
  readonly kvEndpoint: TcpEndpoint | null;
  /** Rank 0's replay socket. */
  readonly replayEndpoint: TcpEndpoint | null;
}

/** What an SGLang server answered. */
export interface EngineAnswers {
  /** `/server_info`, or `/get_server_info` of older servers. */
  readonly info: JsonObject;
  /** `/v1/models`; empty where that failed. */
  readonly models: JsonObject;
  readonly engineUrl: string;
}
