import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonMembers } from '../../../src/adapters/engine-http/json-members.ts';
import { prepareSglangBody, prepareVllmBody } from '../../../src/adapters/engine-http/prepare-body.ts';

const sglang = (text: string): string => {
  const prepared = prepareSglangBody(Buffer.from(text));
  return prepared.kind === 'pass' ? Buffer.from(prepared.body).toString() : prepared.message;
};

describe('extra_key', () => {
  it('E34: goes on as a salt, everything else keeps its bytes', () => {
    expect(sglang('{ "text" : "a\\"}b",  "extra_key": "k1" , "seed": 9007199254740993 }')).toBe('{"cache_salt":"k1", "text" : "a\\"}b",  "extra_key":null, "seed": 9007199254740993 }');
  });

  it('joins the salt that is there', () => {
    expect(sglang('{"cache_salt":"s","extra_key":"k"}')).toBe('{"cache_salt":"1:sk","extra_key":null}');
  });

  it('replaces a salt that is null', () => {
    expect(sglang('{"extra_key":"k","cache_salt":null}')).toBe('{"extra_key":null,"cache_salt":"k"}');
  });

  it('is found behind an escape in its name', () => {
    expect(sglang('{"extra\\u005fkey":"k"}')).toBe('{"cache_salt":"k","extra\\u005fkey":null}');
  });

  it('is not looked for inside other values', () => {
    const text = '{"messages":[{"extra_key":"k"}],"text":"\\"extra_key\\":\\"x\\""}';
    expect(sglang(text)).toBe(text);
  });

  it.each(['{"extra_key":null}', '{"extra_key":""}', '{"extra_key":["a","b"]}', '{"extra_key":"k","cache_salt":["a"]}', '{"extra_key":"k"', '[{"extra_key":"k"}]', 'extra_key'])('%s passes as it is', (text) => {
    expect(sglang(text)).toBe(text);
  });

  it('leaves in any body the same meaning but for the salt', () => {
    const key = fc.constantFrom('extra_key', 'cache_salt', 'text', 'a"b', 'ü\\');
    const value = fc.oneof(fc.string(), fc.constant(null), fc.jsonValue({ maxDepth: 2 }));
    const body = fc.dictionary(key, value).chain((fields) => fc.tuple(fc.constant(fields), fc.constantFrom(0, 1, 3)));
    fc.assert(
      fc.property(body, ([fields, indent]) => {
        const sent = JSON.parse(sglang(JSON.stringify(fields, null, indent))) as Record<string, unknown>;
        const { extra_key: extraKey, cache_salt: salt = null, ...rest } = JSON.parse(JSON.stringify(fields)) as Record<string, unknown>;
        const { extra_key: sentKey, cache_salt: sentSalt = null, ...sentRest } = sent;
        expect(sentRest).toEqual(rest);
        const carried = typeof extraKey === 'string' && extraKey !== '' && (salt === null || typeof salt === 'string');
        expect(sentKey ?? null).toEqual(carried ? null : (extraKey ?? null));
        expect(sentSalt).toEqual(!carried ? salt : salt === null || salt === '' ? extraKey : `${salt.length}:${salt}${extraKey}`);
      }),
    );
  });
});

describe('jsonMembers', () => {
  it('finds every member of the outermost object and where its value lies', () => {
    const fields = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { minKeys: 1 });
    fc.assert(
      fc.property(fields, fc.constantFrom(0, 2), (value, indent) => {
        const text = Buffer.from(JSON.stringify(value, null, indent));
        const found = jsonMembers(text).map(({ key, start, end }): [string, unknown] => [key, JSON.parse(text.toString('utf8', start, end))]);
        expect(found).toEqual(Object.entries(JSON.parse(text.toString()) as object));
      }),
    );
  });
});

describe('kv_cache_report_mode', () => {
  it('is refused in vllm_xargs alone', () => {
    expect(prepareVllmBody(Buffer.from('{"vllm_xargs":{"kv_cache_report_mode":"full"}}')).kind).toBe('refused');
    expect(prepareVllmBody(Buffer.from('{"vllm_xargs":{"kv\\u005fcache_report_mode":"full"}}')).kind).toBe('refused');
    expect(prepareVllmBody(Buffer.from('{"prompt":"what is kv_cache_report_mode?"}')).kind).toBe('pass');
    expect(prepareVllmBody(Buffer.from('no json: kv_cache_report_mode')).kind).toBe('pass');
  });
});
