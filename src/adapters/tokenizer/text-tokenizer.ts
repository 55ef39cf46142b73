import type { PoolId } from '../../core/identity/ids.ts';
import type { Fields } from './chat-fields.ts';

/** Makes tokens of text as a pool's engines do. Rejects where it can't. */
export interface TextTokenizer {
  ofText(pool: PoolId, text: string, fields: Fields, signal: AbortSignal): Promise<ArrayLike<number>>;
  /** `fields`: of the chat request, its messages and whatever its template reads. */
  ofChat(pool: PoolId, fields: Fields, signal: AbortSignal): Promise<ArrayLike<number>>;
}
