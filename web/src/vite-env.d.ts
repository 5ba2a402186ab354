/// <reference types="vite/client" />

/** It has no types; the explorer says what it passes. */
declare module "swagger-ui-dist/swagger-ui-es-bundle.js" {
  export default function SwaggerUIBundle(options: Readonly<Record<string, unknown>>): unknown;
}
