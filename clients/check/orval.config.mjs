/** For `orval`, as `make clients-check` calls it: paths here are relative to this file. */
import { join } from "node:path";

export default {
  pagefault: {
    input: process.env.DOCUMENT,
    output: {
      target: join(process.cwd(), "generated", "pagefault.ts"),
      client: "fetch",
      mode: "single",
      baseUrl: process.env.PAGEFAULT_URL,
    },
  },
};
