import { fileURLToPath } from "node:url";

import react from "@vitejs/plugin-react";
import { defineConfig, loadEnv } from "vite";

// The packages are built along, from their sources.
const packages = fileURLToPath(new URL("../clients/typescript", import.meta.url));

export default defineConfig(({ mode }) => ({
  plugins: [react()],
  resolve: {
    alias: [
      { find: "@pagefault/client/json", replacement: `${packages}/client/src/json.ts` },
      { find: "@pagefault/client", replacement: `${packages}/client/src/index.ts` },
      { find: "@pagefault/react/styles.css", replacement: `${packages}/react/src/styles.css` },
      { find: "@pagefault/react", replacement: `${packages}/react/src/index.ts` },
    ],
    // They lie beside this folder, and have no React of their own.
    dedupe: ["react", "react-dom"],
  },
  build: {
    // The page's policy lets nothing run or load that is not a file of the service's own.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The explorer of the API is a page of its own, and no part of the viewer.
    rolldownOptions: { input: ["index.html", "docs.html"] },
    chunkSizeWarningLimit: 2_000,
  },
  server: {
    fs: { allow: [".", packages] },
    proxy: {
      "/api": {
        target: loadEnv(mode, ".", "PAGEFAULT_")["PAGEFAULT_URL"] ?? "http://127.0.0.1:8000",
        // The service compares the page's origin with the host that was asked.
        changeOrigin: false,
      },
    },
  },
}));
