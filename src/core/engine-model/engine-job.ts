import { RouterError } from '../router-error.ts';
import { advance, nextToken, stateAfter, type AnswerState, type AnswerVocabulary } from './answer-tokens.ts';
import type { FinishedRequest, FinishReason, ModelRequest, ProducedToken } from './engine-request.ts';
import type { CachePath, RadixCache } from './radix-cache.ts';

/**
 * One request inside the engine, with what it occupies: a locked path of the tree, and tokens outside of it in whole
 * pages. It is the only one who locks, unlocks, holds and releases for this request.
 */
export class EngineJob {
  readonly request: ModelRequest;
  readonly #cache: RadixCache;
  readonly #pageSize: number;
  readonly outputs: number[] = [];
  /** What must be computed before the next token: the prompt, and after a retraction the answer so far. */
  #sequence: Int32Array;
  /** Tokens whose KV exists: reused ones and computed ones. */
  #computed = 0;
  #path: CachePath | null = null;
  #held = 0;
  #state: AnswerState;
  cachedTokens: number | null = null;
  retractions = 0;
  aborted = false;

  constructor(request: ModelRequest, cache: RadixCache, pageSize: number) {
    this.request = request;
    this.#cache = cache;
    this.#pageSize = pageSize;
    this.#sequence = request.tokens;
    this.#state = stateAfter(request.tokens);
  }

  get computedTokens(): number {
    return this.#computed;
  }

  /** Prompt tokens that are yet to be computed. */
  get missingTokens(): number {
    return this.#sequence.length - this.#computed;
  }

  get answerTokensLeft(): number {
    return this.request.maxNewTokens - this.outputs.length;
  }

  /** Tokens of KV this job keeps from others. */
  get heldTokens(): number {
    return this.#held;
  }

  /** Stands on the longest path that the tree holds now. The last token is always computed, so that it gives the next. */
  start(): void {
    const path = this.#cache.match(this.request.space, { tokens: this.#sequence, length: this.#sequence.length - 1 });
    this.#cache.lock(path.node);
    this.#path = path;
    this.#computed = path.tokens;
  }

  /** Back to before `start`, when there was no room. */
  stepBack(): void {
    if (this.#path !== null) this.#cache.unlock(this.#path.node);
    this.#path = null;
    this.#computed = 0;
  }

  /** Takes the room for `tokens` more; false when there is none. */
  grow(tokens: number): boolean {
    const needed = this.#pages(this.#computed + tokens - (this.#path?.tokens ?? 0)) - this.#held;
    if (needed > 0 && !this.#cache.hold(needed)) return false;
    this.#held += Math.max(0, needed);
    return true;
  }

  /** `tokens` of the prompt were computed: their whole pages are in the tree from now on. */
  computedPrompt(tokens: number): void {
    this.cachedTokens ??= this.#computed;
    this.#computed += tokens;
    this.#store(this.#sequence);
  }

  /** One decode step computed the last token of the answer so far. */
  computedAnswer(): void {
    this.#computed += 1;
  }

  produce(vocabulary: AnswerVocabulary): ProducedToken {
    const { request, outputs } = this;
    const token = nextToken(this.#state, vocabulary, request.ignoreEnd ? null : { answered: outputs.length });
    this.#state = advance(this.#state, token);
    outputs.push(token);
    return { id: request.id, token, index: outputs.length - 1, cachedTokens: this.cachedTokens ?? 0, retractions: this.retractions };
  }

  /** Why it is over after what was produced last, or null. */
  ended(vocabulary: AnswerVocabulary): FinishReason | null {
    const last = this.outputs.at(-1);
    // As in SGLang, whoever ignores the end ignores stop tokens too.
    const stops = last !== undefined && !this.request.ignoreEnd && (last === vocabulary.endToken || this.request.stopTokens.has(last));
    if (stops) return { kind: 'stop', token: last };
    return this.answerTokensLeft <= 0 ? { kind: 'length' } : null;
  }

  /** Stores the answer's whole pages (its last token was never computed) and gives everything up. */
  finish(reason: FinishReason): FinishedRequest {
    if (this.#path !== null) this.#store(this.#wholeSequence());
    this.#giveUp();
    return {
      id: this.request.id,
      reason,
      promptTokens: this.request.tokens.length,
      completionTokens: this.outputs.length,
      cachedTokens: this.cachedTokens,
      retractions: this.retractions,
    };
  }

  /** Gives its room to others; it will be computed again, answer so far included. */
  retract(): void {
    this.#sequence = this.#wholeSequence();
    this.#giveUp();
    this.#computed = 0;
    this.retractions++;
  }

  #wholeSequence(): Int32Array {
    const whole = new Int32Array(this.request.tokens.length + this.outputs.length);
    whole.set(this.request.tokens);
    whole.set(this.outputs, this.request.tokens.length);
    return whole;
  }

  #store(sequence: Int32Array): void {
    this.#cache.release(this.#held);
    const length = this.#computed - (this.#computed % this.#pageSize);
    const path = this.#cache.insert(this.request.space, { tokens: sequence, length }, this.request.sessionId);
    this.#cache.lock(path.node);
    if (this.#path !== null) this.#cache.unlock(this.#path.node);
    this.#path = path;
    this.#held = this.#pages(this.#computed - path.tokens);
    // At least as much was released above, and only the tokens now in the tree were taken since.
    if (!this.#cache.hold(this.#held)) throw new RouterError('internal', `request ${this.request.id} lost its room in the cache`);
  }

  #giveUp(): void {
    this.#cache.release(this.#held);
    this.#held = 0;
    if (this.#path !== null) this.#cache.unlock(this.#path.node);
    this.#path = null;
  }

  #pages(tokens: number): number {
    return Math.ceil(tokens / this.#pageSize) * this.#pageSize;
  }
}
