import react from "@vitejs/plugin-react";
import { defineConfig, loadEnv } from "vite";

export default defineConfig(({ mode }) => ({
  plugins: [react()],
  build: {
    // The page's policy lets nothing run or load that is not a file of the service's own.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The explorer of the API is a page of its own, and no part of the viewer.
    rolldownOptions: { input: ["index.html", "docs.html"] },
    chunkSizeWarningLimit: 2_000,
  },
  server: {
    proxy: {
      "/api": {
        target: loadEnv(mode, ".", "PAGEFAULT_")["PAGEFAULT_URL"] ?? "http://127.0.0.1:8000",
        // The service compares the page's origin with the host that was asked.
        changeOrigin: false,
      },
    },
  },
}));
