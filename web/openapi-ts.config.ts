import { defineConfig } from "@hey-api/openapi-ts";

export default defineConfig({
  input: "../openapi/openapi.json",
  output: {
    path: "src/api/generated",
    // The client's own files do not meet `exactOptionalPropertyTypes`; their types are used all the same.
    header: ["// This file is generated; `npm run generate` writes it anew.", "// @ts-nocheck"],
  },
  plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"],
});
