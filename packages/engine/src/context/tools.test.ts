import { describe, expect, test } from "vitest";
import type { ContextBlock } from "./context-block.ts";
import { inputSchemaOf, toolDefinitions } from "./tools.ts";

const block = (label: string, abilities: Partial<ContextBlock> = {}): ContextBlock => ({
  ...{ label, content: "", tokens: 0, writable: false, isSkill: false, isSearchable: false },
  ...abilities,
});
const NONE = { sessionSearch: false, recall: false };
const namesOf = (...blocks: ContextBlock[]) => toolDefinitions(blocks, NONE).map(({ name }) => name);
const schemaOf = (name: string, ...blocks: ContextBlock[]) => {
  const tool = toolDefinitions(blocks, NONE).find((one) => one.name === name);
  return tool === undefined ? undefined : inputSchemaOf(tool);
};

describe("the tools", () => {
  test("are those that have a block to work on", () => {
    expect(namesOf()).toEqual([]);
    expect(namesOf(block("soul"))).toEqual([]);
    expect(namesOf(block("memory", { writable: true }))).toEqual(["set_context"]);
    expect(namesOf(block("skills", { isSkill: true }))).toEqual(["load_context", "unload_context"]);
    expect(namesOf(block("skills", { isSkill: true, writable: true }))).toEqual([
      "set_context",
      "load_context",
      "unload_context",
    ]);
    expect(namesOf(block("notes", { isSearchable: true }))).toEqual(["search_context"]);
    const others = toolDefinitions([], { sessionSearch: true, recall: true });
    expect(others.map(({ name }) => name)).toEqual(["session_search", "recall"]);
  });

  test("name the labels of their own kind alone", () => {
    const blocks = [block("soul"), block("memory", { writable: true }), block("notes", { isSearchable: true, writable: true })];
    expect(schemaOf("set_context", ...blocks)).toMatchObject({
      type: "object",
      properties: { label: { type: "string", enum: ["memory", "notes"] } },
      required: ["label", "content"],
      additionalProperties: false,
    });
    expect(schemaOf("search_context", ...blocks)).toMatchObject({ properties: { label: { enum: ["notes"] } } });
  });

  test("ask for metadata where an entry has a key to be named", () => {
    expect(schemaOf("set_context", block("memory", { writable: true }))?.["properties"]).not.toHaveProperty("metadata");
    const keyed = schemaOf("set_context", block("notes", { writable: true, isSearchable: true }));
    expect(keyed).toMatchObject({ properties: { metadata: { properties: { title: {}, description: {} } } } });
  });
});
