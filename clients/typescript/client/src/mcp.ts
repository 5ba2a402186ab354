/**
 * Adapters for the MCP SDK for TypeScript, versions 1 and 2. They store tool results in the host or
 * in the server, and return rendered results.
 *
 *     const client = storedClient(pf, connectedClient, { session: "demo" });
 *     server.registerTool("look", config, storedHandler(pf, "look", handler, { session: "demo" }));
 */
import type { Pagefault } from "./pagefault.ts";
import { outcomeOf, storeMcp, type StoreOptions, type ToolCaller } from "./wrap.ts";

/** The client as it is, but for `callTool`, which stores each result. */
export function storedClient<Client extends ToolCaller>(
  pf: Pagefault,
  client: Client,
  options: StoreOptions = {},
): Client {
  const callTool = pf.wrap(client, options);
  return new Proxy(client, {
    get(target, name) {
      if (name === "callTool") return callTool;
      const member: unknown = Reflect.get(target, name, target);
      // A client has private members, which it finds on itself alone.
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}

/** Wrap a handler for `registerTool`, to store its results and errors. */
export function storedHandler<Arguments extends unknown[], Result>(
  pf: Pagefault,
  name: string,
  handler: (...args: Arguments) => Result,
  options: StoreOptions = {},
): (...args: Arguments) => Promise<Awaited<Result>> {
  return async (...args): Promise<Awaited<Result>> => {
    const outcome = await outcomeOf((): unknown => handler(...args));
    const call = { toolName: name, target: "mcp" } as const;
    return (await storeMcp(pf.toolResults, outcome, options, call)) as Awaited<Result>;
  };
}
