import { describe, expect, test } from "vitest";
import { decodeTextHeader, encodeTextHeader } from "./text-header.ts";

describe("a text in a header", () => {
  test("leaves as it is when it is plain ASCII", () => {
    expect(encodeTextHeader('How to greet: 50 % of "it" (all*) it\'s')).toBe('How to greet: 50 % of "it" (all*) it\'s');
  });

  test("leaves in the form of RFC 8187 otherwise", () => {
    expect(encodeTextHeader("€ it's (a*)")).toBe("UTF-8''%E2%82%AC%20it%27s%20%28a%2A%29");
  });

  test.each(["", "plain", "€", "处理退款", "🙂", "utf-8''%41", "UTF-8'de'x"])("comes back: %s", (text) => {
    expect(decodeTextHeader(encodeTextHeader(text))).toEqual({ ok: true, value: text });
  });

  test.each([
    ["utf-8'en'%c2%a3 rates", "£ rates"],
    ["€ as it is", "€ as it is"],
    ["100%", "100%"],
  ])("is read from %s", (header, text) => {
    expect(decodeTextHeader(header)).toEqual({ ok: true, value: text });
  });

  test.each(["UTF-8''%zz", "UTF-8''%ff", "UTF-8''%ed%a0%80", "a\uFFFD"])("is refused as %s", (header) => {
    expect(decodeTextHeader(header).ok).toBe(false);
  });
});
