/**
 * The MCP SDK for TypeScript, versions 1 and 2: results of tools are stored, on the side of the host
 * or of the server, and the model is shown what the memory makes of them.
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

/** A handler for `registerTool`, which stores what the given one returns, and why it fails. */
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
