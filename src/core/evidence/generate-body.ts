/** The JSON of a streamed `/generate` request for exactly these tokens; the engine goes on to `maxNewTokens` whatever it says. */
export function generateBody(tokens: Int32Array, maxNewTokens: number): Uint8Array {
  const sampling = JSON.stringify({ max_new_tokens: maxNewTokens, temperature: 0, ignore_eos: true });
  return new TextEncoder().encode(`{"input_ids":[${tokens.join(',')}],"sampling_params":${sampling},"stream":true}`);
}
